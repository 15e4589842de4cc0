"""Our bounds beside those of MAPIE, which others wrote from the same papers."""

import numpy as np
import pytest

from phistack.ensemble.evaluation.bounds import (
    _ORDER,
    betting_upper,
    certified,
    refuted,
)

methods = pytest.importorskip("mapie.risk_control.methods", reason="the oracle of the bounds is not installed: mapie")
GRID = np.linspace(0.0, 1.0, 401)
SHARES = {
    "none": [0.0] * 80,
    "some": [0.0] * 60 + [0.1] * 20 + [0.4] * 5,
    "many": np.random.default_rng(0).beta(1, 4, 90).tolist(),
}


def upper(shares: list[float], bound: str) -> float:
    """MAPIE's bound; the betting bound is on a grid, with the units in the order in which ours reads them."""
    ordered = np.random.default_rng(_ORDER).permutation(np.asarray(shares))
    risks = np.repeat(ordered[:, None], len(GRID), axis=1)
    return float(methods.get_r_hat_plus(risks, GRID, "rcps", bound, 0.05, 0.25)[1][0])


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
def test_the_betting_bound_is_about_the_same(shares: list[float]) -> None:
    # MAPIE adds the greatest wealth in each half of the units, ours is the greatest in all.
    assert betting_upper(shares) == pytest.approx(upper(shares, "wsr"), abs=0.01)


def test_fixed_sequence_testing_allows_the_same_points() -> None:
    control = pytest.importorskip("mapie.risk_control.fwer_control").control_fwer
    rng = np.random.default_rng(5)
    for _ in range(20):
        points = [(rng.random(200) < risk).astype(float).tolist() for risk in (0.0, 0.02, 0.05, 0.09, 0.2)]
        p_values = np.array([0.01 if refuted(shares, 0.1) else 0.5 for shares in points])
        assert certified(points, 0.1) == len(control(p_values, 0.05, "fixed_sequence"))
