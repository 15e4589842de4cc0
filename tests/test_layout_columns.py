"""Columns computed as arrays over a batch of notes equal those from a loop over each note's tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.layout import Layout
from phistack.features.columns.layout_columns import LAYOUT_COLUMNS
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, line_bounds, line_starts
from phistack.features.columns.word_columns import shape, short_shape
from phistack.features.documents import Document
from phistack.features.tokens import Tokeniser, sentence_starts

FRAGMENTS = (
    "Nombre: ", "Apellidos ", "Medina", "medina", " ", "  ", "\n", "\r\n", "\n\n", ":", ".", ",", "(", "]", "1/2/81",
    "1234", "Sra. ", "ANTECEDENTES", "Plan: ", "NºCol: ", "a", "É", "\ufeff", "\u2028", "\x1c", "ΑΣ ", "😀", "e\u0301",
)  # fmt: skip
NOTES = st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join), max_size=4)


class Note:
    """The slow twin's view of a note: lists and loops."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words, self.gaps = Tokeniser().cut(text)
        self.lower = [word.lower() for word in self.words]
        firsts = [i for i, gap in enumerate(self.gaps) if i == 0 or "\n" in gap or "\r" in gap]
        self.lines = list(pairwise([*firsts, len(self.words)])) if self.words else []
        self.sentences = list(pairwise(sentence_starts(self.words, self.gaps).tolist()))
        self.keys = [pair for first, last in self.lines for pair in self._keys(first, last)]

    def _keys(self, first: int, last: int) -> list[tuple[str, int]]:
        found = []
        key, colon = "", first
        for i in range(first, last):
            found.append((key, i - colon if key else 0))
            if self.words[i] == ":" and (new := self._key_before(first, i)):
                key, colon = new, i
        return found

    def _key_before(self, first: int, colon: int) -> str:
        begin = colon
        while begin > max(first, colon - 5) and self.words[begin - 1].isalpha():
            begin -= 1
        capitals = [i for i in range(begin, colon) if self.words[i][0].isupper()]
        return " ".join(self.lower[capitals[-1] if capitals else colon - 1 : colon]) if begin < colon else ""

    def by_line(self, value: Callable[[int, int, int, int], str]) -> list[str]:
        """`value(number of the line, first token, token after the last, token)` of each token."""
        return [value(n, a, b, i) for n, (a, b) in enumerate(self.lines) for i in range(a, b)]

    def by_sentence(self, value: Callable[[int, int], str]) -> list[str]:
        return [v for a, b in self.sentences for v in [value(a, b)] * (b - a)]


def step(value: int, *bounds: int) -> str:
    return str(bisect_right(bounds, value))


def sections(note: Note) -> list[str]:
    found: list[str] = []
    header = ""
    for first, last in note.lines:
        colon = next((i for i in range(first, min(last, first + 7)) if note.words[i] == ":"), first)
        short = note.lower[first : last - (note.words[last - 1] in ".:")]
        letters = "".join(note.words[first:last])
        if colon > first:
            header = " ".join(note.lower[first:colon])
        elif 0 < len(short) <= 6 and letters.isupper() and not any(c.isdigit() for c in letters):
            header = " ".join(short)
        found += [header] * (last - first)
    return found


def unmatched(words: list[str]) -> str:
    counts = Counter(words)
    return "1" if counts["("] != counts[")"] or counts["["] != counts["]"] else ""


def piece_shapes(note: Note) -> list[str]:
    bounds = [i for i, gap in enumerate(note.gaps) if gap or i == 0]
    values: list[str] = []
    for a, b in pairwise([*bounds, len(note.words)]):
        piece = "".join(note.words[a:b]).strip(".,;:()[]\"'«»")
        values += [shape(piece) if len(piece) <= 16 else short_shape(piece)[:16]] * (b - a)
    return values


def places(note: Note) -> list[str]:
    values: list[int] = []
    for gap in note.gaps:
        values.append(0 if gap or not values else min(values[-1] + 1, 6))
    return list(map(str, values))


