"""What the commands train, annotate and explain do, between files on disk and the engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from phistack.ensemble.bundles.bundle import save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.deidentification import redact
from phistack.ensemble.engine import Engine
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


def with_roster(engine: Engine, path: Path | None) -> Engine:
    """The engine, with what a roster says of the notes' patients; the same engine without a path.

    :raises SettingsError: if the roster cannot be used, or the engine has no label for what it holds.
    """
    if path is None:
        return engine
    roster = Roster.open(path, engine.label_set.labels)
    tell_unused(roster, engine.label_set.labels)
    return engine.with_known(roster)


@dataclass(frozen=True)
class Source:
    """Notes that an engine is to read; they are read once, when they are first asked for.

    :param path: a file or folder, or `-` for standard input.
    :param reader: how it is read.
    :param any_language: whether to read the notes that the engine cannot read by its language gate, too.
    :param unmatched_roster: whether to go on although the engine's roster has the patient of no note.
    """

    path: Path
    reader: Reader = USUAL_READER
    any_language: bool = False
    unmatched_roster: bool = False

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

    def read(self, engine: Engine) -> tuple[Corpus, HeldBack]:
        """The notes that the engine can read.

        :raises CorpusError: if it can none.
        :raises SettingsError: if its roster has the patient of no note.
        """
        corpus = self.notes
        if engine.known is not None and not self.unmatched_roster:
            engine.known.roster.check_fits(document.group for document in corpus.documents)
        objection = engine.language_gate.objection
        reasons = {} if self.any_language else {document.id: objection(document.text) for document in corpus.documents}
        held_back = {id: reason for id, reason in reasons.items() if reason}
        if len(held_back) == len(corpus):
            id, reason = next(iter(held_back.items()))
            raise CorpusError(
                f"the engine cannot read any of the {len(corpus)} notes; document {shown_id(id)}: {reason}"
            )
        readable = tuple(document for document in corpus.documents if document.id not in held_back)
        if engine.known is not None and (n_others := sum(d.group not in engine.known.roster for d in readable)):
            _LOG.warning("%d of %d notes are of patients who are not in the roster", n_others, len(readable))
        return replace(corpus, documents=readable, label_set=engine.label_set), held_back


def annotate_corpus(source: Source, out: Path, engine: Engine, *, format: str = "") -> tuple[Corpus, HeldBack]:
    """Annotate every note that the engine can read and write them all to `out`, or nothing.

    :param out: what to write, or `-` for standard output.
    :param format: of `out`; otherwise by its file ending, or that of `source`, or brat where that is plain text.
    :raises CorpusError: if it can read none of the notes.
    """
    found = source.format
    with stage("reading the notes"):
        corpus, held_back = source.read(engine)
    with progress("annotating", total=len(corpus)) as advance:
        annotated = []
        for document in engine.annotate(corpus.documents):
            annotated.append(document)
            advance("")
    result = replace(corpus, documents=tuple(annotated))
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
    corpus, held_back = source.read(engine)
    views = []
    for document, decisions in zip(corpus.documents, engine.decide(corpus.documents), strict=True):
        print_explanation(document, decisions, console, show_text=show_text)
        views.append(note_view(document, decisions))
    if html is not None:
        write_page(html, title="Why phistack marked what it marked", scores=(), notes=views, facts={})
    return len(corpus), held_back


def note_view(document: Document, decisions: Sequence[Decision], *, has_gold: bool = False) -> NoteView:
    """A note with its decisions and its redacted text, as pages show it."""
    found = document.with_spans(decision.span for decision in decisions if decision.accepted)
    return NoteView(document=document, decisions=decisions, has_gold=has_gold, redacted=redact(found))
