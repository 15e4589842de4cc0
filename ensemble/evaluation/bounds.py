"""Upper bounds, at a stated confidence, of a risk that was measured on independent units such as patients.

    binomial_upper(0, 250)              0.0119: at most 1.19 % of patients, if of 250 none has a leak
    units_for_mean(0.005)               units without a leak, for a bound of 0.5 % on a mean of shares
    betting_upper([0.0, 0.1, ...])      of the mean of shares
    certified([[...], [...]], 0.01)     how many operating points, from the safest on, have a mean of at most 0.01

Each bound holds for units drawn at random, whatever the distribution: with probability 95 % or more the true risk of
the population is not above it. Yes-or-no risks have the exact binomial bound. Means of shares in [0, 1] have the
betting bound, which adapts to the variance; `benchmarks/certificates.py` compares it with others.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

import numpy as np
from scipy.stats import beta

from phistack.features.arrays import Floats

CONFIDENCE = 0.95
_ORDER = 0
"""Seed of the order in which the betting bound reads the units; fixed before any is seen."""
_STEPS = 30
_MOST_UNITS = 1_000_000


def binomial_upper(found: int, units: int, confidence: float = CONFIDENCE) -> float:
    """The exact bound of a share (Clopper and Pearson 1934), one-sided.

    :param found: how many of the units have it.
    """
    return 1.0 if found >= units else float(beta.ppf(confidence, found + 1, units - found))


def units_for_mean(bound: float, confidence: float = CONFIDENCE) -> int:
    """The number of units, all with a share of 0, that gives a betting bound of a mean."""
    return bisect_left(range(_MOST_UNITS), True, key=lambda n: n > 0 and refuted([0.0] * n, bound, confidence))


def refuted(shares: Sequence[float], mean: float, confidence: float = CONFIDENCE) -> bool:
    """Whether betting against it refutes a true mean of `mean` or more."""
    return _betting_p(shares, mean) <= 1 - confidence


def betting_upper(shares: Sequence[float], confidence: float = CONFIDENCE) -> float:
    """The bound of a mean by betting against each higher mean (Waudby-Smith and Ramdas 2024).

    It is the lowest mean at which any wealth reaches `1 / (1 - confidence)`, as in Bates 2021, proposition 5.

    :param shares: of each unit, in [0, 1].
    """
    return lowest_refuted(lambda mean: _betting_p(shares, mean), confidence)


def certified(points: Iterable[Sequence[float]], bound: float, confidence: float = CONFIDENCE) -> int:
    """How many operating points have a mean of at most `bound`: learn then test (Angelopoulos 2021).

    They are tested in order, each at the full confidence, until one fails (fixed-sequence testing). So all that pass
    hold together, and any of them may be chosen.

    :param points: the shares of the units at each point, from the safest to the least safe; read only up to the first
        that fails.
    """
    return sum(1 for _ in takewhile(lambda shares: refuted(shares, bound, confidence), points))


def _betting_p(shares: Sequence[float], mean: float) -> float:
    """A p-value of a true mean of `mean` or more."""
    # (n_units,): each bet may look at earlier units only.
    x = np.random.default_rng(_ORDER).permutation(np.asarray(shares, dtype=float))
    count = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (count + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (count + 1)
    # Any bets keep the p-value valid; these are the best ones at the usual confidence.
    before = np.concatenate(([0.25], variances[:-1]))
    bets = np.minimum(1.0, np.sqrt(2 * math.log(1 / (1 - CONFIDENCE)) / (len(x) * before)))
    wealth: Floats = np.cumsum(np.log1p(-bets * (x - mean)))
    return min(1.0, math.exp(-max(float(wealth.max(initial=0.0)), 0.0)))


def lowest_refuted(p_value: Callable[[float], float], confidence: float) -> float:
    """The lowest mean in [0, 1] that is refuted, for a p-value that falls as the mean grows."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if p_value(middle) <= 1 - confidence else (middle, high)
    return high
