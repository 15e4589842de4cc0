"""From margins to probabilities, and the threshold above which a candidate is accepted.

    calibrated(margins, curve)                      (n_candidates,), in [0, 1]
    best_threshold(pools, probabilities, gold)      0.34, 0.9652: a threshold, and the strict F1 with it
    recall_choices(pools, probabilities, gold, 0.34)["high"]    {"threshold": 0.08, "precision": 0.91, "recall": 0.98}

Platt scaling (1999) takes the log-odds as a line in the margin. Just above the boundary of an SVM that line is
overconfident. So the curve here is piecewise linear and never falls; a penalty keeps neighbouring slopes alike, and
with few candidates it is Platt's line. scikit-learn has Platt's line and isotonic steps, nothing between them.

The threshold is that of the best expected F1 by the probabilities (Lipton 2014), not of the best observed F1, as in
scikit-learn's TunedThresholdClassifierCV: with few notes that is chance, and worse on other notes. Most candidates
overlap no other that any threshold would accept, so they are counted for all thresholds together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.candidates import ByNote, Pools
from phistack.features.arrays import Floats
from phistack.features.documents import Span
from phistack.features.ranges import non_overlapping, overlapping_groups

Curve = tuple[float, ...]
"""One slope for all margins or one for each piece between `_BENDS`, then the log-odds at a margin of 0."""

_BENDS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""Margins at which the slope may change; an SVM puts the training candidates of its classes at -1 and 1 or beyond."""

_ALIKE, _FLAT = 1.0, 1e-3
"""Penalties of squared differences between neighbouring slopes, and of squared slopes."""

THRESHOLDS: tuple[float, ...] = tuple(np.round(np.arange(0.10, 0.71, 0.02), 2).tolist())
ABOUT = 0.0005
"""A difference in F1 no larger than another choice of folds would make."""

HIGH, BALANCED = "high", "balanced"
CHOICES = (HIGH, BALANCED, "precise")
"""The operating points; `balanced` is the default."""

_FINE: tuple[float, ...] = tuple(np.round(np.arange(0.04, 0.97, 0.02), 2).tolist())
_PRECISION_KEPT, _RECALL_KEPT = 0.9, 0.95
"""The least precision of `high` and recall of `precise`, as shares of those of `balanced`."""


def platt_scaling(margins: Floats, is_phi: NDArray[np.bool_]) -> Curve:
    """Slope and intercept of Platt scaling (1999): the logistic regression of being PHI on the margin."""
    from sklearn.linear_model import LogisticRegression

    if is_phi.all() or not is_phi.any():
        return 1.0, 0.0
    model = LogisticRegression(C=1e3).fit(margins[:, None], is_phi)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def calibration_curve(margins: Floats, is_phi: NDArray[np.bool_]) -> Curve:
    """The slopes between `_BENDS` and the intercept of the largest penalised likelihood, of candidates `(n,)`."""
    from scipy.optimize import minimize

    if is_phi.all() or not is_phi.any():
        return 1.0, 0.0
    # (n_candidates, n_pieces + 1)
    pieces = np.column_stack([_pieces(margins), np.ones(len(margins))])
    signs = np.where(is_phi, 1.0, -1.0)
    n_pieces = pieces.shape[1] - 1
    penalty = np.zeros((n_pieces + 1, n_pieces + 1))
    differences = np.diff(np.eye(n_pieces), axis=0)
    penalty[:-1, :-1] = _ALIKE * differences.T @ differences + _FLAT * np.eye(n_pieces)

    def loss(curve: Floats) -> tuple[float, Floats]:
        agreement = signs * (pieces @ curve)
        value = np.logaddexp(0.0, -agreement).sum() + 0.5 * curve @ penalty @ curve
        gradient = -pieces.T @ (signs * logistic(-agreement)) + penalty @ curve
        return float(value), gradient

    bounds = [(0.0, None)] * n_pieces + [(None, None)]
    found = minimize(loss, np.append(np.ones(n_pieces), 0.0), jac=True, method="L-BFGS-B", bounds=bounds)
    return tuple(found.x.tolist())


def calibrated(margins: Floats, curve: Curve) -> Floats:
    """Margins as probabilities, by a curve of `calibration_curve` or `platt_scaling`."""
    *slopes, intercept = curve
    log_odds = slopes[0] * margins if len(slopes) == 1 else _pieces(margins) @ np.array(slopes)
    return logistic(log_odds + intercept)


def _pieces(margins: Floats) -> Floats:
    """Each margin as a sum of its parts in the pieces, from 0 on: `(n_candidates, n_pieces)`."""
    edges = np.array([-np.inf, *_BENDS, np.inf])
    lows, highs = edges[:-1], edges[1:]
    pieces: Floats = np.clip(margins[:, None], lows, highs) - np.clip(0.0, lows, highs)
    return pieces


def logistic(log_odds: Floats) -> Floats:
    """Log-odds of any size as probabilities."""
    probabilities: Floats = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -50.0, 50.0)))
    return probabilities


def best_threshold(
    pools: Pools, probabilities: ByNote, gold: Sequence[set[Span]], beta: float = 1.0
) -> tuple[float, float]:
    """The lowest threshold whose expected strict F is about the best, and its observed strict F1.

    The lowest, because F1 hardly changes over a wide range of thresholds, and a missed identifier does more harm than a
    false one.

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
    pools: Pools, probabilities: ByNote, gold: Sequence[set[Span]], balanced: float
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
    pools: Pools, probabilities: ByNote, gold: Sequence[set[Span]], thresholds: Sequence[float]
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
