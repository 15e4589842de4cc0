"""How far a figure may be from the truth.

    bootstrap_f1(counts, seed=0)     95 % interval of F1, drawing whole documents (Efron 1979)
    drawn_sums(counts, seed=0)       what that bootstrap sums, for intervals of other figures
    wilson(95, 100)                  95 % interval of a proportion (Wilson 1927): 0.888 to 0.978

The bootstrap draws documents, as PHI of one document are not independent. Wilson's interval takes each PHI on its own.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ensemble.evaluation.counts import IntArray
from ensemble.evaluation.measures import FloatArray, f1_of_counts

__all__ = ["Interval", "Measure", "bootstrap_f1", "drawn_sums", "percentiles", "wilson"]

_NORMAL_97_5 = 1.959963984540054
_BLOCK = 100


class Interval(NamedTuple):
    """The two ends of a 95 % interval."""

    low: float
    high: float


class Measure(NamedTuple):
    """A figure and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def bootstrap_f1(counts: IntArray, *, resamples: int = 1000, seed: int) -> tuple[Interval, ...]:
    """Percentile intervals of micro F1, one for each row of counts; parameters as for `drawn_sums`."""
    return tuple(map(percentiles, f1_of_counts(drawn_sums(counts, resamples=resamples, seed=seed)).T))


def percentiles(drawn: FloatArray) -> Interval:
    """What lies between the lowest and the highest fortieth of the draws of a figure."""
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Interval(float(low), float(high))


def drawn_sums(counts: IntArray, *, resamples: int = 1000, seed: int) -> FloatArray:
    """Counts summed over documents that are drawn with replacement, as many as there are.

    All rows see the same draws of documents, so that differences between rows are drawn in pairs.

    :param counts: shape `(n_documents, n_rows, 3)`, with at least one document.
    :param resamples: how many times documents are drawn.
    :param seed: of the draws.
    :returns: shape `(resamples, n_rows, 3)`.
    """
    documents, rows, _ = counts.shape
    flat = counts.reshape(documents, rows * 3).astype(float)
    rng = np.random.default_rng(seed)
    blocks = (_draws(documents, min(_BLOCK, resamples - done), rng) for done in range(0, resamples, _BLOCK))
    return np.concatenate([block @ flat for block in blocks]).reshape(resamples, rows, 3)


def _draws(documents: int, resamples: int, rng: np.random.Generator) -> FloatArray:
    """How often each document is drawn; shape `(resamples, n_documents)`."""
    return rng.multinomial(documents, np.full(documents, 1 / documents), size=resamples).astype(float)


def wilson(hits: int, trials: int) -> Interval:
    """Wilson's score interval of a proportion, 95 %; from 0 to 1 without trials."""
    if trials == 0:
        return Interval(0.0, 1.0)
    z2 = _NORMAL_97_5**2
    share = hits / trials
    centre = share + z2 / (2 * trials)
    margin = _NORMAL_97_5 * sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    scale = 1 + z2 / trials
    low = (centre - margin) / scale if hits else 0.0
    high = (centre + margin) / scale if hits < trials else 1.0
    return Interval(low, high)
