"""What the command train does: train, choose the submodels that are fast enough, score, save."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from phistack.ensemble.bundles.bundle import save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import Report, evaluate_systems
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.experiments.parts import answers_of, remember, seeded
from phistack.ensemble.experiments.results import CorpusFacts
from phistack.ensemble.experiments.speed import Machine, measure_speed
from phistack.ensemble.experiments.training_report import TrainingReport, report_on
from phistack.ensemble.stacking.candidates import chosen_spans
from phistack.ensemble.stacking.subsets import Subset, subset_name
from phistack.ensemble.tools.progress import progress, stage
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training, train
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError
from phistack.features.writing import refuse_taken

_OF_BUDGET = "Its submodels were chosen from all that were trained by the same score, among those fast enough."
_NOTES, _REPETITIONS = 250, 3


def train_bundle(
    corpus: Corpus,
    path: Path,
    settings: EngineSettings,
    *,
    jobs: int = 1,
    cache: Path | None = None,
    budget: float | None = None,
) -> tuple[Training, dict[str, Report]]:
    """Train an engine and write its bundle.

    :param budget: notes per second; only those submodels are kept that together annotate so many on one core of this
        machine and have the best out-of-fold score.
    :returns: the training, and the out-of-fold scores of each submodel and the stack.
    :raises SettingsError: if the path is taken; that is seen before training begins.
    :raises SettingsError: if the budget is not above 0, which is seen before training begins, or if no set of submodels
        keeps to it; nothing is written then.
    """
    training, report = train_with_report(corpus, path, settings, jobs=jobs, cache=cache, budget=budget)
    return training, dict(report.scores)


def train_with_report(
    corpus: Corpus,
    path: Path,
    settings: EngineSettings,
    *,
    jobs: int = 1,
    cache: Path | None = None,
    budget: float | None = None,
    added: Corpus | None = None,
    seeds: int = 1,
    resampling: Resampling = BY_PATIENT,
    sources: str = "",
    measure: Callable[[Engine], Sequence[Mapping[str, Any]]] | None = None,
) -> tuple[Training, TrainingReport]:
    """As `train_bundle`; returns the training, and its report out of fold.

    :param added: further annotated notes, from which the submodels learn and which nothing is scored on.
    :param seeds: how many seeds to train with, for means and deviations; the bundle is that of the first.
    :param resampling: how the report draws intervals and p-values.
    :param sources: where the notes are from, for the model card.
    :param measure: what else is measured with the engine: rows with `corpus`, `figure` and `value`, for the card.
    """
    refuse_taken(path)
    if budget is not None and not budget > 0:
        raise SettingsError(f"the budget must be more than 0 notes a second, not {budget:g}")
    corpus = settings.grouped(corpus)
    training = train(corpus, settings, jobs=jobs, cache=cache, added=added)
    facts: dict[str, Any] = {"added documents": len(added)} if added else {}
    facts |= {"sources": sources} if sources else {}
    rates: dict[str, Any] = {}
    if budget is not None:
        subset, rates = best_within(budget, training, corpus.documents)
        training = training.only(subset)
    others = [
        answers_of(corpus, again, added=added.documents if added else (), jobs=jobs, cache=cache)
        for again in seeded(settings.only(training.engine.names), seeds)[1:]
    ]
    with stage("scoring"):
        remark = _OF_BUDGET if rates else ""
        report = report_on(training, corpus, settings, others=others, remark=remark, resampling=resampling)
    counted = CorpusFacts.of(corpus).to_dict()
    del counted["label set"]  # which the manifest has beside its language
    answers = self_test(training.engine)
    save_bundle(
        training.engine,
        path,
        self_test=answers,
        models=training.models,
        settings=settings.only(training.engine.names).to_toml(),
        trained_on={
            **counted,
            "settings hash": settings.digest,
            **facts,
            **{what: count for what, count in sorted(training.warnings.items())},
        },
        figures={
            **report.figures(),
            **_of_cascade(training.engine),
            **({"budget": rates} if rates else {}),
            "recall choices": training.engine.stacker.choices_,
            **({"measured elsewhere": list(measure(training.engine))} if measure else {}),
        },
    )
    if cache and not added and not rates:
        remember(cache, path, settings, corpus)
    return training, report


def best_within(budget: float, training: Training, documents: Sequence[Document]) -> tuple[Subset, dict[str, Any]]:
    """Measure subsets on some of the training notes, from the best downwards, until one is fast enough.

    :param budget: notes per second of processor time, on one core.
    :returns: the subset, and for the bundle the budget with all that was measured.
    :raises SettingsError: if no subset keeps to it.
    """
    notes = documents[:: max(1, len(documents) // _NOTES)][:_NOTES]
    order = by_score(training.engine)
    measured: dict[Subset, float] = {}
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder, progress("speed", total=len(order)) as advance:
        model, test = Path(folder) / "engine", self_test(training.engine)
        save_bundle(training.engine, model, self_test=test, models=training.models, trained_on={}, figures={})
        for subset, f1 in order:
            speed = median(measure_speed(model, subset, notes).notes_per_second for _ in range(_REPETITIONS))
            advance(f"{subset_name(subset)} has F1 {100 * f1:.2f} and annotates {speed:.0f} notes a second")
            measured[subset] = speed
            if speed >= budget:
                rows = [
                    {"submodels": subset_name(names), "f1": dict(order)[names], "notes per second": round(speed, 1)}
                    for names, speed in measured.items()
                ]
                about = {"notes per second asked for": budget, "machine": asdict(Machine.here())}
                return subset, {**about, "measured": rows}
    fastest = max(measured, key=measured.__getitem__)
    raise SettingsError(
        f"no set of submodels annotates {budget:g} notes a second on one core of this machine, so nothing was written; "
        f"the fastest, {subset_name(fastest)}, annotates {measured[fastest]:.0f}"
    )


def by_score(engine: Engine) -> list[tuple[Subset, float]]:
    """Every subset with its out-of-fold strict F1, the best first; of equal ones that with fewer submodels."""
    scores = [(subset, max(stacker.figures_.values())) for subset, stacker in engine.stackers.items()]
    return sorted(scores, key=lambda row: (-row[1], len(row[0]), row[0]))


def _of_cascade(engine: Engine) -> dict[str, Any]:
    """What the manifest and the model card say of the cascade; nothing where there is none."""
    cascade = engine.cascade
    if cascade is None:
        return {}
    thresholds = {"doubt": cascade.doubt, "chance": cascade.chance}
    return {"cascade": {"waiting": ", ".join(cascade.waiting), **thresholds, **cascade.figures}}


def score_on(engine: Engine, gold: Corpus) -> dict[str, Report]:
    """All criteria on annotated notes, for each submodel alone and for the stack."""
    tables = engine.space.tables(gold.documents)
    proposals = engine.propose(tables)
    views = [table.view for table in tables]
    systems = {name: list(map(chosen_spans, notes, views)) for name, notes in proposals.items()}
    systems["stack"] = [[d.span for d in note if d.accepted] for note in engine.decide_on(tables)]
    return evaluate_systems(gold, {name: gold.with_spans(notes) for name, notes in systems.items()})
