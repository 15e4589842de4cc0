"""Arithmetic, intervals and significance tests, against hand calculation and plain loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from phistack.ensemble.evaluation import Measure, holm, paired_randomisation
from phistack.ensemble.evaluation.measures import (
    count,
    f1_of_counts,
    f_score,
    macro,
    precision,
    ratio,
    recall,
    total,
)
from phistack.ensemble.evaluation.resampling import Bootstrap, Resampling, Units, wilson

TABLES = st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=8).map(np.array)


def test_counting_sets() -> None:
    assert count({"a", "b"}, {"b", "c", "d"}) == (1, 2, 1)
    assert total(np.array([[1, 2, 3], [4, 5, 6]])) == (5, 7, 9)


def test_a_ratio_with_denominator_zero_is_zero() -> None:
    assert ratio([1, 0, 3], [0, 0, 4]).tolist() == [0, 0, 0.75]
    assert precision(0, 0) == recall(0, 0) == f_score(0, 0) == f1_of_counts([0, 0, 0]) == 0


def test_f_scores_by_hand() -> None:
    assert f_score(0.5, 1.0) == pytest.approx(2 / 3)
    assert f_score(0.5, 1.0, beta=2) == pytest.approx(5 * 0.5 / (4 * 0.5 + 1))


@given(TABLES)
def test_f1_is_the_same_by_either_way_and_symmetric(counts: NDArray[np.int64]) -> None:
    tp, fp, fn = counts.T
    assert f1_of_counts(counts) == pytest.approx(f_score(precision(tp, fp), recall(tp, fn)))
    assert f1_of_counts(counts) == pytest.approx(f1_of_counts(counts[:, [0, 2, 1]]))


def test_macro_averages_over_documents() -> None:
    result = macro(np.array([[1, 1, 0], [0, 0, 2]]))
    assert result.precision == (0.25, 0.25)
    assert result.recall == (0.5, 0.5)
    assert result.f1 == pytest.approx((1 / 3, 1 / 3))
    assert result.f1_of_means == pytest.approx(2 * 0.25 * 0.5 / 0.75)


def test_wilson_against_published_values() -> None:
    # Newcombe 1998, Statistics in Medicine 17:857, table I.
    assert wilson(81, 263) == pytest.approx((81 / 263, 0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((15 / 148, 0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((1 / 29, 0.0061, 0.1718), abs=5e-5)
    assert wilson(0, 0) == (0, 0, 1)


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_holds_the_share_and_mirrors(hits: int, more: int) -> None:
    value, low, high = wilson(hits, hits + more)
    assert 0 <= low <= value <= high <= 1
    assert wilson(more, hits + more) == pytest.approx((1 - value, 1 - high, 1 - low))


def f1_of(counts: np.ndarray, *, draws: int, seed: int) -> list[Measure]:
    """F1 of each row with its interval; counts of one row may lack the axis of rows."""
    rows = counts[:, None] if counts.ndim == 2 else counts
    return bootstrap_of(rows, draws=draws, seed=seed).measures("f1")


def bootstrap_of(rows: np.ndarray, *, draws: int, seed: int) -> Bootstrap:
    """The bootstrap over notes, each of its own patient."""
    return Bootstrap(rows, Units.of([str(n) for n in range(len(rows))], Resampling(draws=draws, seed=seed)))


def some_counts(documents: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, (20, 3, 4), size=(documents, 3))


def test_the_bootstrap_holds_the_point_narrows_and_repeats() -> None:
    small, large = some_counts(30, 1), some_counts(3000, 1)
    (narrow,), (wide,) = (f1_of(c, draws=400, seed=3) for c in (large, small))
    assert wide.low < f1_of_counts(total(small)) < wide.high
    assert narrow.low < f1_of_counts(total(large)) < narrow.high
    assert narrow.high - narrow.low < wide.high - wide.low
    assert f1_of(small, draws=400, seed=3) == [wide]
    assert f1_of(small, draws=400, seed=4) != [wide]


def test_rows_of_the_bootstrap_see_the_same_draws() -> None:
    counts = some_counts(25, 7)
    bootstrap = bootstrap_of(np.stack([counts, counts, some_counts(25, 8)], axis=1), draws=250, seed=0)
    one, two, other = bootstrap.measures("f1")
    assert one == two != other
    assert bootstrap.gap("f1", 0, 1) == (0, 0, 0)
    assert bootstrap.gap("f1", 0, 2).value == one.value - other.value
    assert f1_of(np.zeros((4, 1, 3), dtype=np.int64), draws=10, seed=0) == [(0.0, 0.0, 0.0)]


def test_a_large_difference_is_significant_and_repeats() -> None:
    good, bad = np.tile([9, 0, 1], (40, 1)), np.tile([5, 5, 5], (40, 1))
    assert paired_randomisation(good, bad, shuffles=999, seed=1) == 1 / 1000
    assert paired_randomisation(bad, good, shuffles=999, seed=1) == 1 / 1000
    a, b = some_counts(30, 8), some_counts(30, 9)
    assert paired_randomisation(a, b, seed=5) == paired_randomisation(a, b, seed=5)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.6, 0.7]) == (1.0, 1.0)
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_never_lowers_a_p_value_nor_changes_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    for (p, q), (r, s) in itertools.combinations(zip(p_values, adjusted, strict=True), 2):
        assert q == s or (p < r) == (q < s)
