"""Counting, and nothing else: true positives, false positives and false negatives of one document.

    count({a, b}, {b, c})     (1, 1, 1): b is found, c is wrong, a is missed

A hit of the wrong type is two different items, and so both a false positive and a false negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
DocumentCounts = tuple[int, int, int]
T = TypeVar("T")


class Counts(NamedTuple):
    """True positives, false positives and false negatives over many documents."""

    tp: int
    fp: int
    fn: int

    @property
    def support(self) -> int:
        """How many items gold has."""
        return self.tp + self.fn


def count(gold: AbstractSet[object], system: AbstractSet[object]) -> DocumentCounts:
    """True positives, false positives and false negatives of two sets."""
    return len(gold & system), len(system - gold), len(gold - system)


def count_forgiving(
    gold: AbstractSet[object],
    system: AbstractSet[object],
    gold_joined: AbstractSet[object],
    system_joined: AbstractSet[object],
) -> DocumentCounts:
    """As MEDDOCAN's script counts merged spans.

    True positives are the plain spans on which both sides agree together with the joined spans on which they agree;
    a plain span is neither wrong nor missed if it lies inside any of them. All items start with two offsets.
    """
    hits = cast("set[tuple[int, int]]", (gold & system) | (gold_joined & system_joined))
    extents = sorted((hit[0], hit[1]) for hit in hits)
    return len(hits), _outside(system - gold, extents), _outside(gold - system, extents)


def _outside(items: Iterable[object], extents: Sequence[tuple[int, int]]) -> int:
    spans = cast("Iterable[tuple[int, int]]", items)
    return sum(not any(start <= item[0] and item[1] <= end for start, end in extents) for item in spans)


def count_by(gold: AbstractSet[T], system: AbstractSet[T], key: Callable[[T], str], keys: Sequence[str]) -> IntArray:
    """Counts apart for each value of a key.

    :param key: the value of an item, one of `keys`.
    :returns: shape `(n_keys, 3)`, in the order of `keys`: true positives, false positives, false negatives.
    """
    row = {value: index for index, value in enumerate(keys)}
    counts = np.zeros((len(keys), 3), dtype=np.int64)
    for column, items in enumerate((gold & system, system - gold, gold - system)):
        for item in items:
            counts[row[key(item)], column] += 1
    return counts


def total(by_document: IntArray) -> Counts:
    """The sum over documents of counts of shape `(n_documents, 3)`."""
    tp, fp, fn = by_document.sum(axis=0).tolist()
    return Counts(tp, fp, fn)
