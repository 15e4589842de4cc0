"""The simplest initial tagger: the most frequent tag of a word.

    frequent, tags = FrequentTags.learn(tables, gold)
    frequent.tag(unseen)        for each note one tag a token

A token is looked up by its key (the words before the colon of its line) and its lower-case word, then by the word
alone; an unseen word is outside. For learning rules, tags are counted in the notes of other patients only: with the
patient's own notes nearly all of them would be right, which leaves nothing to learn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from phistack.features.columns.table import FeatureTable
from phistack.features.labels import most_frequent
from phistack.features.tags import OUTSIDE

_LOOKUPS = (("key", "lower"), ("lower",))

Values = tuple[str, ...]
TagCounts = defaultdict[Values, Counter[str]]


class FrequentTagsState(TypedDict):
    """The columns of each look-up, and its rows of values followed by a tag."""

    lookups: list[list[str]]
    tags: list[list[list[str]]]


@dataclass(frozen=True)
class FrequentTags:
    """A table of most frequent tags.

    :param lookups: the columns of each look-up, in order of preference.
    :param tags: for each look-up, values -> tag.
    """

    lookups: tuple[tuple[str, ...], ...]
    tags: tuple[dict[Values, str], ...] = field(repr=False)

    @classmethod
    def learn(
        cls, tables: Sequence[FeatureTable], gold: Sequence[Sequence[str]]
    ) -> tuple[FrequentTags, list[list[str]]]:
        """Count tags; of equally frequent ones the first in the alphabet is taken.

        :param gold: for each note one tag per token.
        :returns: the tagger, and tags for these notes, counted without the patient's own notes.
        """
        available = tables[0].space.columns if tables else ()
        lookups = tuple(columns for columns in _LOOKUPS if set(columns) <= set(available))
        counts = [_counts(tables, gold, columns) for columns in lookups]
        tagger = cls(lookups, tuple({values: most_frequent(of_tag) for values, of_tag in c.items()} for c in counts))
        tags: list[list[str]] = [[] for _ in tables]
        for members in _by_group(tables).values():
            rows = [tables[i] for i in members]
            own = [_counts(rows, [gold[i] for i in members], columns) for columns in lookups]
            others = [_without(all_counts, own_counts) for all_counts, own_counts in zip(counts, own, strict=True)]
            for i, found in zip(members, cls(lookups, tuple(others)).tag(rows), strict=True):
                tags[i] = found
        return tagger, tags

    def tag(self, tables: Sequence[FeatureTable]) -> list[list[str]]:
        """The most frequent tag of every token."""
        return [self._tag(table) for table in tables]

    def _tag(self, table: FeatureTable) -> list[str]:
        found: list[str | None] = [None] * len(table)
        for columns, tags in zip(self.lookups, self.tags, strict=True):
            pairs = zip(found, _values(table, columns), strict=True)
            found = [tags.get(values) if tag is None else tag for tag, values in pairs]
        return [OUTSIDE if tag is None else tag for tag in found]

    def to_dict(self) -> FrequentTagsState:
        """JSON-ready, for `from_dict`."""
        return {
            "lookups": [list(columns) for columns in self.lookups],
            "tags": [[[*values, tag] for values, tag in tags.items()] for tags in self.tags],
        }

    @classmethod
    def from_dict(cls, state: FrequentTagsState) -> FrequentTags:
        """Read the result of `to_dict`; :raises ValueError: for anything else."""
        lookups = tuple(map(tuple, state["lookups"]))
        if len(lookups) != len(state["tags"]):
            raise ValueError("not one table of tags for each look-up")
        return cls(lookups, tuple({tuple(values): tag for *values, tag in tags} for tags in state["tags"]))


def _by_group(tables: Sequence[FeatureTable]) -> dict[str, list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, table in enumerate(tables):
        groups[table.document.group].append(number)
    return groups


def _counts(tables: Sequence[FeatureTable], gold: Sequence[Sequence[str]], columns: tuple[str, ...]) -> TagCounts:
    counts: TagCounts = defaultdict(Counter)
    for table, tags in zip(tables, gold, strict=True):
        for values, tag in zip(_values(table, columns), tags, strict=True):
            counts[values][tag] += 1
    return counts


def _without(counts: TagCounts, own: TagCounts) -> dict[Values, str]:
    """The most frequent tags of the values in `own`, less the counts there."""
    rest = {values: counts[values] - of_tag for values, of_tag in own.items()}
    return {values: most_frequent(of_tag) for values, of_tag in rest.items() if of_tag}


def _values(table: FeatureTable, columns: tuple[str, ...]) -> Iterator[Values]:
    values = [table.space.values(name) for name in columns]
    ids = [table.column(name).tolist() for name in columns]
    for row in zip(*ids, strict=True):
        yield tuple(column[number] for column, number in zip(values, row, strict=True))
