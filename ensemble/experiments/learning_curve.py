"""The score by the number of training patients: whether more annotated notes would help.

    out/results.json               every run, and the curve of each system
    out/curve.png, out/curve.svg   the curves, every order as dots, and the 95 % interval of enough orders
    out/table.tex                  for LaTeX with booktabs

Each sample is one random order of the training patients, of which every share takes the first; so a larger share holds
the smaller one. All runs are scored on the same notes, of patients that no run is trained on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.evaluation import Criterion, criterion_named
from ensemble.evaluation.intervals import RESAMPLES
from ensemble.evaluation.tables import Table, TableRow, escaped, share, strong
from ensemble.experiments.curves import FEWEST_FOR_INTERVAL, CurveRun, curves_of, spread_of
from ensemble.experiments.parts import STACK, all_answers, fitting, systems_of
from ensemble.experiments.pictures import curve_picture
from ensemble.experiments.results import CorpusFacts, Origin
from ensemble.stacking.folds import fold_groups_of, held_out_patients, of_fold_groups
from ensemble.tools.progress import stage
from ensemble.training.proposals import propose
from ensemble.training.settings import EngineSettings
from features.documents import Corpus
from features.errors import SettingsError

__all__ = ["SCHEMA", "SHARES", "LearningCurve", "Sample", "learning_curve", "samples_of"]

SCHEMA = "phistack.curve.v2"
SHARES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Percent of the training patients."""

