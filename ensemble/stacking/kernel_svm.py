"""A support vector machine as plain arrays: what is left of scikit-learn's SVC once it is trained.

    svm = KernelSVM.fit(rows, is_phi, KernelSettings(gamma=0.01))
    svm.margins(rows)      (n_rows,) signed distances from the boundary
    svm.arrays()           what a bundle stores; no pickle

The radial basis function kernel on standardised features, as in LIBSVM (Chang and Lin 2011), which scikit-learn trains.
Its own models are kept by pickle, which runs whatever stands in a file, and its import takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, check_shapes

_ROWS_AT_ONCE = 512
_ROUNDING = 1e-9
"""A deviation no larger than this is that of equal numbers, such as 0.1, of which the mean is another."""


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """What an RBF SVM is trained with.

    :param gamma: width of the kernel, on standardised features.
    :param c_right: class weight of candidates that are PHI: the penalty C for an error on one.
    :param c_wrong: class weight of the others.
    """

    gamma: float
    c_right: float
    c_wrong: float

    def __str__(self) -> str:
        return f"gamma {self.gamma}, C {self.c_right}/{self.c_wrong}"


@dataclass(frozen=True)
class KernelSVM:
    """The decision function of a trained SVM.

    :param mean: of the features, `(n_features,)`.
    :param scale: their standard deviation, `(n_features,)`; 1 for constant ones.
    :param support_vectors: standardised, `(n_support, n_features)`.
    :param dual_coefficients: of the support vectors, `(n_support,)`.
    :param intercept: added to every decision.
    :param gamma: width of the kernel.
    """

    mean: Floats = field(repr=False)
    scale: Floats = field(repr=False)
    support_vectors: Floats = field(repr=False)
    dual_coefficients: Floats = field(repr=False)
    intercept: float
    gamma: float

    @classmethod
    def fit(cls, rows: Floats, is_phi: NDArray[np.bool_], settings: KernelSettings) -> KernelSVM:
        """Train on candidates `(n_candidates, n_features)` and whether each is PHI `(n_candidates,)`.

        Where there are none, because only one fold has any, each is taken for PHI.
        """
        from sklearn.svm import SVC

        if not len(rows):
            return cls.fit(np.zeros((1, rows.shape[1])), np.array([True]), settings)
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        scale = np.where(deviation > _ROUNDING, deviation, 1.0)
        if is_phi.all() or not is_phi.any():
            nothing = np.zeros((0, rows.shape[1]))
            return cls(mean, scale, nothing, np.zeros(0), 1.0 if is_phi.all() else -1.0, settings.gamma)
        svc = SVC(C=1.0, gamma=settings.gamma, class_weight={True: settings.c_right, False: settings.c_wrong})
        svc.fit((rows - mean) / scale, is_phi)
        return cls(mean, scale, svc.support_vectors_, svc.dual_coef_[0], float(svc.intercept_[0]), settings.gamma)

    def margins(self, rows: Floats) -> Floats:
        """Signed distances from the boundary, `(n_rows,)`; positive is PHI."""
        standard = (rows - self.mean) / self.scale
        parts = [self._margins(standard[i : i + _ROWS_AT_ONCE]) for i in range(0, len(standard), _ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _margins(self, rows: Floats) -> Floats:
        # (n_rows, n_support): -gamma * |row - support vector|^2, as 2ab - a^2 - b^2, of which the first is one product
        # of matrices. Rounding can make it greater than 0, which a distance is not.
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
            # (2,): all arrays are floats, so that the file needs no other type.
            "constants": np.array([self.intercept, self.gamma]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Floats], n_features: int) -> KernelSVM:
        """The machine that `arrays` came from; :raises BundleError: if they fit neither each other nor the features."""
        shapes = {"mean": (n_features,), "scale": (n_features,), "support": (None, n_features), "constants": (2,)}
        check_shapes(arrays, shapes, np.float64)
        check_shapes(arrays, {"weights": arrays["support"].shape[:1]}, np.float64)
        intercept, gamma = arrays["constants"].tolist()
        return cls(arrays["mean"], arrays["scale"], arrays["support"], arrays["weights"], intercept, gamma)
