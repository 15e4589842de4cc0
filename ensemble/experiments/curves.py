"""Learning curves: the F1 of each run, their mean at every share, and how far it may be from the truth.

point = curves_of(runs)["crf"][0]
point.f1             Measure(value=0.92, low=0.905, high=0.935): the mean of the random orders and its spread
point.interval       the 95 % interval of the mean, of five orders or more
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from ensemble.evaluation import Measure, Score
from ensemble.experiments.results import CorpusFacts

__all__ = ["FEWEST_FOR_INTERVAL", "CurvePoint", "CurveRun", "curves_of", "interval_of_mean", "spread_of"]

FEWEST_FOR_INTERVAL = 5
"""Random orders: with fewer, Student's t says less of the curve than of its own degrees of freedom."""


@dataclass(frozen=True, slots=True)
class CurveRun:
    """One training.

    :param share: percent of the training patients.
    :param sample: the number of the random order, from 1.
    :param training: the notes of these patients.
    :param folds: of the stack; none without it.
    :param scores: of each system.
    """

    share: int
    sample: int
    training: CorpusFacts
    folds: int | None
    scores: Mapping[str, Score]

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON can hold it."""
        return {
            "share": self.share,
            "sample": self.sample,
            "training": self.training.to_dict(),
            "folds": self.folds,
            "systems": {name: score.to_dict() for name, score in self.scores.items()},
        }


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One system at one share.

    :param share: percent of the training patients.
    :param patients: how many these are.
    :param orders: the F1 of each random order.
    """

    share: int
    patients: int
    orders: tuple[float, ...]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean, of enough orders."""
        return interval_of_mean(self.orders)

    @property
    def f1(self) -> Measure:
        """The mean, with its interval or, of too few orders, the lowest and the highest."""
        return Measure(fmean(self.orders), *(self.interval or (min(self.orders), max(self.orders))))

    def to_dict(self) -> dict[str, Any]:
        """The point as JSON can hold it."""
        return {
            "share": self.share,
            "patients": self.patients,
            "f1": self.f1.value,
            "interval": list(self.interval) if self.interval else None,
            "orders": list(self.orders),
        }


def curves_of(runs: Sequence[CurveRun]) -> dict[str, list[CurvePoint]]:
    """For each system a point a share, shares growing."""
    by_share: defaultdict[int, list[CurveRun]] = defaultdict(list)
    for run in runs:
        by_share[run.share].append(run)
    return {
        name: [
            CurvePoint(share, of_share[0].training.patients, tuple(run.scores[name].f1.value for run in of_share))
            for share, of_share in sorted(by_share.items())
        ]
        for name in runs[0].scores
    }


def interval_of_mean(scores: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean by Student's t, within 0 and 1; none of fewer than five scores."""
    from scipy.stats import t

    if len(scores) < FEWEST_FOR_INTERVAL:
        return None
    mean, margin = fmean(scores), float(t.ppf(0.975, len(scores) - 1)) * stdev(scores) / len(scores) ** 0.5
    return max(0.0, mean - margin), min(1.0, mean + margin)


def spread_of(samples: int) -> str:
    """What stands beside each mean of so many random orders."""
    of = f"{samples} random orders of the training patients, the same patients in all orders at 100 %"
    if samples < FEWEST_FOR_INTERVAL:
        return f"lowest and highest F1 of {of}; too few orders for an interval"
    return f"95 % interval of the mean by Student's t over {of}"
