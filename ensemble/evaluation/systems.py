"""Scores of several systems on the same documents, and their differences.

    systems = Systems({"a": counts_a, "b": counts_b}, seed=0)     counts by document, shape (n_documents, 3)
    systems.score("a", "recall")                                  Measure(value=0.953, low=0.948, high=0.958)
    systems.differences([("a", "b")], ["f1"])                     {("a", "b", "f1"): Difference(...)}

Intervals: percentiles of a bootstrap over documents, all systems on the same draws, so that a difference is drawn in
pairs too. p-values: paired approximate randomisation by document, corrected over all differences that are asked for at
once (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ensemble.evaluation.counts import IntArray
from ensemble.evaluation.intervals import Measure, drawn_sums, percentiles
from ensemble.evaluation.measures import MEASURES
from ensemble.evaluation.significance import holm, paired_randomisation
from features.errors import EvaluationError

__all__ = ["RESAMPLES", "Difference", "Systems"]

RESAMPLES = 1000
"""How often the bootstrap draws."""


class Difference(NamedTuple):
    """How far one system is from another in one measure.

    :param gap: the score of the first less that of the second.
    :param p: of paired approximate randomisation, two-sided.
    :param p_holm: the same, corrected over all differences that were asked for.
    """

    gap: Measure
    p: float
    p_holm: float


class Systems:
    """Counts of several systems on the same documents.

    :param counts: system -> true positives, false positives and false negatives, shape `(n_documents, 3)`.
    :param resamples: of the bootstrap.
    :param seed: of bootstrap and randomisation.
    :raises EvaluationError: if the counts are not of the same documents, or there are none.
    """

    def __init__(self, counts: Mapping[str, IntArray], *, resamples: int = RESAMPLES, seed: int) -> None:
        if len({array.shape for array in counts.values()}) != 1 or not all(map(len, counts.values())):
            raise EvaluationError("all systems must be scored on the same documents, of which there is at least one")
        self._counts, self._seed = counts, seed
        drawn = drawn_sums(np.stack(list(counts.values()), axis=1), resamples=resamples, seed=seed)
        self._drawn = dict(zip(counts, np.moveaxis(drawn, 1, 0), strict=True))

    def score(self, system: str, measure: str) -> Measure:
        """A measure of a system, a key of `MEASURES`, over all documents."""
        value = MEASURES[measure](self._counts[system].sum(axis=0))
        return Measure(float(value), *percentiles(MEASURES[measure](self._drawn[system])))

    def scores(self, system: str) -> dict[str, Measure]:
        """Every measure of a system, by name."""
        return {measure: self.score(system, measure) for measure in MEASURES}

    def differences(
        self, pairs: Iterable[tuple[str, str]], measures: Sequence[str], *, shuffles: int = 9999
    ) -> dict[tuple[str, str, str], Difference]:
        """Every measure of every pair of systems; (first, second, measure) -> difference."""
        keys = [(first, second, measure) for first, second in pairs for measure in measures]
        p_values = [
            paired_randomisation(
                self._counts[first], self._counts[second], measure=measure, shuffles=shuffles, seed=self._seed
            )
            for first, second, measure in keys
        ]
        return {
            key: Difference(self._gap(*key), p, p_holm)
            for key, p, p_holm in zip(keys, p_values, holm(p_values), strict=True)
        }

    def _gap(self, first: str, second: str, measure: str) -> Measure:
        score = MEASURES[measure]
        values = (float(score(self._counts[system].sum(axis=0))) for system in (first, second))
        drawn = score(self._drawn[first]) - score(self._drawn[second])
        return Measure(next(values) - next(values), *percentiles(drawn))
