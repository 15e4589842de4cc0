"""Columns of a token's position in its note: lines, headers, keys before a colon, sentences, repetition.

    Apellidos: Medina Prado.
               ^ key = "apellidos", key_distance = "1", line_start = "Aa"

These columns identify much of the PHI in structured clinical notes: a name after `Doctor:` is a doctor's, and a word
seen once after `Apellidos:` is probably the patient's name elsewhere. Each is a function from a `Layout` to codes, one
per token, and the strings of the codes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers32
from phistack.features.columns.layout import Layout
from phistack.features.columns.vocabulary import Coded
from phistack.features.columns.word_columns import NONE, shape, short_shape

_END_MARKS = ".?!:;,"
_BRACKETS = ({"(": 1, ")": -1}, {"[": 1, "]": -1})


def _steps(values: NDArray[np.integer], *bounds: int) -> Coded:
    """The number of bounds that each value reaches; values are not negative."""
    reached = np.searchsorted(bounds, np.arange(bounds[-1] + 1), side="right").astype(np.int32)
    return reached[np.minimum(values, bounds[-1])], [str(step) for step in range(len(bounds) + 1)]


def _where(condition: NDArray[np.bool_], coded: Coded) -> Coded:
    """The values where a condition holds, `NONE` elsewhere."""
    codes, strings = coded
    return np.where(condition, codes + 1, 0), [NONE, *strings]


def _end_mark(layout: Layout) -> Coded:
    marks = layout.of_words("end mark", lambda words: (_END_MARKS.find(word) + 1 for word in words))
    return layout.spread(marks[layout.sentences[1:] - 1], layout.sentences), [NONE, *_END_MARKS]


def _unmatched_bracket(layout: Layout) -> Coded:
    unmatched = np.zeros(len(layout.sentences) - 1, dtype=np.int32)
    for brackets in _BRACKETS:
        steps = np.zeros(len(layout) + 1, dtype=np.int32)
        for bracket, step in brackets.items():
            steps[1:][layout.is_word(bracket)] = step
        unmatched |= np.diff(np.cumsum(steps)[layout.sentences]) != 0
    return layout.spread(unmatched, layout.sentences), [NONE, "1"]


def _shape_of_piece(piece: str) -> str:
    """The shape of a stretch without the punctuation at its ends: `00-00-00` for `22-10-04,`; short if it is long."""
    piece = piece.strip(".,;:()[]\"'«»")
    return shape(piece) if len(piece) <= 16 else short_shape(piece)[:16]


def _word_piece(layout: Layout) -> Coded:
    """`B` for the first of several pieces of a word, `I` for a later one."""
    begins = np.diff(layout.word, prepend=-1) > 0
    goes_on = np.append(~begins[1:], False)[: len(layout)]
    return np.where(begins, goes_on.astype(np.int32), 2), [NONE, "B", "I"]


def _word_in_note(layout: Layout) -> NDArray[np.int64]:
    """A number for each word in lower case in each note."""
    codes, strings = layout.mapped_words("lower", str.lower)
    return layout.note.astype(np.int64) * len(strings) + codes


def _times_in_document(layout: Layout) -> Coded:
    _, which, counts = np.unique(_word_in_note(layout), return_inverse=True, return_counts=True)
    return _steps(counts[which], 1, 2, 3, 5, 9)


def _key_in_document(layout: Layout) -> Coded:
    """The first key near which the word occurs in the note, for capitalised words and long numbers."""
    keys, names = layout.keys
    may_identify = layout.of_words("may identify", partial(map, _may_identify)) > 0
    near = np.flatnonzero(may_identify & (layout.key_distance > 0) & (layout.key_distance <= 8))
    words = _word_in_note(layout)
    keyed, first = np.unique(words[near], return_index=True)
    asked = np.flatnonzero(may_identify) if len(keyed) else near
    found = np.minimum(np.searchsorted(keyed, words[asked]), len(keyed) - 1)
    is_keyed = keyed[found] == words[asked]
    codes = np.zeros(len(layout), dtype=np.int32)
    codes[asked[is_keyed]] = keys[near[first[found[is_keyed]]]]
    return codes, names


def _may_identify(word: str) -> bool:
    return (len(word) > 2 and word[0].isupper()) or (len(word) > 3 and word.isdecimal())


def _of(stretches: Callable[[Layout], Integers32], *bounds: int) -> Callable[[Layout], Coded]:
    """The column of the length in tokens of the stretch around the token, in steps."""
    return lambda layout: _steps(layout.spread(np.diff(stretches(layout)), stretches(layout)), *bounds)


LAYOUT_COLUMNS: Mapping[str, Callable[[Layout], Coded]] = {
    "key": lambda layout: layout.keys,
    "key_distance": lambda layout: _where(layout.key_distance > 0, _steps(layout.key_distance, 1, 2, 3, 4, 6, 10, 20)),
    "key_in_document": _key_in_document,
    "section": lambda layout: layout.headers,
    "line_start": lambda layout: _where(layout.opens_line, layout.mapped_words("short shape", short_shape)),
    "line_end": lambda layout: (np.append(layout.opens_line[1:], True)[: len(layout)].astype(np.int32), [NONE, "1"]),
    "line_position": lambda layout: _steps(layout.since(layout.lines), 1, 2, 3, 5, 8, 13),
    "line_from_start": lambda layout: _steps(
        layout.line - layout.line[layout.bounds[:-1][layout.note]], 1, 2, 3, 5, 8, 13, 20
    ),
    "line_from_end": lambda layout: _steps(
        layout.line[layout.bounds[1:][layout.note] - 1] - layout.line, 1, 2, 3, 5, 8
    ),
    "line_length": _of(lambda layout: layout.lines, 2, 4, 8, 16, 32, 64),
    "space_before": lambda layout: (layout.space, [NONE, "blank", "wide", "line"]),
    "piece_shape": lambda layout: layout.mapped_pieces("shape", _shape_of_piece),
    "place_in_piece": lambda layout: _steps(layout.since(layout.pieces), *range(1, 7)),
    "word_piece": _word_piece,
    "document_position": lambda layout: (
        10 * layout.since(layout.bounds) // layout.spread(np.diff(layout.bounds), layout.bounds),
        list("0123456789"),
    ),
    "sentence_length": _of(lambda layout: layout.sentences, 2, 4, 8, 12, 16, 24, 32, 48),
    "end_mark": _end_mark,
    "unmatched_bracket": _unmatched_bracket,
    "times_in_document": _times_in_document,
}
"""Column -> its codes and their strings; some strings may be unused."""
