"""Support vector machines fitted fold by fold, so that no note is judged by one that saw its patient.

margins = margins_out_of_fold(rows, is_phi, folds, settings)        for each note, (n_candidates,)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.svm import Svm, SvmSettings, fit_svm
from phistack.features.arrays import Floats


def margins_out_of_fold(
    rows: Sequence[Floats], is_phi: Sequence[NDArray[np.bool_]], folds: Sequence[Sequence[int]], settings: SvmSettings
) -> list[Floats]:
    """For each note its candidates' margins, by machines that never saw its patient."""
    return margins_of(machines_out_of_fold(rows, is_phi, folds, settings), rows, folds)


def machines_out_of_fold(
    rows: Sequence[Floats],
    is_phi: Sequence[NDArray[np.bool_]],
    folds: Sequence[Sequence[int]],
    settings: SvmSettings,
    extremes: Floats | None = None,
) -> Iterator[Svm]:
    """For each fold a machine that was trained on the others.

    :param extremes: what is surely PHI and what surely is not, `(2, n_features)`, from which a machine learns to tell
        them apart where all candidates of the other folds are of one kind.
    """
    for fold in folds:
        held = set(fold)
        rest = [i for i in range(len(rows)) if i not in held]
        known, right = np.concatenate([rows[i] for i in rest]), np.concatenate([is_phi[i] for i in rest])
        if extremes is not None and (right.all() or not right.any()):
            known, right = np.concatenate([known, extremes]), np.append(right, [True, False])
        yield fit_svm(known, right, settings)


def margins_of(machines: Iterable[Svm], rows: Sequence[Floats], folds: Sequence[Sequence[int]]) -> list[Floats]:
    """For each note its candidates' margins by the machine of its fold."""
    margins: list[Floats] = [np.zeros(0)] * len(rows)
    for svm, fold in zip(machines, folds, strict=True):
        for i in fold:
            margins[i] = svm.margins(rows[i])
    return margins
