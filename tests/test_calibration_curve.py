"""Margins become probabilities that come true."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.stacking.thresholds import calibrated, calibration_curve, platt_scaling

_MARGINS = st.lists(st.tuples(st.floats(-4, 4), st.booleans()), min_size=1, max_size=40)


def _log_loss(probabilities: np.ndarray, is_phi: np.ndarray) -> float:
    return -float(np.log(np.where(is_phi, probabilities, 1 - probabilities)).mean())


@given(_MARGINS)
def test_a_surer_machine_is_never_less_probable(given_margins: list[tuple[float, bool]]) -> None:
    margins = np.array([margin for margin, _ in given_margins])
    is_phi = np.array([right for _, right in given_margins])
    for fit in (calibration_curve, platt_scaling):
        probabilities = calibrated(np.sort(margins), fit(margins, is_phi))
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        if fit is calibration_curve:
            assert (np.diff(probabilities) >= 0).all()


def test_a_curve_of_one_slope_is_that_of_many_equal_ones() -> None:
    margins = np.linspace(-3, 3, 50)
    assert calibrated(margins, (2.0, 0.3)) == pytest.approx(calibrated(margins, (*[2.0] * 6, 0.3)))


def test_log_odds_that_bend_are_told_better_than_by_a_line() -> None:
    """As in a stack: what lies a little above the boundary is hardly surer than what lies on it."""
    rng = np.random.default_rng(0)
    margins = rng.uniform(-2, 2, 4000)
    truth = calibrated(margins, (4.0, 4.0, 4.0, 0.2, 0.2, 6.0, 0.0))
    is_phi = rng.random(4000) < truth
    curve, line = calibration_curve(margins, is_phi), platt_scaling(margins, is_phi)
    near = (margins > 0.2) & (margins < 0.9)
    assert abs(calibrated(margins, curve) - truth)[near].mean() < 0.03
    assert abs(calibrated(margins, line) - truth)[near].mean() > 0.08
    assert _log_loss(calibrated(margins, curve), is_phi) < _log_loss(calibrated(margins, line), is_phi) - 0.01


def test_few_candidates_bend_nothing() -> None:
    rng = np.random.default_rng(1)
    margins = rng.uniform(-2, 2, 30)
    *slopes, _ = calibration_curve(margins, rng.random(30) < calibrated(margins, (2.0, 0.0)))
    assert max(slopes) < 3 * min(slopes)


@pytest.mark.parametrize("answer", [True, False])
def test_with_one_kind_of_candidate_there_is_nothing_to_fit(answer: bool) -> None:
    assert calibration_curve(np.zeros(3), np.full(3, answer)) == (1.0, 0.0)
