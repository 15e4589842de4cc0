"""Counts of hits and misses, and the measures made from them.

    count({a, b}, {b, c})    (1, 1, 1): b is found, c is wrong, a is missed
    f_score(p, r)            their harmonic mean, F1; with beta=2 recall weighs four times as much, F2
    MEASURES["f1"](counts)   a measure of counts, by name

A hit of the wrong type is both a false positive and a false negative. A ratio with denominator zero is 0. The measures
take numbers or arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phistack.features.documents import Document, Span
from phistack.features.ranges import ranges_of, touching

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
DocumentCounts = tuple[int, int, int]


class Counts(NamedTuple):
    """True positives, false positives and false negatives over many documents."""

    tp: int
    fp: int
    fn: int

    @property
    def support(self) -> int:
        """How many items gold has."""
        return self.tp + self.fn


class MeanAndDeviation(NamedTuple):
    """A mean over documents, folds or seeds, and its standard deviation."""

    mean: float
    sd: float


class Macro(NamedTuple):
    """Averaged measures; `f1_of_means`, of mean precision and mean recall, is the macro F1 of i2b2's script."""

    precision: MeanAndDeviation
    recall: MeanAndDeviation
    f1: MeanAndDeviation
    f1_of_means: float


class Reach(NamedTuple):
    """How well identifiers are found, whatever their labels and borders.

    :ivar reach: the share of the gold spans that a marked span touches; 0 without any.
    :ivar precision: the share of the marked spans that touch a gold span; 1 without any.
    """

    reach: float
    precision: float


def reach_of(documents: Iterable[Document], answers: Iterable[Sequence[Span]]) -> Reach:
    """How many gold spans of each document the marked spans touch, and the reverse."""
    reached = right = n_gold = n_marked = 0
    for document, marked in zip(documents, answers, strict=True):
        is_marked, is_gold = touching(ranges_of(marked)), touching(ranges_of(document.spans))
        reached += sum(is_marked(span.start, span.end) for span in document.spans)
        right += sum(is_gold(span.start, span.end) for span in marked)
        n_gold, n_marked = n_gold + len(document.spans), n_marked + len(marked)
    return Reach(reached / max(n_gold, 1), right / n_marked if n_marked else 1.0)


def count(gold: AbstractSet[object], system: AbstractSet[object]) -> DocumentCounts:
    """True positives, false positives and false negatives of two sets."""
    return len(gold & system), len(system - gold), len(gold - system)


def total(by_document: IntArray) -> Counts:
    return Counts(*by_document.sum(axis=0).tolist())


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Their quotient, and 0 where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    quotient: FloatArray = np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
    return quotient


def precision(tp: ArrayLike, fp: ArrayLike) -> FloatArray:
    """The share of the system's items that are right."""
    return ratio(tp, np.add(tp, fp))


def recall(tp: ArrayLike, fn: ArrayLike) -> FloatArray:
    """The share of gold's items that the system found."""
    return ratio(tp, np.add(tp, fn))


def f_score(precision: ArrayLike, recall: ArrayLike, beta: float = 1.0) -> FloatArray:
    """The weighted harmonic mean of precision and recall (van Rijsbergen 1979); F1 by default."""
    p, r = np.asarray(precision, dtype=float), np.asarray(recall, dtype=float)
    return (1 + beta**2) * ratio(p * r, beta**2 * p + r)


def f1_of_counts(counts: ArrayLike) -> FloatArray:
    """F1 of counts of shape `(..., 3)`; shape `(...)`."""
    tp, fp, fn = np.moveaxis(np.asarray(counts), -1, 0)
    return ratio(2 * tp, 2 * tp + fp + fn)


MEASURES: Mapping[str, Callable[[ArrayLike], FloatArray]] = {
    "precision": lambda counts: precision(np.asarray(counts)[..., 0], np.asarray(counts)[..., 1]),
    "recall": lambda counts: recall(np.asarray(counts)[..., 0], np.asarray(counts)[..., 2]),
    "f1": f1_of_counts,
}
"""Name -> measure of counts of shape `(..., 3)`."""


def macro(counts: IntArray, *, sample: bool = False) -> Macro:
    """Means and standard deviations of the measures of each document, fold or seed.

    :param counts: shape `(n, 3)`.
    :param sample: whether the deviation divides by n - 1, as for a sample of seeds, rather than by n.
    """
    values, ddof = (measure(counts) for measure in MEASURES.values()), int(sample and len(counts) > 1)
    p, r, f1 = (MeanAndDeviation(float(v.mean()), float(v.std(ddof=ddof))) for v in values)
    return Macro(p, r, f1, float(f_score(p.mean, r.mean)))
