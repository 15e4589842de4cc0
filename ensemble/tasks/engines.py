"""What the commands train, annotate and explain do, between files on disk and the engine."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import tee
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
from phistack.features.documents import Corpus, Document, refuse_repeated
from phistack.features.errors import CorpusError
from phistack.features.formats import USUAL_READER, Reader
from phistack.features.formats.corpora import STANDARD, input_path, write_documents
from phistack.features.formats.found import Found
from phistack.features.formats.recognise import format_told_by
from phistack.features.shown import shown_id
from phistack.features.writing import refuse_taken

_LOG = logging.getLogger("phistack")
_OF_BUDGET = "Its submodels were chosen from all that were trained by the same score, among those fast enough."
_MOST_TEXTS = 400
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
    """Notes that an engine is to read, one at a time and as often as needed.

    :param path: a file or folder, or `-` for standard input.
    :param reader: how it is read.
    :param any_language: whether to read the notes that the engine cannot read by its language gate, too.
    """

    path: Path
    reader: Reader = USUAL_READER
    any_language: bool = False

    @cached_property
    def notes(self) -> Found:
        """All notes, without any spans that they had; :raises CorpusError: if they are of no known format."""
        return self.reader.notes(input_path(self.path), annotated=False)

    @cached_property
    def _overview(self) -> tuple[int, list[str]]:
        """How many notes there are, and texts from all over them; what cannot be read is refused here."""
        ids, texts, step = set[str](), list[str](), 1
        for number, document in enumerate(self.notes):
            refuse_repeated([*ids & {document.id}])
            ids.add(document.id)
            texts += [document.text] if number % step == 0 else []
            if len(texts) > _MOST_TEXTS:
                texts, step = texts[::2], 2 * step
        if not ids:
            raise CorpusError(f"{self.path} holds no notes; give at least one")
        return len(ids), texts

    def __len__(self) -> int:
        return self._overview[0]

    def sample(self, most: int) -> list[str]:
        """The texts of some notes from all over them; :raises CorpusError: if there are none to be had."""
        texts = self._overview[1]
        return texts[:: 1 + (len(texts) - 1) // most]

    def readable(self, engine: Engine, held_back: dict[str, str]) -> Iterator[Document]:
        """The notes that the engine can read.

        :param held_back: gets the id of each other note, and the reason.
        :raises CorpusError: if it can read none.
        """
        n_others = 0
        for document in self.notes:
            reason = "" if self.any_language else engine.language_gate.objection(document.text)
            if reason:
                held_back[document.id] = reason
                continue
            n_others += engine.known is not None and document.group not in engine.known.roster
            yield document
        if len(held_back) == len(self):
            id, reason = next(iter(held_back.items()))
            raise CorpusError(f"the engine cannot read any of the {len(self)} notes; document {shown_id(id)}: {reason}")
        if n_others:
            _LOG.warning("%d of %d notes are of patients not in the roster", n_others, len(self) - len(held_back))


@dataclass
class Written:
    """What was written: notes and spans, how often oddities were met, and why notes were held back, by id."""

    notes: int = 0
    spans: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    held_back: dict[str, str] = field(default_factory=dict)


def annotate_corpus(source: Source, out: Path, engine: Engine, *, format: str = "") -> Written:
    """Annotate every note that the engine can read, and write each as it is done; all of them appear, or nothing.

    :param out: what to write, or `-` for standard output.
    :param format: of `out`; otherwise by its file ending, or that of `source`, or brat where that is plain text.
    :raises CorpusError: if it can read none of the notes.
    """
    found, written = source.notes.format.name, Written()
    of_text = "jsonl" if out == STANDARD else "brat"
    format = format or format_told_by(out) or (of_text if found == "text" else found)
    with stage("reading the notes"):
        total = len(source)
    with progress("annotating", total=total) as advance:

        def annotated() -> Iterator[Document]:
            for document in engine.annotate(source.readable(engine, written.held_back)):
                written.notes += 1
                written.spans += len(document.spans)
                yield document
                advance("")

        write_documents(annotated(), engine.label_set, out, format=format)
    written.warnings = source.notes.how.warnings
    return written


def explain_corpus(
    source: Source, engine: Engine, console: Console, *, html: Path | None = None, show_text: bool = False
) -> tuple[int, HeldBack]:
    """Print the decisions on every note that the engine can read, and write a page if asked for.

    :returns: how many notes those are, and the others.
    :raises CorpusError: if it can read none of the notes.
    """
    held_back: dict[str, str] = {}
    views = []
    documents, read = tee(source.readable(engine, held_back))
    for document, decisions in zip(documents, engine.decide(read), strict=True):
        print_explanation(document, decisions, console, show_text=show_text)
        views.append(note_view(document, decisions))
    if html is not None:
        write_page(html, title="Why phistack marked what it marked", scores=(), notes=views, facts={})
    return len(views), held_back


def note_view(document: Document, decisions: Sequence[Decision], *, has_gold: bool = False) -> NoteView:
    """A note with its decisions and its redacted text, as pages show it."""
    found = document.with_spans(decision.span for decision in decisions if decision.accepted)
    return NoteView(document=document, decisions=decisions, has_gold=has_gold, redacted=redact(found))
