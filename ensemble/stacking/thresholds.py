"""The threshold above which a candidate is accepted.

    best_threshold(pools, probabilities, gold)      0.34, 0.9652: a threshold, and the strict F1 with it
    recall_choices(pools, probabilities, gold, 0.34)["high"]    {"threshold": 0.08, "precision": 0.91, "recall": 0.98}

The threshold is that of the best expected F1 by the probabilities (Lipton 2014), not that of the best observed F1, as
scikit-learn's TunedThresholdClassifierCV takes it: with few notes the latter is chance, and worse on other notes.

Of candidates that overlap, those are accepted whose probabilities above the threshold have the largest sum. Nearly all
candidates overlap no other that any threshold would accept, so they are counted for all thresholds together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from phistack.ensemble.stacking.candidates import Pools
from phistack.features.arrays import Floats
from phistack.features.documents import Span
from phistack.features.ranges import non_overlapping, overlapping_groups

THRESHOLDS: tuple[float, ...] = tuple(np.round(np.arange(0.10, 0.71, 0.02), 2).tolist())
ABOUT = 0.0005
"""A difference in F1 no larger than what another choice of folds makes."""

HIGH, BALANCED = "high", "balanced"
CHOICES = (HIGH, BALANCED, "precise")
"""The operating points; `balanced` is the default."""

_FINE: tuple[float, ...] = tuple(np.round(np.arange(0.04, 0.97, 0.02), 2).tolist())
_PRECISION_KEPT, _RECALL_KEPT = 0.9, 0.95
"""The least precision of `high` and recall of `precise`, as shares of those of `balanced`."""


def best_threshold(
    pools: Pools, probabilities: Sequence[Floats], gold: Sequence[set[Span]], beta: float = 1.0
) -> tuple[float, float]:
    """The lowest threshold whose expected strict F is about the best, and its observed strict F1.

    The lowest, because F1 hardly changes over a wide range of thresholds, and a missed identifier does more harm than a
    false one.

    :param pools: for each note its candidates, sorted by span.
    :param probabilities: for each note those of its candidates, of shape `(n_candidates,)`.
    :param gold: for each note the spans that are right.
    :param beta: how many times as much recall counts as precision, in F of van Rijsbergen 1979.
    """
    tried = THRESHOLDS if beta == 1 else _FINE
    n_accepted, n_expected, n_right = _counted(pools, probabilities, gold, tried)
    n_gold = sum(map(len, gold))
    expected = (1 + beta**2) * n_expected / np.maximum(n_accepted + beta**2 * n_gold, 1)
    chosen = int(np.argmax(expected >= expected.max() - ABOUT))
    return tried[chosen], float(2 * n_right[chosen] / max(n_accepted[chosen] + n_gold, 1))


def recall_choices(
    pools: Pools, probabilities: Sequence[Floats], gold: Sequence[set[Span]], balanced: float
) -> Mapping[str, Mapping[str, float]]:
    """The thresholds of the operating points, each with its strict precision and recall.

    `high` is the lowest that keeps 90 % of the precision of `balanced`; `precise` the highest that keeps 95 % of its
    recall.

    :param balanced: the threshold of `best_threshold`, whose other parameters are the same.
    """
    thresholds = sorted({*_FINE, balanced})
    n_accepted, _, n_right = _counted(pools, probabilities, gold, thresholds)
    precision = n_right / np.maximum(n_accepted, 1)
    recall = n_right / max(sum(map(len, gold)), 1)
    middle = thresholds.index(balanced)
    high = int(np.argmax(precision >= _PRECISION_KEPT * precision[middle]))
    precise = int(np.flatnonzero(recall >= _RECALL_KEPT * recall[middle])[-1])
    chosen = zip(CHOICES, (min(high, middle), middle, max(precise, middle)), strict=True)
    return {
        name: {"threshold": thresholds[i], "precision": float(precision[i]), "recall": float(recall[i])}
        for name, i in chosen
    }


def _counted(
    pools: Pools, probabilities: Sequence[Floats], gold: Sequence[set[Span]], thresholds: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    """For each threshold, `(n_thresholds,)`: the number accepted, the sum of their probabilities, the number right.

    :param thresholds: from low to high.
    """
    # (3, n_thresholds): the three figures of candidates that overlap others.
    totals = np.zeros((3, len(thresholds)))
    alone: list[float] = []
    right: list[bool] = []
    for pool, probability, spans in zip(pools, probabilities, gold, strict=True):
        usable = np.flatnonzero(probability > thresholds[0]).tolist()
        known = {pool[i].span: float(probability[i]) for i in usable}
        for group in overlapping_groups(known):
            if len(group) == 1:
                alone.append(known[group[0]])
                right.append(group[0] in spans)
                continue
            for i, threshold in enumerate(thresholds):
                accepted = [group[j] for j in non_overlapping(group, [known[span] - threshold for span in group])]
                totals[:, i] += len(accepted), sum(map(known.__getitem__, accepted)), len(spans.intersection(accepted))
    lonely = np.array(alone)
    # (n_thresholds, n_alone): which of the others are accepted.
    above = lonely > np.array(thresholds)[:, None]
    n_right = above[:, np.array(right, dtype=bool)].sum(axis=1)
    n_accepted, n_expected, of_groups = totals
    return n_accepted + above.sum(axis=1), n_expected + (above * lonely).sum(axis=1), of_groups + n_right
