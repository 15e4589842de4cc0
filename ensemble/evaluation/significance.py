"""Whether one system is really better than another.

    paired_randomisation(counts_a, counts_b, seed=0)     p-value of the difference in micro F1
    paired_randomisation(..., measure="recall", seed=0)  of that in recall
    holm((0.01, 0.04))                                   p-values of several comparisons, corrected: (0.02, 0.04)

Approximate randomisation (Noreen 1989; Yeh 2000) exchanges the answers of the two systems in a random half of the
documents, as PHI of one document are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phistack.ensemble.evaluation.counts import IntArray
from phistack.ensemble.evaluation.measures import MEASURES
from phistack.features.errors import EvaluationError

_BLOCK = 1000
# Two orders of the same sum differ by less than this, two different scores by more.
_ROUNDING = 1e-12


def paired_randomisation(
    counts_a: IntArray, counts_b: IntArray, *, measure: str = "f1", shuffles: int = 9999, seed: int
) -> float:
    """Paired approximate randomisation by document, two-sided, on micro F1 or another measure.

    :param counts_a: true positives, false positives and false negatives of one system; shape `(n_documents, 3)`.
    :param counts_b: those of the other, the documents in the same order.
    :param measure: a key of `MEASURES`.
    :param shuffles: how many random exchanges are tried.
    :returns: (1 + exchanges at least as far apart as the systems are) / (1 + shuffles).
    :raises EvaluationError: if the shapes differ or are others, or there are no shuffles.
    """
    if counts_a.shape != counts_b.shape or counts_a.ndim != 2 or counts_a.shape[1] != 3:
        raise EvaluationError(f"counts must both have shape (documents, 3), not {counts_a.shape} and {counts_b.shape}")
    if shuffles < 1:
        raise EvaluationError(f"the number of shuffles must be at least 1, not {shuffles}")
    gap = (counts_b - counts_a).astype(float)
    sums = counts_a.sum(axis=0).astype(float), counts_b.sum(axis=0).astype(float)
    score = MEASURES[measure]
    observed = np.abs(score(sums[0]) - score(sums[1]))
    rng = np.random.default_rng(seed)
    extreme = 0
    for done in range(0, shuffles, _BLOCK):
        exchanged = rng.integers(0, 2, size=(min(_BLOCK, shuffles - done), len(gap))) @ gap
        distance = np.abs(score(sums[0] + exchanged) - score(sums[1] - exchanged))
        extreme += int(np.sum(distance >= observed - _ROUNDING))
    return (1 + extreme) / (1 + shuffles)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Correct the p-values of several comparisons (Holm 1979).

    :returns: adjusted p-values in the order given; those below the level are significant together.
    :raises EvaluationError: if a value is not between 0 and 1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise EvaluationError("a p-value must be between 0 and 1")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)