_LOG = logging.getLogger("phistack")
_PROTOCOL = (
    "Trained on growing shares of the training patients, {samples} random orders of them, and scored on {where}. "
    "Spread: {spread}. It covers the choice among these training patients and of the random start of training, not "
    "the choice of test notes, which the bootstrap interval of each run covers."
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: the training notes of some patients.

    :param share: percent of the training patients.
    :param number: of the random order, from 1.
    :param corpus: the notes.
    """

    share: int
    number: int
    corpus: Corpus


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Every run.

    :param training: the notes of all training patients.
    :param test: the notes that every run is scored on.
    :param samples: how many random orders of the patients.
    """

    origin: Origin
    training: CorpusFacts
    test: CorpusFacts
    samples: int
    runs: tuple[CurveRun, ...]

    @property
    def caption(self) -> str:
        """What the table for LaTeX shows."""
        return (
            f"F1 in percent by the share of {self.training.patients} training patients, on {self.test.documents} other "
            f"notes; criterion: {self.origin.criterion}. Means over {self.samples} random orders, in brackets: "
            f"{escaped(spread_of(self.samples))}."
        )

    def table(self) -> Table:
        """Mean F1 and spread of every system, a row a share, and below what the spread is."""
        curves = curves_of(self.runs)
        rows: list[TableRow] = [
            (f"{points[0].share} %", str(points[0].patients), *(share(point.f1) for point in points))
            for points in zip(*curves.values(), strict=True)
        ]
        columns = ("share", "patients", *(strong(name) if name == STACK else name for name in curves))
        note = f"In brackets: {spread_of(self.samples)}."
        return Table(columns, [rows], self.origin.title("learning curve, F1"), note, n_texts=0, is_wide=True)

    def draw(self, folder: Path) -> None:
        """The curves."""
        spread = spread_of(self.samples)
        curve_picture(self.origin.title("Learning curve"), spread, curves_of(self.runs), folder)

    def to_dict(self) -> dict[str, Any]:
        """Every figure as JSON can hold it."""
        return {
            **self.origin.to_dict(),
            "training": self.training.to_dict(),
            "test": self.test.to_dict(),
            "samples": self.samples,
            "spread": spread_of(self.samples),
            "bootstrap resamples": RESAMPLES,
            "curves": {name: [point.to_dict() for point in points] for name, points in curves_of(self.runs).items()},
            "runs": [run.to_dict() for run in self.runs],
        }


def samples_of(corpus: Corpus, *, shares: Sequence[int], samples: int, seed: int) -> Iterator[Sample]:
    """The training notes of every run, order by order, shares growing; never fewer than two patients.

    :raises SettingsError: if a share is not from 1 to 100, or there are no samples or fewer than two patients.
    """
    if not shares or not all(1 <= share <= 100 for share in shares):
        raise SettingsError("--shares: percents of the training patients are from 1 to 100")
    if samples < 1:
        raise SettingsError(f"the number of samples must be at least 1, not {samples}")
    patients = sorted(fold_groups_of(corpus))
    if len(patients) < 2:
        raise SettingsError("a learning curve needs training notes of at least two patients")
    for number in range(1, samples + 1):
        order = np.random.default_rng((seed, number)).permutation(patients).tolist()
        for percent in sorted(set(shares)):
            chosen = set(order[: max(2, round(len(order) * percent / 100))])
            yield Sample(percent, number, of_fold_groups(corpus, chosen))


def learning_curve(
    corpus: Corpus,
    settings: EngineSettings,
    *,
    test: Corpus | None = None,
    shares: Sequence[int] = SHARES,
    samples: int = FEWEST_FOR_INTERVAL,
    stack: bool = True,
    criterion: str = "strict",
    jobs: int = 1,
    cache: Path | None = None,
) -> LearningCurve:
    """Train on growing shares of the patients and score each run.

    :param test: the notes to score on; without it a fifth of the patients is held out for that.
    :param shares: percent of the training patients.
    :param samples: how many random orders of the patients; with fewer than five there is no interval.
    :param stack: whether the stack is scored beside the submodels; without it each run trains once instead of once
        for each fold and once more.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises SettingsError: if shares or samples make no sense, or there are too few patients.
    :raises TrainingError: if nothing can be learned from a sample, as none of its notes has PHI.
    """
    rule = criterion_named(criterion)
    corpus = settings.grouped(corpus)
    if samples < FEWEST_FOR_INTERVAL:
        _LOG.warning(
            "%d random orders are too few for a 95 %% interval, so each order is shown instead; --samples %d or more "
            "gives one",
            samples,
            FEWEST_FOR_INTERVAL,
        )
    training, gold = held_out_patients(corpus, seed=settings.seed) if test is None else (corpus, test)
    to_run = list(samples_of(training, shares=shares, samples=samples, seed=settings.seed))
    runs = []
    with stage("learning curve", total=sum(sample.share for sample in to_run)):
        for number, sample in enumerate(to_run, 1):
            name = f"round {number} of {len(to_run)}, {sample.share}% of the patients"
            with stage(name, weight=sample.share, total=1.0):
                runs.append(_run(sample, gold, settings, rule, stack, jobs, cache))
    where = "a fifth of the patients, held out" if test is None else "another corpus"
    protocol = _PROTOCOL.format(samples=samples, where=where, spread=spread_of(samples))
    origin = Origin(SCHEMA, rule.name, protocol, settings)
    return LearningCurve(origin, CorpusFacts.of(training), CorpusFacts.of(gold), samples, tuple(runs))


def _run(
    sample: Sample,
    gold: Corpus,
    settings: EngineSettings,
    criterion: Criterion,
    stack: bool,
    jobs: int,
    cache: Path | None,
) -> CurveRun:
    """Train on one sample; the seed of training changes with the order of the patients."""
    chosen = fitting(replace(settings, seed=settings.seed + sample.number - 1), sample.corpus)
    proposed = propose(sample.corpus, chosen, unseen=gold.documents, out_of_fold=stack, jobs=jobs, cache=cache)
    answers = all_answers(proposed, chosen)
    systems = systems_of(gold, answers, sample.corpus.label_set, criterion, seed=settings.seed)
    folds = chosen.folds if stack else None
    return CurveRun(sample.share, sample.number, CorpusFacts.of(sample.corpus), folds, systems.scores)
