"""The kinds of support vector machine that a stacker can have, by their settings.

machine = fit_svm(rows, is_phi, LinearSettings(c=0.1))          a LinearSVM
machine = fit_svm(rows, is_phi, KernelSettings(0.009, 1, 1))    a KernelSVM
machine.margins(other_rows)                                     (n_rows,); positive is PHI
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.kernel_svm import KernelSettings, KernelSVM
from phistack.ensemble.stacking.linear_svm import LinearSVM
from phistack.features.arrays import Floats


@dataclass(frozen=True, slots=True)
class LinearSettings:
    """What a linear SVM is trained with.

    :param c: the penalty of an error.
    """

    c: float

    def __str__(self) -> str:
        return f"linear, C {self.c}"


SvmSettings = LinearSettings | KernelSettings
Svm = LinearSVM | KernelSVM

ZHAO2020 = KernelSettings(gamma=0.009, c_right=5.2, c_wrong=12.48)
LIU2017 = KernelSettings(gamma=0.1, c_right=1.0, c_wrong=1.0)
KERNELS: dict[str, tuple[SvmSettings, ...]] = {
    "linear": (LinearSettings(0.1),),
    "zhao2020": (ZHAO2020,),
    "liu2017": (LIU2017,),
    "search": (
        KernelSettings(0.003, 1.0, 1.0),
        KernelSettings(0.003, 5.0, 5.0),
        ZHAO2020,
        KernelSettings(0.009, 1.0, 1.0),
    ),
}
"""Names of settings: a linear machine, those of two papers, and a small grid from which cross-validation chooses.

Liu 2017 names LIBSVM and no numbers; so these are its defaults for ten features.
"""


def fit_svm(rows: Floats, is_phi: NDArray[np.bool_], settings: SvmSettings) -> Svm:
    """Train on candidates `(n_candidates, n_features)` and whether each is PHI `(n_candidates,)`."""
    if isinstance(settings, LinearSettings):
        return LinearSVM.fit(rows, is_phi, c=settings.c)
    return KernelSVM.fit(rows, is_phi, settings)


def svm_from_arrays(arrays: Mapping[str, Floats], n_features: int, settings: SvmSettings) -> Svm:
    """The machine whose `arrays` these are; :raises BundleError: if they are not those of such a one."""
    kind = LinearSVM if isinstance(settings, LinearSettings) else KernelSVM
    return kind.from_arrays(arrays, n_features)


def svm_settings(saved: Mapping[str, float]) -> SvmSettings:
    """Settings from their fields; :raises TypeError: if they are those of neither kind."""
    return LinearSettings(**saved) if "c" in saved else KernelSettings(**saved)
