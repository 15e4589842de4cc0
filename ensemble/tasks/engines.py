"""What the commands train, annotate and explain do, between files on disk and the engine."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rich.console import Console

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.deidentification import redact
from phistack.ensemble.engine import Engine, EngineOptions, EnginesByLanguage, Reading
from phistack.ensemble.evaluation import Report, evaluate_systems
from phistack.ensemble.experiments.budget import best_within, check_budget
from phistack.ensemble.experiments.results import CorpusFacts
from phistack.ensemble.experiments.training_report import TrainingReport, report_on
from phistack.ensemble.stacking.candidates import Decision, chosen_spans
from phistack.ensemble.stacking.known import Roster
from phistack.ensemble.stacking.known.roster import tell_unused
from phistack.ensemble.tools.progress import progress, stage
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training, train
from phistack.ensemble.views.explanation import print_explanation
from phistack.ensemble.views.page import NoteView, write_page
from phistack.features.documents import Corpus, Document
from phistack.features.errors import CorpusError
from phistack.features.formats import USUAL_READER, Reader
from phistack.features.formats.corpora import STANDARD, input_path, write_notes
from phistack.features.formats.recognise import format_told_by
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id
from phistack.features.writing import refuse_taken

_LOG = logging.getLogger("phistack")
_OF_BUDGET = "Its submodels were chosen from all that were trained by the same score, among those fast enough."
_NO_LABELS = LabelSet("none", {})
"""What is expected of notes of which no span is looked at."""
HeldBack = Mapping[str, str]
"""Id -> reason of the notes that the engine cannot read."""


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
    sources: str = "",
    measure: Callable[[Engine], Sequence[Mapping[str, Any]]] | None = None,
) -> tuple[Training, TrainingReport]:
    """As `train_bundle`; returns the training, and all that it says of itself out of fold.

    :param added: further annotated notes, from which the submodels learn and which nothing is scored on.
    :param sources: where the notes are from, for the model card.
    :param measure: what else is measured with the engine: rows with `corpus`, `figure` and `value`, for the card.
    """
    refuse_taken(path)
    if budget is not None:
        check_budget(budget)
    corpus = settings.grouped(corpus)
    training = train(corpus, settings, jobs=jobs, cache=cache, added=added)
    facts: dict[str, Any] = {"added documents": len(added)} if added else {}
    facts |= {"sources": sources} if sources else {}
    if budget is not None:
        choice = best_within(budget, training, corpus.documents)
        training = training.only(choice.subset)
        facts |= choice.facts
    with stage("scoring"):
        report = report_on(training, corpus, settings, remark=_OF_BUDGET if budget is not None else "")
    counted = CorpusFacts.of(corpus).to_dict()
    del counted["label set"]  # which the manifest has beside its language
    answers = self_test(training.engine)
    save_bundle(
        training.engine,
        path,
        self_test=answers,
        models=training.models,
        trained_on={
            **counted,
            "settings hash": settings.digest,
            **facts,
            **{what: count for what, count in sorted(training.warnings.items())},
        },
        figures={
            **report.figures(),
            **_of_cascade(training.engine),
            "recall choices": training.engine.stacker.choices_,
            **({"measured elsewhere": list(measure(training.engine))} if measure else {}),
        },
    )
    return training, report


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


def engine_with(
    model: Path,
    options: EngineOptions,
    *,
    by_language: Mapping[str, Path] = MappingProxyType({}),
    only: Iterable[str] = (),
    known: Path | None = None,
) -> Engine:
    """The engine of a bundle with the options of a command.

    :param by_language: language -> the bundle that reads passages and notes in it.
    :param only: names of submodels; all by default.
    :param known: a roster.
    :raises SettingsError: if the roster cannot be used, or the engine does not suit what is asked for.
    """
    engine = load_bundle(model, only=only)
    roster = Roster.open(known, engine.label_set.labels) if known is not None else None
    if roster is not None:
        tell_unused(roster, engine.label_set.labels)
    bundles = {language: path for language, path in by_language.items() if path != model}
    others = EnginesByLanguage(bundles, cache(lambda language: load_bundle(bundles[language])))
    return engine.with_options(options, roster=roster, others=others)


@dataclass(frozen=True)
class Source:
    """Notes that an engine is to read; they are read once, when they are first asked for.

    :param path: a file or folder, or `-` for standard input.
    :param reader: how it is read.
    """

    path: Path
    reader: Reader = USUAL_READER

    @property
    def format(self) -> str:
        """The name of the format of the notes; :raises CorpusError: if it is none that is known."""
        return self.reader.format_of(input_path(self.path))

    @cached_property
    def notes(self) -> Corpus:
        """All notes, without any spans that they had; :raises CorpusError: if there are none to be had."""
        corpus = self.reader.read(input_path(self.path), label_set=_NO_LABELS, accept_unknown_labels=True)
        return replace(corpus, documents=tuple(document.with_spans(()) for document in corpus.documents))

    def sample(self, most: int) -> list[str]:
        """The texts of some notes from all over them; :raises CorpusError: if there are none to be had."""
        return [document.text for document in self.notes.documents[:: 1 + (len(self.notes) - 1) // most]]

    def read(self, engine: Engine, *, traced: bool = False) -> tuple[list[Reading], HeldBack]:
        """What becomes of the notes that the engine can read; :raises CorpusError: if it can read none.

        :param traced: whether the readings have a trace.
        """
        notes = self.notes.documents
        readings: list[Reading] = []
        held_back: dict[str, str] = {}
        with progress("annotating", total=len(notes)) as advance:
            for reading in engine.read(notes, traced=traced):
                if reading.objection:
                    held_back[reading.document.id] = reading.objection
                else:
                    readings.append(reading)
                advance("")
        if notes and not readings:
            id, reason = next(iter(held_back.items()))
            raise CorpusError(
                f"the engine cannot read any of the {len(notes)} notes; document {shown_id(id)}: {reason}"
            )
        _warn(engine, readings)
        return readings, held_back


def _warn(engine: Engine, readings: Sequence[Reading]) -> None:
    roster = engine.options.roster
    if roster is not None and (n_others := sum(r.document.group not in roster for r in readings)):
        _LOG.warning("%d of %d notes are of patients who are not in the roster", n_others, len(readings))
    unread = Counter(label for reading in readings for label in {span.label for span in reading.unread})
    for label, n_notes in unread.most_common():
        _LOG.warning("%d of %d notes have a passage that the engine did not read: %s", n_notes, len(readings), label)


def annotate_corpus(source: Source, out: Path, engine: Engine, *, format: str = "") -> tuple[Corpus, HeldBack]:
    """Annotate every note that the engine can read and write them all to `out`, or nothing.

    :param out: what to write, or `-` for standard output.
    :param format: of `out`; otherwise by its file ending, or that of `source`, or brat where that is plain text.
    :raises CorpusError: if it can read none of the notes.
    """
    found = source.format
    with stage("reading the notes"):
        corpus = source.notes
    readings, held_back = source.read(engine)
    annotated = tuple(reading.document.with_spans(reading.accepted) for reading in readings)
    result = replace(corpus, documents=annotated, label_set=engine.label_set)
    of_text = "jsonl" if out == STANDARD else "brat"
    write_notes(result, out, format=format or format_told_by(out) or (of_text if found == "text" else found))
    return result, held_back


def explain_corpus(
    source: Source, engine: Engine, console: Console, *, html: Path | None = None, show_text: bool = False
) -> tuple[int, HeldBack]:
    """Print the decisions on every note that the engine can read, and write a page if asked for.

    :returns: how many notes those are, and the others.
    :raises CorpusError: if it can read none of the notes.
    """
    readings, held_back = source.read(engine, traced=True)
    for reading in readings:
        print_explanation(reading, console, show_text=show_text)
    if html is not None:
        views = [note_view(reading.document, reading.decisions) for reading in readings]
        write_page(html, title="Why phistack marked what it marked", scores=(), notes=views, facts={})
    return len(readings), held_back


def note_view(document: Document, decisions: Sequence[Decision], *, has_gold: bool = False) -> NoteView:
    """A note with its decisions and its redacted text, as pages show it."""
    found = document.with_spans(decision.span for decision in decisions if decision.accepted)
    return NoteView(document=document, decisions=decisions, has_gold=has_gold, redacted=redact(found))
