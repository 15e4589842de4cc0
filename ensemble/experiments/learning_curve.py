"""F1 by the number of training patients or sentences: would more annotated notes help?

    out/curve.png, ...  the curves, each order as a dot, and the 95 % interval if there are enough orders
    out/table.tex       for LaTeX with booktabs

Each sample is one random order of the training patients or sentences; a share takes the first of them. An engine is
trained on each share of each sample once, or several times from different random starts. At 100 % all orders are the
same, so only the first is used. All runs are scored on the same notes, of patients that no run is trained on. With
`by="sentences"`, 3 samples and 3 runs of each, this is figure 2 of Trienes 2020.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from phistack.ensemble.evaluation import Measure, Resampling, Score, criterion_named
from phistack.ensemble.evaluation.measures import FloatArray
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, percent, share
from phistack.ensemble.experiments.parts import CorpusFacts, Origin, answers_of, fitting, plain, system_cell, systems_of
from phistack.ensemble.experiments.pictures import curve_picture
from phistack.ensemble.experiments.samples import PATIENTS, samples_of
from phistack.ensemble.stacking.folds import held_out_patients
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus

FEWEST_FOR_INTERVAL = 5
"""Runs for an interval; with fewer, Student's t is too wide to be useful."""


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
        interval = list(self.interval) if self.interval else None
        point = {"share": self.share, self.by: self.size, "f1": self.f1.value}
        return {**point, "interval": interval, "orders": list(self.orders)}


def interval_of_mean(scores: Sequence[float], *, n_runs: int = 1) -> tuple[float, float] | None:
    """The 95 % interval of the mean by Student's t, cut to [0, 1]; None for fewer than five scores.

    :param n_runs: the number of scores of each order; they are adjacent.
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
    """What the figures beside each mean stand for, in words."""
    of = f"{samples} random orders of the training {by}, one at 100 %, where all orders have the same {by}"
    if n_runs > 1:
        of = f"{n_runs} runs on each of {of}"
    if samples * n_runs < FEWEST_FOR_INTERVAL:
        return f"lowest and highest F1 of {of}; too few {'runs' if n_runs > 1 else 'orders'} for an interval"
    if samples == 1:
        return f"95 % interval of the mean by Student's t over {of}, which shows the random start of training alone"
    alike = "; the more alike runs on one order are, the less they count" if n_runs > 1 else ""
    return f"95 % interval of the mean by Student's t over {of}{alike}"


SCHEMA = "phistack.curve.v2"
SHARES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Percent of the training patients or sentences."""

