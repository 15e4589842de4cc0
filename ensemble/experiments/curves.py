"""Learning curves: the F1 of each run, and at each share their mean with its interval.

    point = curves_of(runs)["crf"][0]
    point.f1             Measure(value=0.92, low=0.905, high=0.935): the mean of all runs and its spread

Runs on the same random order are correlated, so nine runs on three orders tell less than nine orders would. Their
number is divided by the design effect (Kish 1965), from the correlation within orders by analysis of variance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from phistack.ensemble.evaluation import Measure, Score
from phistack.ensemble.evaluation.measures import FloatArray
from phistack.ensemble.evaluation.tables import Cell, percent, share
from phistack.ensemble.experiments.parts import plain
from phistack.ensemble.experiments.results import CorpusFacts

FEWEST_FOR_INTERVAL = 5
"""Runs for an interval; with fewer, Student's t is too wide to be of use."""


@dataclass(frozen=True, slots=True)
class CurveRun:
    """One training.

    :param share: percent of the training patients or sentences; `size` is their number.
    :param sample: number of the random order, from 1; `number` is that of the run on it.
    :param folds: of the stack; None without a stack.
    """

    share: float
    size: int
    sample: int
    number: int
    training: CorpusFacts
    folds: int | None
    scores: Mapping[str, Score]

    def to_dict(self) -> dict[str, Any]:
        """The run for JSON."""
        run = {"share": self.share, "size": self.size, "sample": self.sample, "run": self.number}
        systems = plain(self.scores)
        return {**run, "training": self.training.to_dict(), "folds": self.folds, "systems": systems}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One system at one share.

    :param by: what `size` counts: patients or sentences.
    :param orders: F1 of each run, order by order, `n_runs` of each.
    """

    share: float
    size: int
    by: str
    orders: tuple[float, ...]
    n_runs: int = 1

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean; None if the runs are too few or all equal."""
        return interval_of_mean(self.orders, n_runs=self.n_runs) if len({*self.orders}) > 1 else None

    @property
    def f1(self) -> Measure:
        """The mean, with its interval or, with too few runs, the lowest and the highest."""
        return Measure(fmean(self.orders), *(self.interval or (min(self.orders), max(self.orders))))

    @property
    def cell(self) -> str | Cell:
        """The mean and its spread; the mean alone if all runs are equal."""
        return share(self.f1) if len({*self.orders}) > 1 else percent(self.f1.value)

    def to_dict(self) -> dict[str, Any]:
        """The point for JSON."""
        interval = list(self.interval) if self.interval else None
        point = {"share": self.share, self.by: self.size, "f1": self.f1.value}
        return {**point, "interval": interval, "orders": list(self.orders)}


def curves_of(runs: Sequence[CurveRun], *, by: str = "patients") -> dict[str, list[CurvePoint]]:
    """System -> its points, by growing share; :param by: what the sizes count."""
    parts: defaultdict[tuple[float, int], list[CurveRun]] = defaultdict(list)
    for run in runs:
        parts[run.share, run.size].append(run)
    n_runs = max(run.number for run in runs)
    return {
        name: [
            CurvePoint(share, size, by, tuple(run.scores[name].f1.value for run in of_part), n_runs)
            for (share, size), of_part in sorted(parts.items())
        ]
        for name in runs[0].scores
    }


def interval_of_mean(scores: Sequence[float], *, n_runs: int = 1) -> tuple[float, float] | None:
    """The 95 % interval of the mean by Student's t, cut to [0, 1]; None for fewer than five scores.

    :param n_runs: scores of each order, which follow each other.
    """
    from scipy.stats import t

    if len(scores) < FEWEST_FOR_INTERVAL:
        return None
    variance, n_alike = _of_mean(np.reshape(np.asarray(scores, dtype=float), (-1, n_runs)))
    mean, margin = fmean(scores), float(t.ppf(0.975, len(scores) / n_alike - 1)) * variance**0.5
    return max(0.0, mean - margin), min(1.0, mean + margin)


def _of_mean(scores: FloatArray) -> tuple[float, float]:
    """The variance of the mean of scores of shape `(n_orders, n_runs)`, and the design effect."""
    n_orders, n_runs = scores.shape
    if n_orders > 1 and n_runs > 1:
        between = n_runs * float(scores.mean(axis=1).var(ddof=1))
        within = float(scores.var(axis=1, ddof=1).mean())
        if between > within:
            alike = (between - within) / (between + (n_runs - 1) * within)
            return between / scores.size, 1 + (n_runs - 1) * alike
    return float(scores.var(ddof=1)) / scores.size, 1.0


def spread_of(samples: int, *, by: str = "patients", n_runs: int = 1) -> str:
    """What the figures beside each mean are, in words."""
    of = f"{samples} random orders of the training {by}, one at 100 %, where all orders have the same {by}"
    if n_runs > 1:
        of = f"{n_runs} runs on each of {of}"
    if samples * n_runs < FEWEST_FOR_INTERVAL:
        return f"lowest and highest F1 of {of}; too few {'runs' if n_runs > 1 else 'orders'} for an interval"
    if samples == 1:
        return f"95 % interval of the mean by Student's t over {of}, which shows the random start of training alone"
    alike = "; the more alike runs on one order are, the less they count" if n_runs > 1 else ""
    return f"95 % interval of the mean by Student's t over {of}{alike}"
