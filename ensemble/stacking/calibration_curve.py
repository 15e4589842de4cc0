"""From margins to probabilities.

    curve = calibration_curve(margins, is_phi)      fitted on margins that were predicted out of fold
    calibrated(margins, curve)                      (n_candidates,), in [0, 1]

Platt scaling (1999) takes the log-odds as a line in the margin. A little above the boundary of an SVM that line is too
sure. So the curve here is piecewise linear and never falls; a penalty keeps neighbouring slopes alike, and with few
candidates it is Platt's line. scikit-learn has Platt's line and isotonic steps, nothing between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats

Curve = tuple[float, ...]
"""One slope for all margins or one for each piece between `_BENDS`, then the log-odds at a margin of 0."""

_BENDS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""Margins at which the slope may change; an SVM puts the training candidates of its classes at -1 and 1 or beyond."""

_ALIKE, _FLAT = 1.0, 1e-3
"""Penalties of squared differences between neighbouring slopes, and of squared slopes."""


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
