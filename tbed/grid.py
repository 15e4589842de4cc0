"""Notes for the rule learner, laid out in one row of places: a neighbour is another index.

    notes = Notes(tables, initial, gold)
    flat_tags(notes.tables, notes.gold, ids)    (n_tokens,) the tags of all notes as ids
    grid = TokenGrid.of(tables, ["word", "key"], reach=3)
    grid.columns["word"]                        (n_places,) ids; places between sentences have `grid.edges["word"]`
    grid.laid_out(tag_ids, edge=42)             (n_places,) the same for tags
    grid.where(rule_conditions, tags, tag)      the places where a rule applies

Sentences are separated by `reach` empty places, so no offset up to `reach` looks into another sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.table import FeatureTable, line_starts
from phistack.features.errors import SettingsError
from phistack.tbed.templates import TAG

Condition = tuple[str, range, int]
"""A column, the offsets at which it may hold, and the id of the value."""

TagSequences = Sequence[Sequence[str]]
"""For each note one tag per token."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes with initial and gold tags."""

    tables: Sequence[FeatureTable] = field(repr=False)
    initial: TagSequences = field(repr=False)
    gold: TagSequences = field(repr=False)


def flat_tags(tables: Sequence[FeatureTable], sequences: TagSequences, ids: dict[str, int]) -> Integers32:
    """The tags of all notes as ids, of shape `(n_tokens,)`; new tags are added to `ids`.

    :raises SettingsError: if there is not one tag per token.
    """
    if [len(table) for table in tables] != [len(tags) for tags in sequences]:
        raise SettingsError("the rule learner needs exactly one tag for each token of each note")
    for tags in sequences:
        for tag in dict.fromkeys(tags):
            ids.setdefault(tag, len(ids))
    parts = [np.fromiter(map(ids.__getitem__, tags), dtype=np.int32, count=len(tags)) for tags in sequences]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class TokenGrid:
    """Tokens of many notes in a row of places.

    :param columns: column -> ids, each of shape `(n_places,)`.
    :param edges: column -> the id of the empty places between sentences.
    :param places: the place of each token, of shape `(n_tokens,)`.
    :param before: number of tokens of the sentence before each place, of shape `(n_places,)`; -1 where empty.
    :param after: number of tokens of the sentence after each place, of shape `(n_places,)`; -1 where empty.
    :param lengths: the number of tokens of each note.
    :param reach: the number of empty places between sentences.
    """

    columns: dict[str, Integers32] = field(repr=False)
    edges: dict[str, int] = field(repr=False)
    places: Integers = field(repr=False)
    before: Integers32 = field(repr=False)
    after: Integers32 = field(repr=False)
    lengths: tuple[int, ...] = field(repr=False)
    reach: int

    @classmethod
    def of(
        cls, tables: Sequence[FeatureTable], columns: Iterable[str], reach: int, *, within: str = "sentence"
    ) -> TokenGrid:
        """Lay out the named columns of notes.

        :param within: which neighbours a token has: those of its `sentence`, `line` or `note`.
        :raises SettingsError: for a column that the tables do not have.
        """
        note_lengths = tuple(map(len, tables))
        firsts, tokens = _starts(tables, note_lengths, within), np.arange(sum(note_lengths))
        # (n_sentences,) lengths, then (n_tokens,) the sentence of each token: `reach` empty places precede each
        # sentence.
        lengths = np.diff(firsts, append=len(tokens))
        sentence = np.repeat(np.arange(len(firsts)), lengths)
        places, n_places = tokens + reach * (sentence + 1), len(tokens) + reach * (len(firsts) + 1)
        before = tokens - firsts[sentence]
        none = np.zeros(0, dtype=np.int32)
        ids = {name: np.concatenate([none, *(table.column(name) for table in tables)]) for name in columns}
        edges = {name: len(tables[0].space.values(name)) if tables else 1 for name in ids}
        return cls(
            {name: _spread(ids[name], places, n_places, edge) for name, edge in edges.items()},
            edges,
            places,
            _spread(before, places, n_places, -1),
            _spread(lengths[sentence] - 1 - before, places, n_places, -1),
            note_lengths,
            reach,
        )

    def __len__(self) -> int:
        return len(self.before)

    def laid_out(self, values: NDArray[np.generic], edge: int) -> Integers32:
        """Values of tokens, `(n_tokens,)`, as values of places, `(n_places,)`, with `edge` in the empty ones."""
        return _spread(values, self.places, len(self), edge)

    def split(self, row: NDArray[np.generic]) -> list[NDArray[np.generic]]:
        """Values of the places as one array of shape `(n_tokens,)` for each note."""
        return np.split(row[self.places], np.cumsum(self.lengths)[:-1]) if self.lengths else []

    def where(self, conditions: Sequence[Condition], tags: Integers32, tag: int) -> Integers:
        """The places that carry a tag and meet all conditions, in order.

        :param tags: of shape `(n_places,)`.
        """
        # (n_found,): start with a feature condition, as tags are far less selective; the others filter what is left.
        static = next((condition for condition in conditions if condition[0] != TAG), None)
        if static is None:
            found = np.flatnonzero(tags == tag)
        else:
            found = self._holding(static)
            found = found[tags[found] == tag]
        for condition in conditions:
            if condition is static or not len(found):
                continue
            column, offsets, value = condition
            row = tags if column == TAG else self.columns[column]
            holds = row[found + offsets[0]] == value
            for offset in offsets[1:]:
                holds |= row[found + offset] == value
            found = found[holds]
        return found

    def _holding(self, condition: Condition) -> Integers:
        column, offsets, value = condition
        hits = np.flatnonzero(self.columns[column] == value)
        # (n_found,) sorted: a place may meet the condition at several of its offsets. Empty places may match too.
        found = hits - offsets[0] if len(offsets) == 1 else np.unique(np.concatenate([hits - o for o in offsets]))
        inside = found[(found >= 0) & (found < len(self.before))]
        return inside[self.before[inside] >= 0]


def _starts(tables: Sequence[FeatureTable], lengths: Sequence[int], within: str) -> Integers:
    """The first token of each sentence, line or note, over all notes."""
    offsets = np.cumsum([0, *lengths])
    starts = (STRETCHES[within](table) + offset for table, offset in zip(tables, offsets, strict=False))
    return np.concatenate([np.zeros(0, dtype=np.int64), *starts])


STRETCHES: Mapping[str, Callable[[FeatureTable], Integers32]] = {
    "sentence": lambda table: table.sentences[:-1],
    "line": line_starts,
    "note": lambda table: table.sentences[: min(1, len(table))],
}
"""The stretches within which tokens are neighbours -> their first tokens; a line is the sentences that share a line."""


def _spread(values: NDArray[Any], places: Integers, n_places: int, edge: int) -> Integers32:
    """Values of tokens as values of places, with `edge` in the empty ones."""
    row = np.full(n_places, edge, dtype=np.int32)
    row[places] = values
    return row
