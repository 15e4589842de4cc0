"""The simplest initial tagger: the most frequent tag of a word.

    frequent = FrequentTags.learn(tables, tags)
    frequent.tag(tables)        for each note one tag a token

A token is looked up by its key (what stands before the colon of its line) and its lower-case word, then by the word
alone; a word that was never seen is outside.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from features.table import FeatureTable
from features.tags import OUTSIDE

__all__ = ["FrequentTags"]

_LOOKUPS = (("key", "lower"), ("lower",))


@dataclass(frozen=True)
class FrequentTags:
    """A table of most frequent tags.

    :param lookups: the columns of each look-up, in the order in which they are tried.
    :param tags: for each look-up, values -> tag.
    """

    lookups: tuple[tuple[str, ...], ...]
    tags: tuple[dict[tuple[str, ...], str], ...] = field(repr=False)

    @classmethod
    def learn(cls, tables: Sequence[FeatureTable], tags: Sequence[Sequence[str]]) -> FrequentTags:
        """Count tags; of equally frequent ones the first in the alphabet is taken, and `O` only if it is in front.

        :param tags: for each note one tag a token.
        """
        available = tables[0].space.columns if tables else ()
        lookups = tuple(columns for columns in _LOOKUPS if set(columns) <= set(available))
        return cls(lookups, tuple(_most_frequent(tables, tags, columns) for columns in lookups))

    def tag(self, tables: Sequence[FeatureTable]) -> list[list[str]]:
        """The most frequent tag of every token."""
        return [self._tag(table) for table in tables]

    def _tag(self, table: FeatureTable) -> list[str]:
        found: list[str | None] = [None] * len(table)
        for columns, tags in zip(self.lookups, self.tags, strict=True):
            found = [
                tags.get(values) if tag is None else tag
                for tag, values in zip(found, _values(table, columns), strict=True)
            ]
        return [OUTSIDE if tag is None else tag for tag in found]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; read again by `from_dict`."""
        return {
            "lookups": [list(columns) for columns in self.lookups],
            "tags": [[[*values, tag] for values, tag in tags.items()] for tags in self.tags],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> FrequentTags:
        """What `to_dict` gave; :raises KeyError, TypeError or ValueError: if it is not that."""
        return cls(
            tuple(tuple(map(str, columns)) for columns in state["lookups"]),
            tuple({tuple(values): str(tag) for *values, tag in tags} for tags in state["tags"]),
        )


def _most_frequent(
    tables: Sequence[FeatureTable], tags: Sequence[Sequence[str]], columns: tuple[str, ...]
) -> dict[tuple[str, ...], str]:
    counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for table, note_tags in zip(tables, tags, strict=True):
        for values, tag in zip(_values(table, columns), note_tags, strict=True):
            counts[values][tag] += 1
    return {values: min(of_tag, key=lambda tag: (-of_tag[tag], tag)) for values, of_tag in counts.items()}


def _values(table: FeatureTable, columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    values = [table.space.values(name) for name in columns]
    ids = [table.column(name).tolist() for name in columns]
    for row in zip(*ids, strict=True):
        yield tuple(column[number] for column, number in zip(values, row, strict=True))
