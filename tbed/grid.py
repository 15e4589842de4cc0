"""Many notes laid out in one row of places, so that looking at a neighbour is looking at another index.

    grid = TokenGrid.of(tables, ["word", "key"], reach=3)
    grid.columns["word"]                    (n_places,) ids; the places between sentences have `grid.edges["word"]`
    grid.laid_out(tag_ids, edge=42)         (n_places,) the same for tags
    grid.where(rule_conditions, tags, tag)  the places where a rule applies

Between two sentences lie `reach` empty places, so that no offset up to `reach` looks into another sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from features.columns.table import FeatureTable
from tbed.atoms import TAG

__all__ = ["STRETCHES", "Condition", "Ids", "TokenGrid"]

Ids = NDArray[np.int32]
Condition = tuple[str, range, int]
"""A column, the offsets of which one has to hold, and the id of the value."""


@dataclass(frozen=True)
class TokenGrid:
    """Tokens of many notes in a row of places.

    :param columns: column -> ids, each of shape `(n_places,)`.
    :param edges: column -> the id of the empty places between sentences.
    :param places: the place of each token, of shape `(n_tokens,)`.
    :param before: how many tokens its sentence has before each place, of shape `(n_places,)`; -1 where empty.
    :param after: how many tokens its sentence has after each place, of shape `(n_places,)`; -1 where empty.
    :param lengths: the number of tokens of each note.
    :param reach: the number of empty places between sentences.
    """

    columns: dict[str, Ids] = field(repr=False)
    edges: dict[str, int] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)
    before: Ids = field(repr=False)
    after: Ids = field(repr=False)
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
        lengths = tuple(map(len, tables))
        firsts = _starts(tables, lengths, within)
        n_tokens = sum(lengths)
        begins = np.zeros(n_tokens, dtype=np.int64)
        begins[firsts] = 1
        sentence = begins.cumsum() - 1
        places = np.arange(n_tokens) + reach * (sentence + 1)
        ends = np.append(firsts[1:], n_tokens)
        n_places = n_tokens + reach * (len(firsts) + 1)
        grid = cls({}, {}, places, _filled(n_places, -1), _filled(n_places, -1), lengths, reach)
        if n_tokens:
            grid.before[places] = np.arange(n_tokens) - firsts[sentence]
            grid.after[places] = ends[sentence] - 1 - np.arange(n_tokens)
        for name in columns:
            ids = [table.column(name) for table in tables]
            grid.edges[name] = len(tables[0].space.values(name)) if tables else 1
            grid.columns[name] = grid.laid_out(np.concatenate(ids) if ids else np.zeros(0), grid.edges[name])
        return grid

    def __len__(self) -> int:
        return len(self.before)

    def laid_out(self, values: NDArray[np.generic], edge: int) -> Ids:
        """Values of the tokens, of shape `(n_tokens,)`, as values of the places, of shape `(n_places,)`."""
        row = _filled(len(self), edge)
        row[self.places] = values
        return row

    def split(self, row: NDArray[np.generic]) -> list[NDArray[np.generic]]:
        """Values of the places as one array of shape `(n_tokens,)` for each note."""
        return np.split(row[self.places], np.cumsum(self.lengths)[:-1]) if self.lengths else []

    def where(self, conditions: Sequence[Condition], tags: Ids, tag: int) -> NDArray[np.int64]:
        """The places that carry a tag and meet all conditions, in order.

        :param tags: of shape `(n_places,)`.
        """
        static = next((c for c in conditions if c[0] != TAG), None)
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

    def _holding(self, condition: Condition) -> NDArray[np.int64]:
        column, offsets, value = condition
        hits = np.flatnonzero(self.columns[column] == value)
        if len(offsets) == 1:
            found = hits - offsets[0]
        else:
            found = np.sort(np.concatenate([hits - offset for offset in offsets]))
            found = found[np.append(True, found[1:] != found[:-1])[: len(found)]]
        # an empty place can stand next to a token that fits
        inside = found[(found >= 0) & (found < len(self.before))]
        return inside[self.before[inside] >= 0]


def _starts(tables: Sequence[FeatureTable], lengths: Sequence[int], within: str) -> NDArray[np.int64]:
    """The first token of each stretch in which tokens are neighbours, over all notes."""
    offsets = np.cumsum([0, *lengths])
    starts = [
        _STRETCHES[within](table).astype(np.int64) + offset for table, offset in zip(tables, offsets, strict=False)
    ]
    return np.concatenate(starts) if starts else np.zeros(0, dtype=np.int64)


def _line_starts(table: FeatureTable) -> Ids:
    """The starts of those sentences that are the first of a line."""
    text, (starts, ends) = table.document.text, table.offsets
    firsts: Ids = table.sentences[:-1]
    gaps = (text[int(ends[i - 1]) if i else 0 : int(starts[i])] for i in firsts.tolist())
    return firsts[[i == 0 or "\n" in gap or "\r" in gap for i, gap in enumerate(gaps)]]


_STRETCHES: dict[str, Callable[[FeatureTable], Ids]] = {
    "sentence": lambda table: table.sentences[:-1],
    "line": _line_starts,
    "note": lambda table: table.sentences[: min(1, len(table))],
}

STRETCHES = tuple(_STRETCHES)
"""Which tokens are neighbours: those of one sentence, of the sentences that share a line, or of one note."""


def _filled(length: int, value: int) -> Ids:
    return np.full(length, value, dtype=np.int32)
