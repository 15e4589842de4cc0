"""The support vector machines of the stacker, as plain arrays.

    machine = fit_svm(rows, is_phi, LinearSettings(c=0.1))          a LinearSVM; with KernelSettings a KernelSVM
    machine.margins(other_rows)                                     (n_rows,); positive is PHI
    machine.arrays()                                                what a bundle stores; no pickle

scikit-learn trains them: `LinearSVC` (Fan 2008: squared hinge loss, L2 penalty) or `SVC` with a radial basis function
kernel (Chang and Lin 2011). Its own models are saved by pickle, which can run any code, and its import takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, check_shapes

_LEAST_SCALE = 2.0
"""The least divisor of a feature of a linear machine, about the deviation of log-odds. It keeps rare features, such as
a label with few mentions, at a low weight unless they are often right."""

_INTERCEPT_SCALING = 10.0
"""Large, because LIBLINEAR also penalises the intercept."""

_ROWS_AT_ONCE = 512
_ROUNDING = 1e-9
"""A deviation up to this comes from rounding: the mean of equal numbers, such as 0.1, can differ from them."""


@dataclass(frozen=True, slots=True)
class LinearSettings:
    """The settings of a linear SVM; :param c: the penalty of an error."""

    c: float

    def __str__(self) -> str:
        return f"linear, C {self.c}"


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """The settings of an RBF SVM.

    :param gamma: width of the kernel, on standardised features.
    :param c_right: class weight of candidates that are PHI: the penalty C for an error on one.
    :param c_wrong: class weight of the others.
    """

    gamma: float
    c_right: float
    c_wrong: float

    def __str__(self) -> str:
        return f"gamma {self.gamma}, C {self.c_right}/{self.c_wrong}"


SvmSettings = LinearSettings | KernelSettings

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

Liu 2017 names LIBSVM and no numbers; these are its defaults for ten features.
"""


@dataclass(frozen=True)
class LinearSVM:
    """The decision function of a trained linear machine.

    :param mean: of the features, `(n_features,)`.
    :param scale: their standard deviation, at least `_LEAST_SCALE`, `(n_features,)`.
    :param weights: of the standardised features, `(n_features,)`.
    """

    mean: Floats = field(repr=False)
    scale: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    intercept: float

    @classmethod
    def of_weights(cls, weights: Floats | Sequence[float], intercept: float) -> Self:
        """A machine with given weights of the unscaled features."""
        n_features = len(weights)
        return cls(np.zeros(n_features), np.ones(n_features), np.array(weights), intercept)

    def margins(self, rows: Floats) -> Floats:
        """Signed distances from the boundary, `(n_rows,)`; positive is PHI."""
        # With a product of matrices, the rounding of a row would depend on the number of rows.
        margins: Floats = ((rows - self.mean) / self.scale * self.weights).sum(axis=1) + self.intercept
        return margins

    def arrays(self) -> dict[str, Floats]:
        """Everything, as arrays by name."""
        intercept = np.array([self.intercept])
        return {"mean": self.mean, "scale": self.scale, "weights": self.weights, "intercept": intercept}


