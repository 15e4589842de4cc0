"""Bounds of a risk: their values if a formula gives them, and that they hold as often as they claim."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from benchmarks.certificates import bernstein_upper, hoeffding_bentkus_upper
from phistack.ensemble.evaluation.bounds import (
    betting_upper,
    binomial_upper,
    certified,
    refuted,
    units_for_mean,
)

OF_MEANS = (betting_upper, bernstein_upper, hoeffding_bentkus_upper)


@pytest.mark.parametrize(("units", "bound"), [(250, 0.0119), (598, 0.005), (59, 0.0495)])
def test_without_a_leak_the_bound_is_that_of_the_number_of_units(units: int, bound: float) -> None:
    assert binomial_upper(0, units) == pytest.approx(bound, abs=5e-5)
    assert binomial_upper(0, units) == pytest.approx(1 - 0.05 ** (1 / units))


@pytest.mark.parametrize("bound", [0.3, 0.05, 0.005])
def test_a_bound_of_a_mean_takes_some_more_units_than_one_of_a_share(bound: float) -> None:
    units = units_for_mean(bound)
    assert betting_upper([0.0] * units) <= bound < betting_upper([0.0] * (units - 1))
    without_a_leak = math.ceil(math.log(0.05) / math.log1p(-bound))
    assert without_a_leak <= units < without_a_leak + 40


@given(st.integers(0, 20), st.integers(1, 400))
def test_the_binomial_bound_is_the_share_at_which_so_few_are_just_improbable(found: int, units: int) -> None:
    bound = binomial_upper(found, units)
    assert bound == 1 if found >= units else math.isclose(binom.cdf(found, units, bound), 0.05, rel_tol=1e-6)


SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=60)


@given(SHARES, st.sampled_from(OF_MEANS))
def test_more_confidence_never_gives_a_lower_bound_and_all_bounds_are_shares(
    shares: list[float], upper: Callable[..., float]
) -> None:
    bounds = [upper(shares, confidence) for confidence in (0.5, 0.9, 0.95, 0.999)]
    assert bounds == sorted(bounds) and bounds[0] >= 0 and bounds[-1] <= 1


@given(SHARES, st.floats(0.01, 0.99))
def test_the_betting_bound_is_the_lowest_mean_that_is_refuted(shares: list[float], mean: float) -> None:
    bound = betting_upper(shares)
    assert refuted(shares, mean) == (mean >= bound) or math.isclose(mean, bound, abs_tol=1e-8)


@given(st.integers(0, 60), st.integers(1, 200))
def test_a_leak_more_raises_the_binomial_bound_and_a_unit_more_without_one_lowers_it(found: int, more: int) -> None:
    units = found + more
    assert binomial_upper(found, units) < binomial_upper(found + 1, units)
    assert binomial_upper(found, units + 1) < binomial_upper(found, units)


def drawn(rng: np.random.Generator, units: int) -> tuple[np.ndarray, float]:
    """Shares from a mixture like that of leaks, most of them zero, and their true mean."""
    leaks = rng.random(units) < 0.06
    return np.where(leaks, rng.beta(1, 3, units), 0.0), 0.06 * 0.25


@pytest.mark.parametrize("upper", OF_MEANS)
@pytest.mark.parametrize("units", [60, 400])
def test_the_true_mean_is_above_the_bound_in_at_most_one_of_twenty_draws(
    upper: Callable[..., float], units: int
) -> None:
    rng = np.random.default_rng(1)
    draws = 200
    above = sum(mean > upper(shares) for shares, mean in (drawn(rng, units) for _ in range(draws)))
    # At a rate of exactly 5 %, more than this happens once in a thousand times.
    assert above <= binom.ppf(0.999, draws, 0.05)


def test_the_betting_bound_is_the_lowest_on_average_and_near_the_binomial_one_without_leaks() -> None:
    rng = np.random.default_rng(2)
    shares = [drawn(rng, 400)[0] for _ in range(20)]
    means = [np.mean([upper(one) for one in shares]) for upper in OF_MEANS]
    assert means[0] == min(means)
    assert betting_upper([0.0] * 400) < 1.5 * binomial_upper(0, 400)


@pytest.mark.parametrize("upper", OF_MEANS)
def test_a_bound_is_never_below_the_mean_and_nothing_is_known_of_one_unit(upper: Callable[..., float]) -> None:
    assert upper([1.0] * 50) == pytest.approx(1.0)
    assert upper([0.0]) > 0.9
    assert upper([0.5, 0.4, 0.6] * 30) > 0.5


def test_operating_points_are_tested_from_the_safest_until_one_fails() -> None:
    safe, unsafe = [0.0] * 500, [0.0] * 400 + [1.0] * 100
    assert certified([safe, safe, unsafe, safe], 0.02) == 2
    assert certified([unsafe, safe], 0.02) == 0
    assert certified([safe], 0.001) == 0
    asked = iter([safe, unsafe, safe])
    assert certified(asked, 0.02) == 1 and list(asked) == [safe]


def test_a_choice_among_operating_points_fails_in_at_most_one_of_twenty_draws() -> None:
    rng = np.random.default_rng(3)
    draws, wrong = 200, 0
    for _ in range(draws):
        units = rng.random(300)
        points = [(units < risk).astype(float) for risk in (0.005, 0.02, 0.05, 0.06)]
        wrong += certified(points, 0.0499) > 2
    assert wrong <= binom.ppf(0.999, draws, 0.05)
