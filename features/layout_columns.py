"""What can be read off a token's place in its note: lines, headers, keys before a colon, sentences, repetition.

    Apellidos: Medina Prado.
               ^ key = "apellidos", key_distance = "1", line_start = "Aa"

These columns carry much of what identifies PHI in structured clinical notes: who stands after `Doctor:` is a doctor,
and a word that stood after `Apellidos:` once is probably the patient's name elsewhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from features.word_columns import NONE, shape, short_shape

__all__ = ["LAYOUT_COLUMNS", "Layout"]

_LONGEST_KEY = 5
_LONGEST_HEADER = 6


@dataclass(frozen=True)
class Layout:
    """A text with its tokens, sentences and lines.

    :param text: the note.
    :param starts: of shape `(n_tokens,)`.
    :param ends: of shape `(n_tokens,)`.
    :param sentences: of shape `(n_sentences + 1,)`, token indices.
    """

    text: str
    starts: list[int]
    ends: list[int]
    sentences: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def words(self) -> list[str]:
        """The tokens' text."""
        return [self.text[a:b] for a, b in zip(self.starts, self.ends, strict=True)]

    @cached_property
    def lower(self) -> list[str]:
        """The tokens' text in lower case."""
        return [word.lower() for word in self.words]

    @cached_property
    def gaps(self) -> list[str]:
        """The white space before each token."""
        return [self.text[a:b] for a, b in zip([0, *self.ends], self.starts, strict=False)]

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Each line that has tokens, as (first token, token after the last)."""
        first = [i for i, gap in enumerate(self.gaps) if i == 0 or "\n" in gap or "\r" in gap]
        return list(zip(first, [*first[1:], len(self)], strict=True)) if len(self) else []

    @cached_property
    def keys(self) -> list[tuple[str, int]]:
        """For each token, the key before the last colon of its line and how many tokens ago the colon was."""
        found: list[tuple[str, int]] = []
        for first, last in self.lines:
            key, colon = NONE, first
            for i in range(first, last):
                found.append((key, i - colon if key else 0))
                if self.words[i] == ":" and (new := self._key_before(first, i)):
                    key, colon = new, i
        return found

    def _key_before(self, first: int, colon: int) -> str:
        begin = colon
        while begin > max(first, colon - _LONGEST_KEY) and self.words[begin - 1].isalpha():
            begin -= 1
        capitals = [i for i in range(begin, colon) if self.words[i][0].isupper()]
        if begin == colon:
            return NONE
        return " ".join(self.lower[capitals[-1] if capitals else colon - 1 : colon])

    @cached_property
    def headers(self) -> list[str]:
        """For each token, the last header line, or the last key that opened a line, up to its own line."""
        found: list[str] = []
        header = NONE
        for first, last in self.lines:
            header = self._header(first, last) or header
            found.extend([header] * (last - first))
        return found

    def _header(self, first: int, last: int) -> str:
        colon = next((i for i in range(first, min(last, first + _LONGEST_HEADER + 1)) if self.words[i] == ":"), None)
        if colon is not None and colon > first:
            return " ".join(self.lower[first:colon])
        short = self.lower[first : last - (self.words[last - 1] in ".:")]
        letters = "".join(self.words[first:last])
        if 0 < len(short) <= _LONGEST_HEADER and letters.isupper() and not any(c.isdigit() for c in letters):
            return " ".join(short)
        return NONE


def _step(value: int, bounds: tuple[int, ...]) -> str:
    """The number of bounds that the value reaches, as a string."""
    return str(bisect_right(bounds, value))


def _key(layout: Layout) -> list[str]:
    return [key for key, _ in layout.keys]


def _key_distance(layout: Layout) -> list[str]:
    return [_step(distance, (1, 2, 3, 4, 6, 10, 20)) if key else NONE for key, distance in layout.keys]


def _line_start(layout: Layout) -> list[str]:
    return [
        short_shape(layout.words[first]) if i == first else NONE
        for first, last in layout.lines
        for i in range(first, last)
    ]


def _line_end(layout: Layout) -> list[str]:
    return ["1" if i == last - 1 else NONE for first, last in layout.lines for i in range(first, last)]


def _line_position(layout: Layout) -> list[str]:
    return [_step(i - first, (1, 2, 3, 5, 8, 13)) for first, last in layout.lines for i in range(first, last)]


def _line_from_start(layout: Layout) -> list[str]:
    return [
        _step(number, (1, 2, 3, 5, 8, 13, 20))
        for number, (first, last) in enumerate(layout.lines)
        for _ in range(first, last)
    ]


def _line_from_end(layout: Layout) -> list[str]:
    n_lines = len(layout.lines)
    return [
        _step(n_lines - 1 - number, (1, 2, 3, 5, 8))
        for number, (first, last) in enumerate(layout.lines)
        for _ in range(first, last)
    ]


def _line_length(layout: Layout) -> list[str]:
    return [_step(last - first, (2, 4, 8, 16, 32, 64)) for first, last in layout.lines for _ in range(first, last)]


def _space_before(layout: Layout) -> list[str]:
    return [
        NONE if not gap else "line" if "\n" in gap or "\r" in gap else "blank" if len(gap) == 1 else "wide"
        for gap in layout.gaps
    ]


def _document_position(layout: Layout) -> list[str]:
    return [str(10 * i // len(layout)) for i in range(len(layout))]


def _by_sentence(layout: Layout, value: Callable[[int, int], str]) -> list[str]:
    bounds = layout.sentences.tolist()
    return [v for a, b in pairwise(bounds) for v in [value(a, b)] * (b - a)]


def _sentence_length(layout: Layout) -> list[str]:
    return _by_sentence(layout, lambda a, b: _step(b - a, (2, 4, 8, 12, 16, 24, 32, 48)))


def _end_mark(layout: Layout) -> list[str]:
    return _by_sentence(layout, lambda a, b: w if (w := layout.words[b - 1]) in ".?!:;," else NONE)


def _unmatched_bracket(layout: Layout) -> list[str]:
    def unmatched(a: int, b: int) -> str:
        counts = Counter(layout.words[a:b])
        return "1" if counts["("] != counts[")"] or counts["["] != counts["]"] else NONE

    return _by_sentence(layout, unmatched)


def _piece_shape(layout: Layout) -> list[str]:
    """The shape of the stretch without white space around the token, less the punctuation at its ends.

    `22-10-04,` gives `00-00-00` to each of its tokens; a stretch of more than 16 characters gives its short shape.
    """
    bounds = [i for i, gap in enumerate(layout.gaps) if gap or i == 0]
    values: list[str] = []
    for first, last in pairwise([*bounds, len(layout)]):
        piece = layout.text[layout.starts[first] : layout.ends[last - 1]].strip(".,;:()[]\"'«»")
        value = (shape(piece) if len(piece) <= 16 else short_shape(piece)[:16]) or NONE
        values.extend([value] * (last - first))
    return values


def _place_in_piece(layout: Layout) -> list[str]:
    """How many tokens without white space between them came before the token, up to 6."""
    values: list[str] = []
    place = -1
    for gap in layout.gaps:
        place = 0 if gap else min(place + 1, 6)
        values.append(str(place))
    return values


def _times_in_document(layout: Layout) -> list[str]:
    counts = Counter(layout.lower)
    return [_step(counts[word], (1, 2, 3, 5, 9)) for word in layout.lower]


def _key_in_document(layout: Layout) -> list[str]:
    """The first key near which the word occurs in the note, for capitalised words and long numbers."""
    first: dict[str, str] = {}
    for word, (key, distance) in zip(layout.words, layout.keys, strict=True):
        if key and 0 < distance <= 8 and _may_identify(word):
            first.setdefault(word.lower(), key)
    return [
        first.get(low, NONE) if _may_identify(word) else NONE
        for word, low in zip(layout.words, layout.lower, strict=True)
    ]


def _may_identify(word: str) -> bool:
    return (len(word) > 2 and word[0].isupper()) or (len(word) > 3 and word.isdecimal())


LAYOUT_COLUMNS: Mapping[str, Callable[[Layout], list[str]]] = {
    "key": _key,
    "key_distance": _key_distance,
    "key_in_document": _key_in_document,
    "section": lambda layout: layout.headers,
    "line_start": _line_start,
    "line_end": _line_end,
    "line_position": _line_position,
    "line_from_start": _line_from_start,
    "line_from_end": _line_from_end,
    "line_length": _line_length,
    "space_before": _space_before,
    "piece_shape": _piece_shape,
    "place_in_piece": _place_in_piece,
    "document_position": _document_position,
    "sentence_length": _sentence_length,
    "end_mark": _end_mark,
    "unmatched_bracket": _unmatched_bracket,
    "times_in_document": _times_in_document,
}