_LOG = logging.getLogger("phistack")
_PROTOCOL = (
    "Trained on growing shares of the training {by}, {samples} random orders of them{times}, and scored on {where}. "
    "Spread: {spread}. It covers the choice among these training {by} and the random start of training, but not "
    "the choice of test notes, which the bootstrap interval of each run covers."
)


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Every run; :param samples: how many random orders of the patients or sentences, with `n_runs` on each."""

    origin: Origin
    training: CorpusFacts
    test: CorpusFacts
    samples: int
    runs: tuple[CurveRun, ...]
    by: str = PATIENTS
    n_runs: int = 1

    @property
    def curves(self) -> dict[str, list[CurvePoint]]:
        """System -> its points, by growing share."""
        parts: defaultdict[tuple[float, int], list[CurveRun]] = defaultdict(list)
        for run in self.runs:
            parts[run.share, run.size].append(run)
        return {
            name: [
                CurvePoint(share, size, self.by, tuple(run.scores[name].f1.value for run in of_part), self.n_runs)
                for (share, size), of_part in sorted(parts.items())
            ]
            for name in self.runs[0].scores
        }

    @property
    def spread(self) -> str:
        """What the figures in brackets are."""
        return spread_of(self.samples, by=self.by, n_runs=self.n_runs)

    def table(self) -> Table:
        """Mean F1 and spread of every system, one row per share."""
        curves = self.curves
        rows: list[TableRow] = [
            (f"{points[0].share:g} %", str(points[0].size), *(point.cell for point in points))
            for points in zip(*curves.values(), strict=True)
        ]
        columns = ("share", self.by, *(system_cell(name) for name in curves))
        caption = (
            f"F1 in percent by the share of the {self.by} of {self.training.patients} training patients, on "
            f"{self.test.documents} other notes; criterion: {self.origin.counted}. Means over {self.samples} random "
            f"orders, in brackets: {self.spread}."
        )
        title = f"learning curve, F1, {self.origin.counted}"
        return Table(columns, [rows], title, f"In brackets: {self.spread}.", 0, caption)

    def tables(self) -> dict[str, Table]:
        return {"table": self.table()}

    def draw(self, folder: Path, *, name: str = "curve") -> None:
        title, comment = f"Learning curve, {self.origin.counted}", self.origin.comment
        curve_picture(folder, self.curves, title=title, spread=self.spread, name=name, comment=comment)

    def to_dict(self) -> dict[str, Any]:
        drawn = {"by": self.by, "samples": self.samples, "runs of each sample": self.n_runs, "spread": self.spread}
        corpora = {"training": self.training, "test": self.test}
        return {**self.origin.to_dict(), **drawn, **plain({**corpora, "curves": self.curves, "runs": self.runs})}


def learning_curve(
    corpus: Corpus,
    settings: EngineSettings,
    *,
    test: Corpus | None = None,
    by: str = PATIENTS,
    shares: Sequence[int] = SHARES,
    sizes: Sequence[int] = (),
    samples: int = FEWEST_FOR_INTERVAL,
    runs: int = 1,
    stack: bool = True,
    criterion: str = "strict",
    jobs: int = 1,
    cache: Path | None = None,
) -> LearningCurve:
    """Train on growing shares of the patients or sentences and score each run.

    :param test: the notes to score on; by default a fifth of the patients is held out.
    :param by: `patients` or `sentences`: what the training set grows by.
    :param shares: percent of the training patients or sentences; `sizes`, if given, are their numbers instead.
    :param samples: number of random orders; with fewer than five runs in all there is no interval.
    :param runs: trainings on each share of each sample, each from a different random start.
    :raises SettingsError: if shares, sizes or samples are invalid, or there are too few patients.
    :raises TrainingError: if no note of a sample has PHI.
    """
    rule = criterion_named(criterion)
    corpus = settings.grouped(corpus)
    if samples * runs < FEWEST_FOR_INTERVAL:
        few = (
            "%d trainings for each point are too few for a 95 %% interval, so each is shown instead; "
            "phistack curve --samples %d or more gives one"
        )
        _LOG.warning(few, samples * runs, FEWEST_FOR_INTERVAL)
    training, gold = held_out_patients(corpus, seed=settings.seed) if test is None else (corpus, test)
    drawn = samples_of(
        training, shares=shares, sizes=sizes, samples=samples, seed=settings.seed, by=by, features=settings.features
    )
    # At 100 % all orders have the same notes, so one of them is enough.
    to_run = [(s, number) for s in drawn if s.share < 100 or s.number == 1 for number in range(1, runs + 1)]
    done, labels = [], training.label_set
    with stage("learning curve", total=sum(sample.share for sample, _ in to_run)):
        for place, (sample, number) in enumerate(to_run, 1):
            name = f"round {place} of {len(to_run)}, {sample.share:g}% of the {by}"
            own = replace(settings, seed=settings.seed + (sample.number - 1) * runs + number - 1)
            with stage(name, weight=sample.share, total=1.0):
                answers = answers_of(sample.corpus, own, unseen=gold.documents, stack=stack, jobs=jobs, cache=cache)
            systems = systems_of(gold, answers, labels, rule, resampling=Resampling(seed=own.seed))
            folds = fitting(own, sample.corpus).folds if stack else None
            facts = CorpusFacts.of(sample.corpus)
            done.append(CurveRun(sample.share, sample.size, sample.number, number, facts, folds, systems.scores))
    where = "a fifth of the patients, held out" if test is None else "another corpus"
    times = f", {runs} runs on each from other random starts" if runs > 1 else ""
    spread = spread_of(samples, by=by, n_runs=runs)
    protocol = _PROTOCOL.format(samples=samples, where=where, spread=spread, by=by, times=times)
    origin = Origin(SCHEMA, rule.name, protocol, settings, gold.label_set.name, systems.units)
    return LearningCurve(origin, CorpusFacts.of(training), CorpusFacts.of(gold), samples, tuple(done), by, runs)