@dataclass(frozen=True)
class KernelSVM:
    """The decision function of a trained RBF machine.

    :param mean: of the features, `(n_features,)`.
    :param scale: their standard deviation, `(n_features,)`; 1 for constant ones.
    :param support_vectors: standardised, `(n_support, n_features)`.
    :param dual_coefficients: of the support vectors, `(n_support,)`.
    """

    mean: Floats = field(repr=False)
    scale: Floats = field(repr=False)
    support_vectors: Floats = field(repr=False)
    dual_coefficients: Floats = field(repr=False)
    intercept: float
    gamma: float

    def margins(self, rows: Floats) -> Floats:
        """Signed distances from the boundary, `(n_rows,)`; positive is PHI."""
        standard = (rows - self.mean) / self.scale
        parts = [self._margins(standard[i : i + _ROWS_AT_ONCE]) for i in range(0, len(standard), _ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _margins(self, rows: Floats) -> Floats:
        # (n_rows, n_support): -gamma * |row - support vector|^2, as 2ab - a^2 - b^2, where 2ab is one product of
        # matrices. Rounding can make it greater than 0.
        exponents = rows @ (2.0 * self.gamma * self.support_vectors.T)
        exponents -= self.gamma * (rows**2).sum(axis=1)[:, None]
        exponents -= self.gamma * (self.support_vectors**2).sum(axis=1)
        np.minimum(exponents, 0.0, out=exponents)
        margins: Floats = np.exp(exponents, out=exponents) @ self.dual_coefficients + self.intercept
        return margins

    def arrays(self) -> dict[str, Floats]:
        """Everything, as arrays by name."""
        return {
            "mean": self.mean,
            "scale": self.scale,
            "support": self.support_vectors,
            "weights": self.dual_coefficients,
            # (2,): with floats only, the file needs no other type.
            "constants": np.array([self.intercept, self.gamma]),
        }


Svm = LinearSVM | KernelSVM


def fit_svm(rows: Floats, is_phi: NDArray[np.bool_], settings: SvmSettings) -> Svm:
    """Train on candidates `(n_candidates, n_features)` and whether each is PHI `(n_candidates,)`.

    With one class only, the machine predicts that class, and PHI without any candidates.
    """
    from sklearn.svm import SVC, LinearSVC

    n_features, is_mixed = rows.shape[1], is_phi.any() and not is_phi.all()
    always = 1.0 if is_phi.all() else -1.0
    if isinstance(settings, LinearSettings):
        if not is_mixed:
            return LinearSVM.of_weights(np.zeros(n_features), always)
        mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), _LEAST_SCALE)
        svc = LinearSVC(C=settings.c, dual=False, intercept_scaling=_INTERCEPT_SCALING, max_iter=10_000)
        svc.fit((rows - mean) / scale, is_phi)
        return LinearSVM(mean, scale, svc.coef_[0], float(svc.intercept_[0]))
    if not is_mixed:
        nothing = np.zeros((0, n_features))
        return KernelSVM(np.zeros(n_features), np.ones(n_features), nothing, np.zeros(0), always, settings.gamma)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(deviation > _ROUNDING, deviation, 1.0)
    svc = SVC(C=1.0, gamma=settings.gamma, class_weight={True: settings.c_right, False: settings.c_wrong})
    svc.fit((rows - mean) / scale, is_phi)
    return KernelSVM(mean, scale, svc.support_vectors_, svc.dual_coef_[0], float(svc.intercept_[0]), settings.gamma)


def svm_from_arrays(arrays: Mapping[str, Floats], n_features: int, settings: SvmSettings) -> Svm:
    """The machine of `arrays`; :raises BundleError: if they do not fit the kind of machine or the features."""
    shapes: dict[str, tuple[int | None, ...]] = {"mean": (n_features,), "scale": (n_features,)}
    if isinstance(settings, LinearSettings):
        check_shapes(arrays, {**shapes, "weights": (n_features,), "intercept": (1,)}, np.float64)
        return LinearSVM(arrays["mean"], arrays["scale"], arrays["weights"], float(arrays["intercept"][0]))
    check_shapes(arrays, {**shapes, "support": (None, n_features), "constants": (2,)}, np.float64)
    check_shapes(arrays, {"weights": arrays["support"].shape[:1]}, np.float64)
    return KernelSVM(
        arrays["mean"], arrays["scale"], arrays["support"], arrays["weights"], *arrays["constants"].tolist()
    )


def machines_out_of_fold(
    rows: Sequence[Floats],
    is_phi: Sequence[NDArray[np.bool_]],
    folds: Sequence[Sequence[int]],
    settings: SvmSettings,
    extremes: Floats | None = None,
) -> list[Svm]:
    """For each fold a machine trained on the other folds.

    :param extremes: the features of certain PHI and of certain non-PHI, `(2, n_features)`; added to the training data
        where all candidates of the other folds are of one class.
    """
    machines = []
    for fold in folds:
        rest = sorted({*range(len(rows))}.difference(fold))
        known, right = np.concatenate([rows[i] for i in rest]), np.concatenate([is_phi[i] for i in rest])
        if extremes is not None and (right.all() or not right.any()):
            known, right = np.concatenate([known, extremes]), np.append(right, [True, False])
        machines.append(fit_svm(known, right, settings))
    return machines


def margins_of(machines: Sequence[Svm], rows: Sequence[Floats], folds: Sequence[Sequence[int]]) -> list[Floats]:
    """The margins of each note's candidates by the machine of its fold, which never saw its patient."""
    margins: list[Floats] = [np.zeros(0)] * len(rows)
    for svm, fold in zip(machines, folds, strict=True):
        for i in fold:
            margins[i] = svm.margins(rows[i])
    return margins
