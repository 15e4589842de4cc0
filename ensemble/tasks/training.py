"""The command `train`: train, choose the submodels that are fast enough, score, save."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.certificate import with_certificate
from phistack.ensemble.bundles.choice import engines_by_language
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.bundles.shipped import shipped_engine
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import Report, evaluate_systems
from phistack.ensemble.evaluation.measures import f_score, reach_of
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.tables import percent
from phistack.ensemble.experiments.certificate import Wish
from phistack.ensemble.experiments.parts import CorpusFacts, answers_of, remember, seeded
from phistack.ensemble.experiments.speed import measure_speed, this_machine
from phistack.ensemble.experiments.training_report import TrainingReport, report_on
from phistack.ensemble.stacking.candidates import chosen_spans
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.stacking.subsets import Subset, subset_name
from phistack.ensemble.tools.progress import progress, stage
from phistack.ensemble.training.fit_tasks import fingerprints, pretraining_notes
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training, by_score, train
from phistack.features.discretion import Discretion
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError
from phistack.features.writing import refuse_taken

_OF_BUDGET = "Its submodels were chosen by the same score, among the subsets that are fast enough."
_NOTES, _REPETITIONS = 250, 3
_FEW = 300
"""With fewer notes an engine may be worse than the one that ships."""


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

    :param budget: notes per second; keeps the subset of submodels with the best out-of-fold score among those that
        annotate at least this many on one core of this machine.
    :returns: the training, and the out-of-fold scores of each submodel and the stack.
    :raises SettingsError: before training, if the path is taken or the budget is not above 0; after it, if no subset
        reaches the budget. Nothing is written then.
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
    wish: Wish | None = None,
    measure: Callable[[Engine], Sequence[Mapping[str, Any]]] | None = None,
) -> tuple[Training, TrainingReport]:
    """As `train_bundle`; returns the training, and its report out of fold.

    :param added: further annotated notes for training the submodels; nothing is scored on them.
    :param seeds: how many seeds to train with, for means and deviations; the bundle is that of the first.
    :param resampling: how the report draws intervals and p-values.
    :param sources: where the notes are from, for the model card.
    :param wish: how much the engine may leave; its thresholds are lowered to keep it, and the bundle is certified.
    :param measure: further measurements of the engine for the card: rows with `corpus`, `figure` and `value`.
    """
    refuse_taken(path)
    if budget is not None and not budget > 0:
        raise SettingsError(f"the budget must be more than 0 notes a second, not {budget:g}")
    corpus, more = settings.grouped(corpus), added.documents if added else ()
    first = pretraining_notes(settings)
    learned = (*corpus.documents, *more, *chain.from_iterable(first.values()))
    if wish is not None:
        wish.check(learned)
    training = train(corpus, settings, jobs=jobs, cache=cache, added=added)
    rates: dict[str, Any] = {}
    if budget is not None:
        subset, rates = best_within(budget, training, corpus.documents)
        training = training.only(subset)
    others = [
        answers_of(corpus, again, added=more, jobs=jobs, cache=cache)
        for again in seeded(settings.only(training.engine.names), seeds)[1:]
    ]
    with stage("scoring"):
        remark = _OF_BUDGET if rates else ""
        report = report_on(training, corpus, settings, others=others, remark=remark, resampling=resampling)
    counted = CorpusFacts.of(corpus).to_dict()
    del counted["label set"]  # which the manifest has beside its language
    lowered_to = wish.share_of_thresholds(training.engine) if wish else 1.0
    engine = training.engine.lowered(lowered_to) if lowered_to < 1 else training.engine
    save = partial(
        save_bundle,
        engine,
        self_test=self_test(engine),
        models=training.models,
        settings=settings.only(engine.names).to_toml(),
        trained_on={
            **counted,
            "fingerprints": fingerprints(learned),
            "settings hash": settings.digest,
            **({"added documents": len(added)} if added else {}),
            **({"pretrained on": ", ".join(first)} if first else {}),
            **({"sources": sources} if sources else {}),
            **dict(sorted(training.warnings.items())),
        },
        figures={
            **report.figures(),
            **_of_cascade(engine.cascade),
            **_of_discretion(engine.space.discretion_),
            **({"budget": rates} if rates else {}),
            "recall choices": engine.stacker.choices_,
            **({"thresholds lowered to": lowered_to} if wish else {}),
            **({"measured elsewhere": list(measure(engine))} if measure else {}),
        },
    )
    if wish is None:
        save(path)
    else:
        with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
            save(Path(folder) / "engine")
            with_certificate(Path(folder) / "engine", wish.certificate(Path(folder) / "engine"), path)
    if cache and not added and not rates:
        remember(cache, path, settings, corpus)
    return training, report


def beside_shipped(training: Training, corpus: Corpus, path: Path) -> str:
    """Whether an engine of few notes does better on them than the one that ships, and what to do, in a sentence.

    The score is F2, whatever the labels: recall counts identifiers touched, precision counts spans that touch one.

    :param corpus: the training notes, on which the engine is judged out of fold.
    :param path: the path of its bundle.
    :returns: empty if the notes are many, or none ships for their language.
    """
    shipped = engines_by_language().get(training.engine.language)
    if len(corpus) >= _FEW or shipped is None:
        return ""
    ours = reach_of(corpus.documents, training.engine.stacker.out_of_fold_)
    annotated = load_bundle(shipped_engine(shipped)).annotate(corpus.documents)
    theirs = reach_of(corpus.documents, [document.spans for document in annotated])
    new, old = (f_score(one.precision, one.reach, beta=2) for one in (ours, theirs))
    if new > old:
        advice = "use the new one"
    elif new == old:
        advice = "they are equal, so annotate more notes"
    elif any(model.reads_ahead for model in training.engine.submodels):
        advice = f"use {shipped}, or both with --model {shipped} --model {path}, and annotate more notes"
    else:
        advice = f"train with --with {shipped}, or annotate more notes"
    return (
        f"On these {len(corpus)} notes, out of fold, it touches {percent(ours.reach)} % of the identifiers, and "
        f"{percent(ours.precision)} % of what it marks is right (the shipped engine {shipped}: "
        f"{percent(theirs.reach)} and {percent(theirs.precision)}): {advice}."
    )


def best_within(budget: float, training: Training, documents: Sequence[Document]) -> tuple[Subset, dict[str, Any]]:
    """The best subset of submodels that is fast enough: subsets are measured on training notes, the best first.

    :param budget: notes per second of processor time, on one core.
    :returns: the subset, and the budget with all measurements, for the bundle.
    :raises SettingsError: if no subset reaches it.
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
                about = {"notes per second asked for": budget, "machine": this_machine()}
                return subset, {**about, "measured": rows}
    fastest = max(measured, key=measured.__getitem__)
    raise SettingsError(
        f"no set of submodels annotates {budget:g} notes a second on one core of this machine, so nothing was written; "
        f"the fastest, {subset_name(fastest)}, annotates {measured[fastest]:.0f}"
    )


def _of_cascade(cascade: Cascade | None) -> dict[str, Any]:
    """The facts of a cascade for manifest and model card."""
    if cascade is None:
        return {}
    thresholds = {"doubt": cascade.doubt, "chance": cascade.chance}
    return {"cascade": {"waiting": ", ".join(cascade.waiting), **thresholds, **cascade.figures}}


def _of_discretion(kept: Discretion | None) -> dict[str, Any]:
    """What a private engine keeps, for manifest and model card."""
    return {"private": {"patients": kept.least, "words": kept.n_words, "kept": len(kept.kept)}} if kept else {}


def score_on(engine: Engine, gold: Corpus) -> dict[str, Report]:
    """Score each submodel alone and the stack on annotated notes, by all criteria."""
    tables = engine.space.tables(gold.documents)
    proposals = engine.propose(tables)
    views = [table.view for table in tables]
    systems = {name: list(map(chosen_spans, notes, views)) for name, notes in proposals.items()}
    systems["stack"] = [[d.span for d in note if d.accepted] for note in engine.decide_on(tables)]
    return evaluate_systems(gold, {name: gold.with_spans(notes) for name, notes in systems.items()})