def keys_in_document(note: Note) -> list[str]:
    may = [(len(w) > 2 and w[0].isupper()) or (len(w) > 3 and w.isdecimal()) for w in note.words]
    first: dict[str, str] = {}
    for possible, low, (key, distance) in zip(may, note.lower, note.keys, strict=True):
        if possible and key and 0 < distance <= 8:
            first.setdefault(low, key)
    return [first.get(low, "") if possible else "" for possible, low in zip(may, note.lower, strict=True)]


SLOW: dict[str, Callable[[Note], list[str]]] = {
    "key": lambda note: [key for key, _ in note.keys],
    "key_distance": lambda note: [step(d, 1, 2, 3, 4, 6, 10, 20) if key else "" for key, d in note.keys],
    "key_in_document": keys_in_document,
    "section": sections,
    "line_start": lambda note: note.by_line(lambda n, a, b, i: short_shape(note.words[a]) if i == a else ""),
    "line_end": lambda note: note.by_line(lambda n, a, b, i: "1" if i == b - 1 else ""),
    "line_position": lambda note: note.by_line(lambda n, a, b, i: step(i - a, 1, 2, 3, 5, 8, 13)),
    "line_from_start": lambda note: note.by_line(lambda n, a, b, i: step(n, 1, 2, 3, 5, 8, 13, 20)),
    "line_from_end": lambda note: note.by_line(lambda n, a, b, i: step(len(note.lines) - 1 - n, 1, 2, 3, 5, 8)),
    "line_length": lambda note: note.by_line(lambda n, a, b, i: step(b - a, 2, 4, 8, 16, 32, 64)),
    "space_before": lambda note: [
        "" if not gap else "line" if "\n" in gap or "\r" in gap else "blank" if len(gap) == 1 else "wide"
        for gap in note.gaps
    ],
    "piece_shape": piece_shapes,
    "place_in_piece": places,
    "word_piece": lambda note: [""] * len(note.words),
    "document_position": lambda note: [str(10 * i // len(note.words)) for i in range(len(note.words))],
    "sentence_length": lambda note: note.by_sentence(lambda a, b: step(b - a, 2, 4, 8, 12, 16, 24, 32, 48)),
    "end_mark": lambda note: note.by_sentence(lambda a, b: w if (w := note.words[b - 1]) in ".?!:;," else ""),
    "unmatched_bracket": lambda note: note.by_sentence(lambda a, b: unmatched(note.words[a:b])),
    "times_in_document": lambda note: [step(note.lower.count(word), 1, 2, 3, 5, 9) for word in note.lower],
}


@pytest.mark.parametrize("column", sorted(LAYOUT_COLUMNS))
@given(texts=NOTES)
def test_a_column_of_a_batch_is_that_of_each_note_by_itself(column: str, texts: list[str]) -> None:
    codes, strings = LAYOUT_COLUMNS[column](Layout.of(texts))
    assert [strings[code] for code in codes] == [value for text in texts for value in SLOW[column](Note(text))]


@given(texts=NOTES)
def test_tokens_and_sentences_of_a_batch_are_those_of_each_note(texts: list[str]) -> None:
    layout = Layout.of(texts)
    notes = list(map(Note, texts))
    assert layout.words == [word for note in notes for word in note.words]
    for i, note in enumerate(notes):
        assert [texts[i][a:b] for a, b in zip(*layout.offsets(i), strict=True)] == note.words
        assert [(int(a), int(b)) for a, b in pairwise(layout.starts[i])] == note.sentences
    lengths = [b - a for note in notes for a, b in note.sentences]
    assert [int(b - a) for a, b in pairwise(layout.sentences)] == lengths


@given(st.text("ab. \n\r\tA1", max_size=60), st.booleans())
def test_sentences_that_open_a_line_are_those_before_which_a_line_ends(text: str, split_lines: bool) -> None:
    table = FeatureSpace(FeatureSettings(split_lines=split_lines)).fit([Document("1", text)])[0]
    starts, ends = table.offsets
    gaps = [table.document.text[ends[i - 1] if i else 0 : starts[i]] for i in table.sentences[:-1]]
    expected = [i for i, gap in zip(table.sentences[:-1], gaps, strict=True) if not i or set(gap) & {"\n", "\r"}]
    assert line_starts(table).tolist() == expected
    assert set(expected) | {len(table)} == set(line_bounds(table).tolist())
