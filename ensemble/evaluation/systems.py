"""Scores of several systems on the same documents, and their differences.

    systems = Systems({"a": counts_a, "b": counts_b}, seed=0)     counts by document, shape (n_documents, 3)
    systems.scores["a"].recall                                    Measure(value=0.953, low=0.948, high=0.958)
    systems.differences([("a", "b")], ["f1"])                     {("a", "b", "f1"): Difference(...)}

Intervals: percentiles of a bootstrap over documents, all systems on the same draws, so that a difference is drawn in
pairs too. p-values: paired approximate randomisation by document, corrected over all differences that are asked for at
once (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from phistack.ensemble.evaluation.counts import IntArray
from phistack.ensemble.evaluation.criteria import Criterion
from phistack.ensemble.evaluation.intervals import RESAMPLES, Bootstrap, Measure
from phistack.ensemble.evaluation.pairing import pair, vocabulary
from phistack.ensemble.evaluation.scores import scores
from phistack.ensemble.evaluation.significance import holm, paired_randomisation
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError


class Difference(NamedTuple):
    """How far one system is from another in one measure.

    :param gap: the score of the first less that of the second.
    :param p: of paired approximate randomisation, two-sided.
    :param p_holm: the same, corrected over all differences that were asked for.
    """

    gap: Measure
    p: float
    p_holm: float


def counts_of(gold: Corpus, system: Corpus, criterion: Criterion) -> IntArray:
    """True positives, false positives and false negatives of each document of gold, of shape `(n_documents, 3)`.

    :raises EvaluationError: as for `evaluate`.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    return criterion.by_document(pair(gold, system, vocabulary(gold.label_set, system.label_set)).pairs)


class Systems:
    """Counts of several systems on the same documents.

    :param counts: system -> true positives, false positives and false negatives, shape `(n_documents, 3)`.
    :param resamples: of the bootstrap.
    :param seed: of bootstrap and randomisation.
    :raises EvaluationError: if the counts are not of the same documents, or there are none.
    """

    def __init__(self, counts: Mapping[str, IntArray], *, resamples: int = RESAMPLES, seed: int) -> None:
        if len({array.shape for array in counts.values()}) != 1:
            raise EvaluationError("all systems must be scored on the same documents, of which there is at least one")
        self._counts, self._seed = counts, seed
        stacked = np.stack(list(counts.values()), axis=1)
        self._bootstrap = Bootstrap(stacked, resamples=resamples, seed=seed)
        self.scores = {score.name: score for score in scores(list(counts), stacked, self._bootstrap)}

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
        row = list(self._counts).index
        return {
            (first, second, measure): Difference(self._bootstrap.gap(measure, row(first), row(second)), p, p_holm)
            for (first, second, measure), p, p_holm in zip(keys, p_values, holm(p_values), strict=True)
        }
