"""Notes laid end to end: their tokens, lines, keys before a colon, headers and sentences, as arrays.

    layout = Layout.of(["Apellidos: Medina Prado.", "Edad: 70"])
    layout.words          ["Apellidos", ":", "Medina", "Prado", ".", "Edad", ":", "70"]
    layout.bounds         [0, 5, 8]: the first token of each note, then the number of tokens
    layout.keys           codes [0, 0, 1, 1, 1, 0, 0, 2] of ["", "apellidos", "edad"]
    pieces = Layout.of(["Edad: MRI"], Tokeniser("zhao2020"))
    pieces.words          ["Edad", ":", "M", "R", "I"]
    pieces.whole.words    ["Edad", ":", "MRI"]
    pieces.word           [0, 1, 2, 2, 2]: the place of each token's word in `pieces.whole`

Everything is computed when first read, and no value depends on another note. Where tokens are pieces of words, a second
layout has the whole words; all pieces of a word share its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers32
from phistack.features.columns.vocabulary import Coded, Distinct
from phistack.features.columns.word_columns import NONE
from phistack.features.tokens import Tokeniser, TokenOffsets, cut_long, offsets_of, sentence_starts

LINE_END = 3
"""The value of `Layout.space` before the first token of a line."""

Cut = tuple[list[str], list[str]]
"""The words and gaps of a note, as `Tokeniser.cut` gives them."""

_LONGEST_KEY = 5
_LONGEST_HEADER = 6


@dataclass(frozen=True)
class Known:
    """Distinct tokens, stretches between white space, and words, where tokens are pieces of them.

    Batches of notes share this cache, so values of a repeated word are computed once.
    """

    words: Distinct = field(default_factory=Distinct, repr=False)
    pieces: Distinct = field(default_factory=Distinct, repr=False)
    whole_words: Distinct = field(default_factory=Distinct, repr=False)

    @property
    def full(self) -> bool:
        """Whether the cache should be replaced by a new one."""
        return self.words.full or self.pieces.full or self.whole_words.full


@dataclass(frozen=True)
class Layout:
    """The tokens of some notes. Arrays have one value per token, `(n_tokens,)`, unless documented otherwise.

    :param texts: the notes.
    :param cuts: the words and gaps of each note.
    :param starts: for each note its sentences, as from `sentence_starts`.
    :param known: the cache of words and pieces.
    :param whole: the same notes in whole words, where tokens are pieces of them.
    """

    texts: Sequence[str] = field(repr=False)
    cuts: Sequence[Cut] = field(repr=False)
    starts: Sequence[Integers32] = field(repr=False)
    known: Known = field(repr=False)
    whole: Layout | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        tokeniser: Tokeniser | None = None,
        *,
        split_lines: bool = True,
        abbreviations: frozenset[str] = frozenset(),
        known: Known | None = None,
    ) -> Layout:
        """Cut notes into tokens and sentences; see `features.tokens`."""
        tokeniser, known = tokeniser or Tokeniser(), known or Known()
        cuts = list(map(tokeniser.cut, texts))
        if not tokeniser.keeps_words:
            starts = [sentence_starts(*cut, split_lines=split_lines, abbreviations=abbreviations) for cut in cuts]
            return cls(texts, cuts, starts, known)
        for_words = replace(known, words=known.whole_words)
        whole = cls.of(texts, split_lines=split_lines, abbreviations=abbreviations, known=for_words)
        places = map(_first_pieces, cuts, whole.cuts)
        starts = [cut_long(place[start]) for place, start in zip(places, whole.starts, strict=True)]
        return cls(texts, cuts, starts, known, whole)

    def __len__(self) -> int:
        return len(self.words)

    def __getstate__(self) -> dict[str, Any]:
        """Only the fields: cached properties are computed again in another process."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    def offsets(self, note: int) -> TokenOffsets:
        """The starts and ends of the tokens of a note."""
        return offsets_of(*self.cuts[note])

    # Tokens

    @cached_property
    def word(self) -> Integers32:
        """The index of the token's word in `whole`, or of the token itself if tokens are whole words."""
        if self.whole is None:
            return np.arange(len(self), dtype=np.int32)
        pieces = [np.diff(_first_pieces(*both)) for both in zip(self.cuts, self.whole.cuts, strict=True)]
        return np.repeat(np.arange(len(self.whole), dtype=np.int32), np.concatenate([np.zeros(0, np.int32), *pieces]))

    @cached_property
    def words(self) -> list[str]:
        """The tokens' text."""
        return list(chain.from_iterable(words for words, _ in self.cuts))

    @cached_property
    def numbers(self) -> Integers32:
        """The tokens' numbers in `known.words`."""
        return self.known.words.numbers(self.words)

    def of_words(self, question: str, function: Callable[[list[str]], Iterable[int]]) -> Integers32:
        """The result of a function of many words for each token; see `Distinct.of_each`."""
        numbers = self.numbers
        return self.known.words.of_each(question, function)[numbers]

    def mapped_words(self, question: str, function: Callable[[str], str]) -> Coded:
        """The string result of a function of one word for each token; see `Distinct.mapped`."""
        numbers = self.numbers
        codes, strings = self.known.words.mapped(question, function)
        return codes[numbers], strings

    def is_word(self, word: str) -> NDArray[np.bool_]:
        """Whether the token is this word."""
        return np.asarray(self.numbers == self.known.words.find(word))

    @cached_property
    def bounds(self) -> Integers32:
        """The first token of each note, then the number of tokens: shape `(n_notes + 1,)`."""
        return np.cumsum([0, *(len(words) for words, _ in self.cuts)], dtype=np.int32)

    @cached_property
    def note(self) -> Integers32:
        """The number of the token's note."""
        return self.spread(np.arange(len(self.cuts)), self.bounds)

    @cached_property
    def opens_note(self) -> NDArray[np.bool_]:
        """Whether the token is the first of its note."""
        return np.asarray(self.since(self.bounds) == 0)

    @cached_property
    def space(self) -> Integers32:
        """The white space before the token: 0 none, 1 one blank, 2 wider, 3 a line end."""
        gaps = Distinct()
        numbers = gaps.numbers(chain.from_iterable(gaps for _, gaps in self.cuts))
        return gaps.of_each("space", partial(map, _space))[numbers]

    # Lines

    @cached_property
    def opens_line(self) -> NDArray[np.bool_]:
        """Whether the token is the first of its line."""
        return np.asarray(self.opens_note | (self.space == LINE_END))

    @cached_property
    def lines(self) -> Integers32:
        """The first token of each line that has tokens, then the number of tokens: shape `(n_lines + 1,)`."""
        return np.append(np.flatnonzero(self.opens_line), len(self)).astype(np.int32)

    @cached_property
    def line(self) -> Integers32:
        """The number of the token's line."""
        return np.cumsum(self.opens_line, dtype=np.int32) - 1

    @cached_property
    def keys(self) -> Coded:
        """The key before the last colon that precedes the token in its line."""
        keys = Distinct()
        codes = np.append(keys.numbers([NONE, *(key for _, key in self._colons)])[1:], 0)
        return codes[self._last_colon], keys.strings

    @cached_property
    def key_distance(self) -> Integers32:
        """The distance in tokens from the colon of the key; 0 without a key."""
        at = np.append(np.array([colon for colon, _ in self._colons], dtype=np.int32), 0)
        return np.where(self._last_colon >= 0, np.arange(len(self)) - at[self._last_colon], 0).astype(np.int32)

    @cached_property
    def _colons(self) -> list[tuple[int, str]]:
        """The colons with a key, and the key."""
        colons = np.flatnonzero(self.is_word(":"))
        firsts = self.lines[self.line[colons]]
        keys = ((i, self._key_before(first, i)) for i, first in zip(colons.tolist(), firsts.tolist(), strict=True))
        return [(colon, key) for colon, key in keys if key]

    @cached_property
    def _last_colon(self) -> Integers32:
        """For each token, the index in `_colons` of the last one before it in its line; -1 for none."""
        colons = np.array([colon for colon, _ in self._colons], dtype=np.int32)
        before = np.searchsorted(colons, np.arange(len(self)), side="left")
        before_line = np.searchsorted(colons, self.lines[:-1], side="left")[self.line]
        return np.where(before > before_line, before - 1, -1)

    def _key_before(self, first: int, colon: int) -> str:
        words = self.words
        begin = colon
        while begin > max(first, colon - _LONGEST_KEY) and words[begin - 1].isalpha():
            begin -= 1
        if begin == colon:
            return NONE
        capitals = [i for i in range(begin, colon) if words[i][0].isupper()]
        return " ".join(words[capitals[-1] if capitals else colon - 1 : colon]).lower()

    @cached_property
    def headers(self) -> Coded:
        """The last header line or key at the beginning of a line, up to the token's line."""
        headers = Distinct()
        found: list[str] = []
        opens_note = self.opens_note[self.lines[:-1]].tolist()
        for (first, last), opens in zip(pairwise(self.lines.tolist()), opens_note, strict=True):
            found.append(self._header(first, last) or (found[-1] if found and not opens else NONE))
        return self.spread(headers.numbers(found), self.lines), headers.strings

    def _header(self, first: int, last: int) -> str:
        words = self.words[first:last]
        colon = next((i for i, word in enumerate(words[: _LONGEST_HEADER + 1]) if word == ":"), 0)
        if colon:
            return " ".join(words[:colon]).lower()
        if len(words) > _LONGEST_HEADER + 1:
            return NONE
        short = words[: len(words) - (words[-1] in ".:")]
        letters = "".join(words)
        if 0 < len(short) <= _LONGEST_HEADER and letters.isupper() and not any(c.isdigit() for c in letters):
            return " ".join(short).lower()
        return NONE

    # Sentences, pieces

    @cached_property
    def sentences(self) -> Integers32:
        """The first token of each sentence, then the number of tokens: shape `(n_sentences + 1,)`."""
        starts = [start[:-1] + first for start, first in zip(self.starts, self.bounds.tolist(), strict=False)]
        return np.concatenate([*starts, self.bounds[-1:]], dtype=np.int32)

    @cached_property
    def pieces(self) -> Integers32:
        """The first token of each stretch without white space, then the number of tokens: `(n_pieces + 1,)`."""
        return np.append(np.flatnonzero(self.opens_note | (self.space > 0)), len(self)).astype(np.int32)

    def mapped_pieces(self, question: str, function: Callable[[str], str]) -> Coded:
        """The string result of a function for the stretch without white space around the token."""
        numbers = self.known.pieces.numbers(chain.from_iterable(text.split() for text in self.texts))
        codes, strings = self.known.pieces.mapped(question, function)
        return self.spread(codes[numbers], self.pieces), strings

    # Arrays

    def since(self, bounds: Integers32) -> Integers32:
        """The distance in tokens from the beginning of the stretch; `bounds` as in `spread`."""
        return np.arange(len(self), dtype=np.int32) - self.spread(bounds[:-1], bounds)

    def spread(self, values: NDArray[np.integer], bounds: Integers32) -> Integers32:
        """Repeat one value per stretch for each of its tokens.

        :param values: of shape `(n_stretches,)`.
        :param bounds: the first token of each stretch, then the number of tokens: shape `(n_stretches + 1,)`.
        """
        return np.repeat(values, np.diff(bounds)).astype(np.int32, copy=False)


def _first_pieces(cut: Cut, whole: Cut) -> Integers32:
    """The first token of each whole word of a note, then the number of tokens: `(n_words + 1,)`."""
    starts, _ = offsets_of(*cut)
    return np.append(starts.searchsorted(offsets_of(*whole)[0]), len(starts)).astype(np.int32)


def _space(gap: str) -> int:
    if not gap:
        return 0
    return LINE_END if "\n" in gap or "\r" in gap else 1 if len(gap) == 1 else 2
