"""How far a figure may be from the truth.

    Measure(0.953, 0.948, 0.958)           a figure and the ends of its 95 % interval
    bootstrap = Bootstrap(counts, seed=0)  rows of counts by document, and what they sum to over drawn documents
    bootstrap.measures("f1")               micro F1 of each row (Efron 1979)
    bootstrap.gap("f1", 0, 1)              that of the first row less that of the second, drawn in pairs
    wilson(95, 100)                        a proportion (Wilson 1927): Measure(0.95, 0.888, 0.978)

The bootstrap draws documents, as PHI of one document are not independent. Wilson's interval takes each PHI on its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phistack.ensemble.evaluation.counts import IntArray
from phistack.ensemble.evaluation.measures import MEASURES, FloatArray
from phistack.features.errors import EvaluationError

RESAMPLES = 1000
"""How often the bootstrap draws."""

_BLOCK = 100


class Measure(NamedTuple):
    """A figure and the ends of its interval, of 95 % where nothing else is said."""

    value: float
    low: float
    high: float

    def widened(self, other: Measure) -> Measure:
        """The same figure with the wider ends of two intervals."""
        return Measure(self.value, min(self.low, other.low), max(self.high, other.high))


class Bootstrap:
    """Rows of counts on the same documents, summed over all of them and over documents drawn with replacement.

    All rows see the same draws of documents, so that differences between rows are drawn in pairs.

    :param counts: true positives, false positives and false negatives; shape `(n_documents, n_rows, 3)`.
    :param resamples: how many times as many documents as there are are drawn.
    :param seed: of the draws.
    :raises EvaluationError: if there is no document, or nothing is drawn.
    """

    def __init__(self, counts: IntArray, *, resamples: int = RESAMPLES, seed: int) -> None:
        if resamples < 1:
            raise EvaluationError(f"the number of resamples must be at least 1, not {resamples}")
        if not len(counts):
            raise EvaluationError("all systems must be scored on the same documents, of which there is at least one")
        self._sums = counts.sum(axis=0)
        self._drawn = _drawn_sums(counts, resamples, seed)

    def measures(self, name: str) -> list[Measure]:
        """A measure of each row, a key of `MEASURES`."""
        measure = MEASURES[name]
        return _measures(measure(self._sums), measure(self._drawn))

    def gap(self, name: str, row: int, other: int) -> Measure:
        """A measure of one row less that of another."""
        sums, drawn = (MEASURES[name](counts[..., [row, other], :]) for counts in (self._sums, self._drawn))
        return _measures(sums[:1] - sums[1:], drawn[:, :1] - drawn[:, 1:])[0]


def _measures(values: FloatArray, drawn: FloatArray) -> list[Measure]:
    """Figures of shape `(n,)` with the lowest and the highest fortieth of their draws, of shape `(resamples, n)`."""
    ends = np.quantile(drawn, (0.025, 0.975), axis=0)
    return [Measure(*figures) for figures in np.column_stack([values, *ends]).tolist()]


def _drawn_sums(counts: IntArray, resamples: int, seed: int) -> FloatArray:
    """The counts summed over the documents of each draw; shape `(resamples, n_rows, 3)`."""
    documents, rows, _ = counts.shape
    flat = counts.reshape(documents, rows * 3).astype(float)
    rng, share = np.random.default_rng(seed), np.full(documents, 1 / documents)
    # In blocks, as how often each document is drawn takes resamples * documents numbers.
    sizes = (min(_BLOCK, resamples - done) for done in range(0, resamples, _BLOCK))
    drawn = [rng.multinomial(documents, share, size=size).astype(float) @ flat for size in sizes]
    return np.concatenate(drawn).reshape(resamples, rows, 3)


def wilson(hits: int, trials: int) -> Measure:
    """A proportion with Wilson's score interval, 95 %; 0, from 0 to 1, without trials."""
    from scipy.stats import binomtest

    if not trials:
        return Measure(0.0, 0.0, 1.0)
    low, high = binomtest(hits, trials).proportion_ci(method="wilson")
    return Measure(hits / trials, float(low), float(high))
