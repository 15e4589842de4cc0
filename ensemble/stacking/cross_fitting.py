"""Support vector machines fitted fold by fold, so that no note is judged by a machine that saw its patient.

    distances = distances_out_of_fold(rows, right, folds, kernel)     for each note, (n_candidates,)
    curve = logistic_curve(np.concatenate(distances), np.concatenate(right))
    probability(distances[0], curve)                                  (n_candidates,), in [0, 1]

The curve is Platt's (1999), fitted on distances that were predicted out of fold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ensemble.stacking.kernel_svm import KernelSettings, KernelSVM
from features.arrays import Floats

__all__ = ["distances_out_of_fold", "logistic_curve", "probability"]


def distances_out_of_fold(
    rows: Sequence[Floats], right: Sequence[NDArray[np.bool_]], folds: Sequence[Sequence[int]], kernel: KernelSettings
) -> list[Floats]:
    """Distances for each note from machines that never saw its patient."""
    distances: list[Floats] = [np.zeros(0)] * len(rows)
    for fold in folds:
        held = set(fold)
        rest = [i for i in range(len(rows)) if i not in held]
        machine = KernelSVM.fit(
            np.concatenate([rows[i] for i in rest]), np.concatenate([right[i] for i in rest]), kernel
        )
        for i in fold:
            distances[i] = machine.decision(rows[i])
    return distances


def logistic_curve(distances: Floats, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of Platt's curve."""
    from sklearn.linear_model import LogisticRegression

    if right.all() or not right.any():
        return 1.0, 0.0
    model = LogisticRegression(C=1e3).fit(distances[:, None], right)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def probability(distances: Floats, curve: tuple[float, float]) -> Floats:
    slope, offset = curve
    chances: Floats = 1.0 / (1.0 + np.exp(-np.clip(slope * distances + offset, -50.0, 50.0)))
    return chances
