"""A linear support vector machine as arrays.

    machine = LinearSVM.fit(rows, is_phi, c=0.1)
    machine.margins(other_rows)                     (n_rows,); positive is PHI

scikit-learn's `LinearSVC` trains it (Fan 2008: squared hinge loss, L2 penalty). Judging a candidate takes one product
of two vectors, however many candidates it was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, check_shapes

_LEAST_SCALE = 2.0
"""By less no feature is divided, so that what is rare, such as a label with few mentions, weighs little unless it is
often right; about the deviation of log-odds."""

_INTERCEPT_SCALING = 10.0
"""So large that the penalty, which LIBLINEAR puts on the intercept too, hardly touches it."""


@dataclass(frozen=True)
class LinearSVM:
    """The decision function of a trained machine.

    :param mean: of the features, `(n_features,)`.
    :param scale: their standard deviation, but no less than a certain one, `(n_features,)`.
    :param weights: of the standardised features, `(n_features,)`.
    :param intercept: added to every decision.
    """

    mean: Floats = field(repr=False)
    scale: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    intercept: float

    @classmethod
    def fit(cls, rows: Floats, is_phi: NDArray[np.bool_], *, c: float) -> Self:
        """Train on candidates `(n_candidates, n_features)` and whether each is PHI `(n_candidates,)`.

        Where nothing is to be told apart, it says the same of all: PHI where there are no candidates, as then only one
        fold has any.

        :param c: the penalty of an error.
        """
        from sklearn.svm import LinearSVC

        n_features = rows.shape[1]
        if is_phi.all() or not is_phi.any():
            nothing = np.zeros(n_features)
            return cls(nothing, np.ones(n_features), nothing, -1.0 if len(is_phi) and not is_phi.any() else 1.0)
        mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), _LEAST_SCALE)
        svc = LinearSVC(C=c, dual=False, intercept_scaling=_INTERCEPT_SCALING, max_iter=10_000)
        svc.fit((rows - mean) / scale, is_phi)
        return cls(mean, scale, svc.coef_[0], float(svc.intercept_[0]))

    @classmethod
    def of_weights(cls, weights: Sequence[float], intercept: float) -> Self:
        """One that is not trained; a weight for each feature as it is."""
        n_features = len(weights)
        return cls(np.zeros(n_features), np.ones(n_features), np.array(weights), intercept)

    def margins(self, rows: Floats) -> Floats:
        """Signed distances from the boundary, `(n_rows,)`; positive is PHI."""
        # A product of matrices would round each row according to how many there are.
        margins: Floats = ((rows - self.mean) / self.scale * self.weights).sum(axis=1) + self.intercept
        return margins

    def arrays(self) -> dict[str, Floats]:
        """Everything, as arrays by name."""
        return {
            "mean": self.mean,
            "scale": self.scale,
            "weights": self.weights,
            "intercept": np.array([self.intercept]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Floats], n_features: int) -> Self:
        """The machine that `arrays` came from; :raises BundleError: if they fit neither each other nor the features."""
        shapes = {**dict.fromkeys(("mean", "scale", "weights"), (n_features,)), "intercept": (1,)}
        check_shapes(arrays, shapes, np.float64)
        return cls(arrays["mean"], arrays["scale"], arrays["weights"], float(arrays["intercept"][0]))
