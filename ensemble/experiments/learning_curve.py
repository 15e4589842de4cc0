"""The score by the number of training patients: whether more annotated notes would help.

    out/results.json               every run, and the curve of each system
    out/curve.png, out/curve.svg   the curves, every order as dots, and the 95 % interval of enough orders
    out/table.tex                  for LaTeX with booktabs

Each sample is one random order of the training patients, of which every share takes the first; so a larger share holds
the smaller one. All runs are scored on the same notes, of patients that no run is trained on.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from ensemble.evaluation import Criterion, criterion_named
from ensemble.evaluation.intervals import RESAMPLES
from ensemble.experiments.latex import curve_latex
from ensemble.experiments.measuring import counts_of, measured
from ensemble.experiments.parts import all_answers, described, fitting
from ensemble.experiments.pictures import curve_picture
from ensemble.experiments.results import head, write_results
from ensemble.stacking.folds import held_out_patients, of_patients, patients_of
from ensemble.tools.progress import stage
from ensemble.training.proposals import propose
from ensemble.training.settings import EngineSettings
from features.documents import Corpus
from features.errors import SettingsError

__all__ = [
    "FEWEST_FOR_INTERVAL",
    "SCHEMA",
    "SHARES",
    "Sample",
    "curves_of",
    "interval_of_mean",
    "learning_curve",
    "samples_of",
    "spread_of",
    "write_curve",
]

SCHEMA = "phistack.curve.v2"
SHARES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Percent of the training patients."""

FEWEST_FOR_INTERVAL = 5
"""Random orders: with fewer, Student's t says less of the curve than of its own degrees of freedom."""

_LOG = logging.getLogger("phistack")
_PROTOCOL = (
    "Trained on growing shares of the training patients, {samples} random orders of them, and scored on {where}. "
    "Spread: {spread}. It tells of the choice among these training patients and of the random start of training, not "
    "of the choice of test notes, which the bootstrap interval of each run tells of."
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


def samples_of(corpus: Corpus, *, shares: Sequence[int], samples: int, seed: int) -> Iterator[Sample]:
    """The training notes of every run, order by order, shares growing; never fewer than two patients.

    :raises SettingsError: if a share is not from 1 to 100, or there are no samples or fewer than two patients.
    """
    if not shares or not all(1 <= share <= 100 for share in shares):
        raise SettingsError("--shares: percents of the training patients are from 1 to 100")
    if samples < 1:
        raise SettingsError(f"the number of samples must be at least 1, not {samples}")
    patients = sorted(patients_of(corpus))
    if len(patients) < 2:
        raise SettingsError("a learning curve needs training notes of at least two patients")
    for number in range(1, samples + 1):
        order = np.random.default_rng((seed, number)).permutation(patients).tolist()
        for share in sorted(set(shares)):
            chosen = set(order[: max(2, round(len(order) * share / 100))])
            yield Sample(share, number, of_patients(corpus, chosen))


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
) -> dict[str, Any]:
    """Train on growing shares of the patients and score each run.

    :param test: the notes to score on; without it a fifth of the patients is held out for that.
    :param shares: percent of the training patients.
    :param samples: how many random orders of the patients; with fewer than five there is no interval.
    :param stack: whether the stack is scored beside the submodels; without it each run trains once instead of once
        for each fold and once more.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :returns: the results, as JSON can hold them.
    :raises SettingsError: if shares or samples make no sense, or there are too few patients.
    :raises TrainingError: if nothing can be learned from a sample, as none of its notes has PHI.
    """
    rule = criterion_named(criterion)
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
    return {
        **head(SCHEMA, settings, criterion=rule.name, protocol=protocol),
        "training": described(training),
        "test": described(gold),
        "samples": samples,
        "spread": spread_of(samples),
        "bootstrap resamples": RESAMPLES,
        "curves": curves_of(runs),
        "runs": runs,
    }


def write_curve(out: Path, corpus: Corpus, settings: EngineSettings, **options: Any) -> dict[str, Any]:
    """Run `learning_curve` and write the folder of results, complete or not at all.

    :param options: as for `learning_curve`.
    :raises SettingsError: if the folder is already there; that is seen before training begins.
    """
    return write_results(out, lambda: learning_curve(corpus, settings, **options), curve_picture, curve_latex)


def _run(
    sample: Sample,
    gold: Corpus,
    settings: EngineSettings,
    criterion: Criterion,
    stack: bool,
    jobs: int,
    cache: Path | None,
) -> dict[str, Any]:
    """Train on one sample; the seed of training changes with the order of the patients."""
    chosen = fitting(replace(settings, seed=settings.seed + sample.number - 1), sample.corpus)
    proposed = propose(sample.corpus, chosen, unseen=gold.documents, out_of_fold=stack, jobs=jobs, cache=cache)
    answers = all_answers(proposed, chosen)
    counts = {name: counts_of(gold, spans, sample.corpus.label_set, criterion) for name, spans in answers.items()}
    rows = measured(counts, seed=settings.seed)
    return {
        "share": sample.share,
        "sample": sample.number,
        "training": described(sample.corpus),
        "folds": chosen.folds if stack else None,
        "systems": {name: row.to_dict() for name, row in rows.items()},
    }


def curves_of(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """For each system, the mean F1 of every share, the F1 of each order and, of enough of them, the interval."""
    by_share: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for run in runs:
        by_share[run["share"]].append(run)
    return {name: [_point(share, by_share[share], name) for share in sorted(by_share)] for name in runs[0]["systems"]}


def _point(share: int, runs: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    scores = [run["systems"][name]["f1"]["value"] for run in runs]
    return {
        "share": share,
        "patients": runs[0]["training"]["patients"],
        "f1": fmean(scores),
        "interval": interval_of_mean(scores),
        "orders": scores,
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
