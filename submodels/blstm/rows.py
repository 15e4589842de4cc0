"""Encoded notes, the rows of tokens in which the network reads them, and what several networks share in reading.

rows = rows_of(notes, window=64)                   lines packed into rows of about 64 tokens
batches_of(rows, tokens=2048)                      rows of about the same length together
Excerpt(table, wanted, window=64).rows             only the rows that hold one of the wanted lines
NetworkInput(notes, blocks, window=64)             all that does not depend on a network's weights
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.features.columns.table import FeatureTable, line_bounds
from phistack.features.tokens import TokenOffsets
from phistack.submodels.base import LineMask

_TOGETHER = (
    ("key", "key_distance", "key_in_document", "section", "document_position"),
    ("line_start", "line_end", "line_position", "line_from_start", "line_from_end", "line_length", "times_in_document"),
)
"""Columns that have few combinations of values in a note. It affects speed only."""

_ROWS_AT_ONCE = 128

TokenRange = tuple[int, int, int]
"""Some lines or sentences of a note: its index in a list of notes, first token, token after the last."""


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


def rows_of(notes: Sequence[EncodedNote], *, window: int) -> list[TokenRange]:
    """Consecutive lines joined into rows of at most `window` tokens, so the network sees a line's context.

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
    """Rows of similar length grouped, so a batch has about `tokens` tokens with its padding.

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


class Excerpt:
    """Some lines of a note, as tag sequences end to end, and the rows to read for them.

    The rows are those of the whole note, so the network scores these lines as if it read everything.

    :param wanted: which lines.
    :param window: as in `rows_of`.
    """

    def __init__(self, table: FeatureTable, wanted: LineMask, window: int) -> None:
        bounds = line_bounds(table)
        lengths = np.diff(bounds)
        # (n_tokens,) of the note: whether the token is in a wanted line.
        is_wanted = np.repeat(wanted, lengths)
        # First token and token after the last of each row that holds a token of the lines.
        self.rows = [row for row in _rows_between(bounds, table.sentences, window) if is_wanted[slice(*row)].any()]
        tokens = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(*row) for row in self.rows)])
        # (n_tokens,): where the tokens of the lines are among those of the rows, end to end.
        self.places = np.flatnonzero(is_wanted[tokens])
        starts, ends = table.offsets
        self.offsets: TokenOffsets = (starts[tokens[self.places]], ends[tokens[self.places]])
        # Where the lines begin among their tokens, then the number of these.
        self.bounds: Integers32 = np.cumsum([0, *lengths[wanted]], dtype=np.int32)

    def __len__(self) -> int:
        return len(self.places)


def blocks_of(columns: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The places of the columns that are looked up together, first those that mostly follow from the word.

    Few combinations of values occur within a block, and each is multiplied with the weights once.
    """
    place = {name: i for i, name in enumerate(columns)}
    others = [tuple(place[name] for name in names if name in place) for names in _TOGETHER]
    elsewhere = {i for block in others for i in block}
    return tuple(i for i in place.values() if i not in elsewhere), *others


class Block:
    """The distinct combinations of values of some parts of the input.

    :param columns: places of the feature columns in it.
    :param values: of all tokens, for each part of the input: `(n_tokens,)`.
    """

    def __init__(self, columns: Sequence[int], values: Sequence[Integers32]) -> None:
        self.columns = tuple(columns)
        # The values of a token are the digits of one number; before the numbers grow too long, ranks replace them.
        numbers, most = np.zeros(len(values[0]), dtype=np.int64), 1
        for column in values:
            least = int(column.min())
            base = int(column.max()) - least + 1
            if most * base >= 2**62:
                numbers = np.unique(numbers, return_inverse=True)[1]
                most = len(numbers)
            numbers, most = numbers * base + (column - least), most * base
        # (n_values,) and (n_tokens,): for each token the number of its combination, and for each combination a token.
        distinct, self.places = np.unique(numbers, return_inverse=True)
        self.tokens = np.zeros(len(distinct), dtype=np.int64)
        self.tokens[self.places] = np.arange(len(self.places))


class RowBatch:
    """Rows that are read at once, their tokens in the order of the steps: first tokens, second tokens, and so on.

    :param first: the first token of each row, the longest row first.
    :param last: the token after the last of each.
    """

    def __init__(self, first: Integers, last: Integers) -> None:
        # (n_steps,): how many rows have a token at each step; as rows are sorted by length, these are the first ones.
        steps = np.arange(int((last - first).max()))
        self.sizes = [int(n) for n in (last - first > steps[:, None]).sum(axis=1)]
        # (n_tokens,) each: step by step, and within a step row by row, from either end of each row.
        self.ahead: Integers = np.concatenate([first[:n] + step for step, n in enumerate(self.sizes)])
        self.back: Integers = np.concatenate([last[:n] - 1 - step for step, n in enumerate(self.sizes)])


class NetworkInput:
    """The distinct values of the tokens of notes, and the rows in which they are read.

    :param notes: of one encoder, at least one of them with a token.
    :param blocks: every feature column in one of them, as `blocks_of` gives them; the first one has the word in it.
    :param window: see `rows_of`.
    """

    def __init__(self, notes: Sequence[EncodedNote], blocks: Sequence[Sequence[int]], window: int) -> None:
        # Of all notes end to end, (n_tokens, ...) each.
        self.words, self.spellings, self.features = (
            np.concatenate([getattr(note, name) for note in notes]) for name in ("words", "spellings", "features")
        )
        self.states: Floats32 = np.concatenate([note.states_of(slice(0, len(note.words))) for note in notes])
        of_word, *others = blocks
        self.blocks = (
            Block(of_word, [self.spellings, *self.features.T[list(of_word)]]),
            *(Block(columns, list(self.features.T[list(columns)])) for columns in others if columns),
        )
        # Together they hold every token once.
        self.batches = list(_batches(notes, window))


def _batches(notes: Sequence[EncodedNote], window: int) -> Iterator[RowBatch]:
    rows = rows_of(notes, window=window)
    # (n_rows, 3): first token and token after the last within the note, number of the note; the longest row first.
    begins = np.cumsum([0, *(len(note.words) for note in notes)])
    edges = np.array(sorted(((first, last, number) for number, first, last in rows), key=lambda row: row[0] - row[1]))
    # (n_rows,) each: the same as tokens of all notes end to end.
    first, last = (edges[:, i] + begins[edges[:, 2]] for i in range(2))
    for i in range(0, len(first), _ROWS_AT_ONCE):
        yield RowBatch(first[i : i + _ROWS_AT_ONCE], last[i : i + _ROWS_AT_ONCE])
