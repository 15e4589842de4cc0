"""What several networks that annotate the same notes share: all that does not depend on their weights.

blocks = blocks_of(encoder.columns)
NetworkInput.of(notes, blocks, window=64)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.submodels.blstm.rows import EncodedNote, rows_of

_TOGETHER = (
    ("key", "key_distance", "key_in_document", "section", "document_position"),
    ("line_start", "line_end", "line_position", "line_from_start", "line_from_end", "line_length", "times_in_document"),
)
"""Columns that have few combinations of values in a note. It affects speed only."""

_ROWS_AT_ONCE = 128


def blocks_of(columns: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The places of the columns that are looked up together, first those that mostly follow from the word.

    Few combinations of values occur within a block, and each is multiplied with the weights once.
    """
    place = {name: i for i, name in enumerate(columns)}
    others = [tuple(place[name] for name in names if name in place) for names in _TOGETHER]
    elsewhere = {i for block in others for i in block}
    return tuple(i for i in place.values() if i not in elsewhere), *others


@dataclass(frozen=True)
class Block:
    """The distinct combinations of values of some parts of the input.

    :param columns: places of the feature columns in it.
    :param tokens: for each combination a token that has it: `(n_values,)`.
    :param places: for each token the number of its combination: `(n_tokens,)`.
    """

    columns: tuple[int, ...]
    tokens: Integers = field(repr=False)
    places: Integers = field(repr=False)


@dataclass(frozen=True)
class RowBatch:
    """Rows that are read at once, their tokens in the order of the steps: first tokens, second tokens, and so on.

    :param sizes: how many rows have a token at each step; never rising.
    :param ahead: the token numbers from the first of each row to the last, `(n_tokens,)`.
    :param back: the same from the last of each row to the first.
    """

    sizes: list[int]
    ahead: Integers = field(repr=False)
    back: Integers = field(repr=False)

    @classmethod
    def of(cls, first: Integers, last: Integers) -> RowBatch:
        """From the first token of each row and the token after its last, the longest row first."""
        # (n_steps,): as rows are sorted by length, those that have a step are the first ones.
        steps = np.arange(int((last - first).max()))
        sizes = [int(n) for n in (last - first > steps[:, None]).sum(axis=1)]
        # (n_tokens,) each: step by step, and within a step row by row.
        ahead = np.concatenate([first[:n] + step for step, n in enumerate(sizes)])
        back = np.concatenate([last[:n] - 1 - step for step, n in enumerate(sizes)])
        return cls(sizes, ahead, back)


@dataclass(frozen=True)
class NetworkInput:
    """The distinct values of the tokens of notes, and the rows in which they are read.

    :param words: word ids of all notes end to end, `(n_tokens,)`.
    :param spellings: likewise the numbers of the words.
    :param features: likewise the feature values, `(n_tokens, n_columns)`.
    :param blocks: the blocks of the input; the first one has the word in it.
    :param batches: together they hold every token once.
    :param states: of the language models, `(n_tokens, n_states)`.
    """

    words: Integers32 = field(repr=False)
    spellings: Integers32 = field(repr=False)
    features: Integers32 = field(repr=False)
    blocks: tuple[Block, ...]
    batches: tuple[RowBatch, ...]
    states: Floats32 = field(repr=False)

    @classmethod
    def of(cls, notes: Sequence[EncodedNote], blocks: Sequence[Sequence[int]], window: int) -> NetworkInput:
        """Read notes of one encoder, at least one of them with a token.

        :param blocks: every feature column in one of them, as `blocks_of` gives them.
        :param window: see `rows_of`.
        """
        words, spellings = (np.concatenate([getattr(note, name) for note in notes]) for name in ("words", "spellings"))
        features = np.concatenate([note.features for note in notes])
        of_word, *others = blocks
        distinct = (
            _block(of_word, [spellings, *features.T[list(of_word)]]),
            *(_block(columns, list(features.T[list(columns)])) for columns in others if columns),
        )
        states = np.concatenate([note.states_of(slice(0, len(note.words))) for note in notes])
        return cls(words, spellings, features, distinct, tuple(_batches(notes, window)), states)


def _batches(notes: Sequence[EncodedNote], window: int) -> Iterator[RowBatch]:
    rows = rows_of(notes, window=window)
    # (n_rows, 3): first token and token after the last within the note, number of the note; the longest row first.
    begins = np.cumsum([0, *(len(note.words) for note in notes)])
    edges = np.array(sorted(((first, last, number) for number, first, last in rows), key=lambda row: row[0] - row[1]))
    # (n_rows,) each: the same as tokens of all notes end to end.
    first, last = (edges[:, i] + begins[edges[:, 2]] for i in range(2))
    for i in range(0, len(first), _ROWS_AT_ONCE):
        yield RowBatch.of(first[i : i + _ROWS_AT_ONCE], last[i : i + _ROWS_AT_ONCE])


def _block(columns: Sequence[int], values: Sequence[Integers32]) -> Block:
    """Tokens grouped by equal values.

    The values of a token are the digits of one number; before it grows too long, the numbers so far are replaced by
    their ranks.
    """
    numbers, most = np.zeros(len(values[0]), dtype=np.int64), 1
    for column in values:
        least = int(column.min())
        base = int(column.max()) - least + 1
        if most * base >= 2**62:
            numbers = np.unique(numbers, return_inverse=True)[1]
            most = len(numbers)
        numbers, most = numbers * base + (column - least), most * base
    # (n_values,) and (n_tokens,): any token with a value serves as its example.
    distinct, places = np.unique(numbers, return_inverse=True)
    tokens = np.zeros(len(distinct), dtype=np.int64)
    tokens[places] = np.arange(len(places))
    return Block(tuple(columns), tokens, places)
