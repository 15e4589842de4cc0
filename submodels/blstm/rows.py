"""Encoded notes, and the rows of tokens in which the network reads them.

rows = rows_of(notes, window=64)                   lines packed into rows of about 64 tokens
batches_of(rows, tokens=2048)                      rows of about the same length together
Excerpt.of(table, wanted, window=64).rows          only the rows that hold one of the wanted lines
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.features.columns.lines import line_bounds
from phistack.features.columns.table import FeatureTable
from phistack.features.tokens import TokenOffsets
from phistack.submodels.base import LineMask


@dataclass(frozen=True, slots=True)
class EncodedNote:
    """The tokens of one note, as integers.

    :param words: word ids, of shape `(n_tokens,)`.
    :param spellings: the number of each token's word, of shape `(n_tokens,)`.
    :param features: value ids over all columns together, of shape `(n_tokens, n_columns)`.
    :param sentences: index of the first token of each sentence, then the number of tokens.
    :param lines: the same for lines; a tag sequence covers one line.
    :param tags: tag ids, of shape `(n_tokens,)`; empty where they are not known.
    :param states: states of the character language models, of shape `(n_tokens, n_states)`; `None` without any.
    """

    words: Integers32 = field(repr=False)
    spellings: Integers32 = field(repr=False)
    features: Integers32 = field(repr=False)
    sentences: Integers32 = field(repr=False)
    lines: Integers32 = field(repr=False)
    tags: Integers32 = field(repr=False)
    states: Floats32 | None = field(default=None, repr=False)

    def states_of(self, tokens: slice) -> Floats32:
        """The states of some tokens, of shape `(n_tokens, n_states)`; of width 0 without language models."""
        return np.zeros((tokens.stop - tokens.start, 0), np.float32) if self.states is None else self.states[tokens]


TokenRange = tuple[int, int, int]
"""Some lines or sentences of a note: its index in a list of notes, first token, token after the last."""


def rows_of(notes: Sequence[EncodedNote], *, window: int) -> list[TokenRange]:
    """Consecutive lines joined into rows of at most `window` tokens, so that the network sees a line's context.

    A longer line is a row; one of more than twice the window is split into its sentences.
    """
    return [
        (number, first, last)
        for number, note in enumerate(notes)
        for first, last in _rows_between(note.lines, note.sentences, window)
    ]


def _rows_between(lines: Integers32, sentences: Integers32, window: int) -> Iterator[tuple[int, int]]:
    """The rows of one note, as first token and token after the last, from where its lines and sentences begin."""
    first = last = 0
    for start, end in _pieces(lines, sentences, 2 * window):
        if end - first > window and last > first:
            yield first, last
            first = start
        last = end
    if last > first:
        yield first, last


def _pieces(lines: Integers32, sentences: Integers32, longest: int) -> Iterator[tuple[int, int]]:
    """Lines as (first token, token after the last); a line of more than `longest` tokens as its sentences."""
    for start, end in pairwise(lines.tolist()):
        if end - start <= longest:
            yield start, end
        else:
            yield from pairwise(sentences[(sentences >= start) & (sentences <= end)].tolist())


def batches_of(rows: Sequence[TokenRange], *, tokens: int, at_once: int = 0) -> list[list[TokenRange]]:
    """Rows of similar length grouped, so that a batch has about `tokens` tokens with its padding.

    :param at_once: rows of a batch, instead of counting tokens.
    :returns: batches, the shortest rows first; rows of equal length stay in order.
    """
    batches: list[list[TokenRange]] = []
    for row in sorted(rows, key=lambda row: row[2] - row[1]):
        length = row[2] - row[1]
        n_with = len(batches[-1]) + 1 if batches else 0
        if not batches or (n_with > at_once if at_once else n_with * length > tokens):
            batches.append([])
        batches[-1].append(row)
    return batches


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a note, as tag sequences end to end, and the rows to read for them.

    The rows are those of the whole note, so the network scores these lines as if it read everything.

    :param rows: first token and token after the last of each row that holds a token of the lines.
    :param places: where the tokens of the lines are among those of the rows, end to end: `(n_tokens,)`.
    :param offsets: starts and ends of the tokens of the lines in the text.
    :param bounds: where the lines begin among their tokens, then the number of these.
    """

    rows: list[tuple[int, int]] = field(repr=False)
    places: Integers = field(repr=False)
    offsets: TokenOffsets = field(repr=False)
    bounds: Integers32 = field(repr=False)

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, table: FeatureTable, wanted: LineMask, window: int) -> Self:
        """The wanted lines of a note; `window` as in `rows_of`."""
        bounds = line_bounds(table)
        lengths = np.diff(bounds)
        # (n_tokens,) of the note: whether the token is in a wanted line.
        is_wanted = np.repeat(wanted, lengths)
        rows = [row for row in _rows_between(bounds, table.sentences, window) if is_wanted[slice(*row)].any()]
        tokens = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(*row) for row in rows)])
        places = np.flatnonzero(is_wanted[tokens])
        starts, ends = table.offsets
        own = np.cumsum([0, *lengths[wanted]], dtype=np.int32)
        return cls(rows, places, (starts[tokens[places]], ends[tokens[places]]), own)
