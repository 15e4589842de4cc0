"""Arithmetic on counts, and nothing else.

    precision(tp, fp)        tp / (tp + fp)
    f_score(p, r)            their harmonic mean, F1; with beta=2 recall weighs four times as much, F2
    macro(by_document)       means and standard deviations over documents
    MEASURES["f1"](counts)   a measure of counts, by its name

A ratio with denominator zero is 0. All functions take numbers or arrays alike; micro means: of the summed counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phistack.ensemble.evaluation.counts import IntArray

FloatArray = NDArray[np.float64]


class MeanAndDeviation(NamedTuple):
    """A mean over documents, or folds, and its standard deviation, dividing by their number."""

    mean: float
    sd: float


class Macro(NamedTuple):
    """Measures averaged over documents or folds; `f1_of_means`, of the two means, is the macro F1 of i2b2's script."""

    precision: MeanAndDeviation
    recall: MeanAndDeviation
    f1: MeanAndDeviation
    f1_of_means: float


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Their quotient, and 0 where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    quotient: FloatArray = np.zeros(above.shape)
    np.divide(above, below, out=quotient, where=below != 0)
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
    """F1 of counts of shape `(..., 3)`, without the way over precision and recall; shape `(...)`."""
    tp, fp, fn = np.moveaxis(np.asarray(counts), -1, 0)
    return ratio(2 * tp, 2 * tp + fp + fn)


MEASURES: Mapping[str, Callable[[ArrayLike], FloatArray]] = {
    "precision": lambda counts: precision(np.asarray(counts)[..., 0], np.asarray(counts)[..., 1]),
    "recall": lambda counts: recall(np.asarray(counts)[..., 0], np.asarray(counts)[..., 2]),
    "f1": f1_of_counts,
}
"""Name -> measure of counts of shape `(..., 3)`."""


def macro(by_document: IntArray) -> Macro:
    """Means and standard deviations over documents of counts of shape `(n_documents, 3)`."""
    tp, fp, fn = by_document.T
    p, r = precision(tp, fp), recall(tp, fn)
    means = _mean(p), _mean(r), _mean(f_score(p, r))
    return Macro(*means, float(f_score(means[0].mean, means[1].mean)))


def _mean(values: FloatArray) -> MeanAndDeviation:
    return MeanAndDeviation(float(values.mean()), float(values.std()))
