"""Support vector machines fitted fold by fold, so that no note is judged by one that saw its patient.

    margins = margins_out_of_fold(rows, is_phi, folds, kernel)          for each note, (n_candidates,)
    calibration = platt_scaling(np.concatenate(margins), np.concatenate(is_phi))
    calibrated(margins[0], calibration)                                (n_candidates,), in [0, 1]

The margins are calibrated by Platt scaling (1999), which is itself fitted on margins that were predicted out of fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ensemble.stacking.kernel_svm import KernelSettings, KernelSVM
from features.arrays import Floats

__all__ = ["calibrated", "machines_out_of_fold", "margins_of", "margins_out_of_fold", "platt_scaling"]


def margins_out_of_fold(
    rows: Sequence[Floats], is_phi: Sequence[NDArray[np.bool_]], folds: Sequence[Sequence[int]], kernel: KernelSettings
) -> list[Floats]:
    """For each note its candidates' margins, by machines that never saw its patient."""
    return margins_of(machines_out_of_fold(rows, is_phi, folds, kernel), rows, folds)


def machines_out_of_fold(
    rows: Sequence[Floats], is_phi: Sequence[NDArray[np.bool_]], folds: Sequence[Sequence[int]], kernel: KernelSettings
) -> Iterator[KernelSVM]:
    """For each fold a machine that was trained on the others."""
    for fold in folds:
        held = set(fold)
        rest = [i for i in range(len(rows)) if i not in held]
        yield KernelSVM.fit(np.concatenate([rows[i] for i in rest]), np.concatenate([is_phi[i] for i in rest]), kernel)


def margins_of(machines: Iterable[KernelSVM], rows: Sequence[Floats], folds: Sequence[Sequence[int]]) -> list[Floats]:
    """For each note its candidates' margins by the machine of its fold."""
    margins: list[Floats] = [np.zeros(0)] * len(rows)
    for svm, fold in zip(machines, folds, strict=True):
        for i in fold:
            margins[i] = svm.margins(rows[i])
    return margins


def platt_scaling(margins: Floats, is_phi: NDArray[np.bool_]) -> tuple[float, float]:
    """Factor and intercept of Platt scaling (1999): the logistic regression of what is PHI on the margin."""
    from sklearn.linear_model import LogisticRegression

    if is_phi.all() or not is_phi.any():
        return 1.0, 0.0
    model = LogisticRegression(C=1e3).fit(margins[:, None], is_phi)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def calibrated(margins: Floats, calibration: tuple[float, float]) -> Floats:
    """Margins as probabilities, by what `platt_scaling` gave."""
    factor, intercept = calibration
    probabilities: Floats = 1.0 / (1.0 + np.exp(-np.clip(factor * margins + intercept, -50.0, 50.0)))
    return probabilities
