"""Learning curves: the F1 of each run, their mean at every share, and how far it may be from the truth.

    point = curves_of(runs)["crf"][0]
    point.f1             Measure(value=0.92, low=0.905, high=0.935): the mean of all runs and its spread

Runs on the same random order are alike, so nine runs on three orders say less than nine orders would: their number is
divided by the design effect (Kish 1965) that follows from their correlation within orders, by analysis of variance.
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
"""Runs on random orders: with fewer, Student's t says less of the curve than of its own degrees of freedom."""


@dataclass(frozen=True, slots=True)
class CurveRun:
    """One training.

    :param share: percent of the training patients or sentences; `size` is how many these are.
    :param sample: the number of the random order, from 1; `number` that of the run on this sample.
    :param folds: of the stack; none without it.
    """

    share: float
    size: int
    sample: int
    number: int
    training: CorpusFacts
    folds: int | None
    scores: Mapping[str, Score]

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON can hold it."""
        run = {"share": self.share, "size": self.size, "sample": self.sample, "run": self.number}
        systems = plain(self.scores)
        return {**run, "training": self.training.to_dict(), "folds": self.folds, "systems": systems}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One system at one share: the F1 of each run, order by order, `n_runs` of each; :param by: what is counted."""

    share: float
    size: int
    by: str
    orders: tuple[float, ...]
    n_runs: int = 1

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean, of enough runs that differ."""
        return interval_of_mean(self.orders, n_runs=self.n_runs) if len({*self.orders}) > 1 else None

    @property
    def f1(self) -> Measure:
        """The mean, with its interval or, of too few runs, the lowest and the highest."""
        return Measure(fmean(self.orders), *(self.interval or (min(self.orders), max(self.orders))))

    @property
    def cell(self) -> str | Cell:
        """The mean and its spread; the mean alone where there is one value."""
        return share(self.f1) if len({*self.orders}) > 1 else percent(self.f1.value)

    def to_dict(self) -> dict[str, Any]:
        """The point as JSON can hold it."""
        interval = list(self.interval) if self.interval else None
        point = {"share": self.share, self.by: self.size, "f1": self.f1.value}
        return {**point, "interval": interval, "orders": list(self.orders)}


def curves_of(runs: Sequence[CurveRun], *, by: str = "patients") -> dict[str, list[CurvePoint]]:
    """For each system a point a share, shares growing; :param by: what the sizes of the runs count."""
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
    """The 95 % interval of the mean by Student's t, within 0 and 1, of five scores or more; `n_runs` of each order."""
    from scipy.stats import t

    if len(scores) < FEWEST_FOR_INTERVAL:
        return None
    variance, n_alike = _of_mean(np.reshape(np.asarray(scores, dtype=float), (-1, n_runs)))
    mean, margin = fmean(scores), float(t.ppf(0.975, len(scores) / n_alike - 1)) * variance**0.5
    return max(0.0, mean - margin), min(1.0, mean + margin)


def _of_mean(scores: FloatArray) -> tuple[float, float]:
    """The variance of the mean of scores of shape `(n_orders, n_runs)`, and how many of them count as one."""
    n_orders, n_runs = scores.shape
    if n_orders > 1 and n_runs > 1:
        between = n_runs * float(scores.mean(axis=1).var(ddof=1))
        within = float(scores.var(axis=1, ddof=1).mean())
        if between > within:
            alike = (between - within) / (between + (n_runs - 1) * within)
            return between / scores.size, 1 + (n_runs - 1) * alike
    return float(scores.var(ddof=1)) / scores.size, 1.0


def spread_of(samples: int, *, by: str = "patients", n_runs: int = 1) -> str:
    """What is given beside each mean of so many random orders, and so many runs on each."""
    of = f"{samples} random orders of the training {by}, one at 100 %, where all orders have the same {by}"
    if n_runs > 1:
        of = f"{n_runs} runs on each of {of}"
    if samples * n_runs < FEWEST_FOR_INTERVAL:
        return f"lowest and highest F1 of {of}; too few {'runs' if n_runs > 1 else 'orders'} for an interval"
    if samples == 1:
        return f"95 % interval of the mean by Student's t over {of}, which shows the random start of training alone"
    alike = "; the more alike runs on one order are, the less they count" if n_runs > 1 else ""
    return f"95 % interval of the mean by Student's t over {of}{alike}"
