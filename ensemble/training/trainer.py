"""From annotated notes to a trained engine.

    corpus ──> feature tables ──> each submodel on each fold ──> out-of-fold candidates ──> stacker
                             └──> each submodel on everything ──────────────────────────────> bundle

The stacker learns only from out-of-fold candidates: those proposed for patients that the submodels were not trained on.
Folds and final fits are independent and run in parallel processes.

    training = train(corpus, settings)                               the trained engine, and how it came about
    proposed = propose(corpus, settings, unseen=others.documents)    only what submodels propose, without their models
    proposed.out_of_fold["crf"]     for each training note, candidates of a CRF that was not trained on its patient
    proposed.on_unseen["crf"]       for each other note, candidates of a CRF that was trained on the whole corpus
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.public_words import public_words
from phistack.ensemble.stacking.candidates import chosen_spans, pools_of
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.stacking.folds import check_phi, labels_in_one_part, training_folds
from phistack.ensemble.stacking.merged_rules import MergedRules
from phistack.ensemble.stacking.repeats.word_counts import seen_words
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import Subset, fit_subset_stackers
from phistack.ensemble.tools.clock import Spent, Stopwatch
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.fit_runs import FITS, Proposals, run_fits
from phistack.ensemble.training.fit_tasks import FoldCache, tasks_of
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.discretion import Discretion
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError, TrainingError, no_such
from phistack.features.language_gate import LanguageGate
from phistack.features.plain_view import plain_view
from phistack.features.saved_files import SavedFiles
from phistack.features.shown import explained, shown_label
from phistack.features.tags import OUTSIDE
from phistack.submodels.base import kind_of, load_submodel

_LOG = logging.getLogger("phistack")

FEATURES = 1
_STACKER, _SUBSETS, _CASCADE = 3, 7, 1
"""The shares of the parts of a training in its time, in percent; `FEATURES` is that of reading the features."""


@dataclass(frozen=True)
class Training:
    """A trained engine and the record of its training.

    :param models: submodel -> its files, which the bundle takes over.
    :param out_of_fold: submodel -> its out-of-fold candidates for each training note.
    :param seconds: (submodel, part) -> time spent; the part is `fold K of N` or `all`. Besides the submodels there are
        `features`, `load` (of the trained submodels) and `stacker`.
    :param warnings: counts of what the tags cannot express.
    """

    engine: Engine
    models: Mapping[str, SavedFiles] = field(repr=False)
    out_of_fold: Mapping[str, Proposals] = field(repr=False)
    seconds: Mapping[tuple[str, str], Spent]
    warnings: Counter[str]

    def only(self, names: Iterable[str]) -> Training:
        """The same with some of the submodels and their stacker."""
        engine = self.engine.only(names)
        return replace(self, engine=engine, out_of_fold={name: self.out_of_fold[name] for name in engine.names})


def train(
    corpus: Corpus,
    settings: EngineSettings | None = None,
    *,
    jobs: int = 1,
    cache: Path | None = None,
    added: Corpus | None = None,
) -> Training:
    """Train all submodels and the stacker.

    :param corpus: annotated notes of at least two patients; with fewer than `settings.folds` there are fewer folds.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder that keeps the predictions of folds for the next run.
    :param added: further annotated notes, from which only the submodels learn, in every fold; the stacker and the
        scores do not use them.
    :raises TrainingError: if the corpus has no PHI, or only one patient.
    """
    settings = (settings or EngineSettings()).for_label_set(corpus.label_set.name, corpus.label_set.labels)
    with stage("training", total=FEATURES + FITS + _STACKER + _SUBSETS + _CASCADE):
        watch = Stopwatch()
        more = added.documents if added else ()
        space, every, folds, warnings = prepared(corpus, settings, added=more)
        tables = every[: len(corpus)]
        preparing = watch.spent()
        tasks = [*tasks_of(settings, tables, folds, models=True, added=every[len(corpus) :])]
        fitted = run_fits(settings, tasks, len(tables), jobs=jobs, cache=FoldCache(cache))
        out_of_fold, saved, seconds = fitted.proposals, fitted.models, fitted.seconds
        pools = pools_of(tables, out_of_fold, tuple(out_of_fold))
        watch = Stopwatch()
        models = [
            load_submodel(name, kind_of(name, given), saved[name], space) for name, given in settings.submodels.items()
        ]
        seconds |= {("features", "all"): preparing, ("load", "all"): watch.spent()}
        with stage("stacker", weight=_STACKER):
            stacker = Stacker(settings.stacker).fit(tables, pools, sources=tuple(out_of_fold), seed=settings.seed)
        seconds["stacker", "all"] = watch.spent()
        smaller = fit_subset_stackers(stacker, tables, out_of_fold, seed=settings.seed, weight=_SUBSETS)
        seconds["stacker", "subsets"] = watch.spent()
        texts, read = map(_without_phi, corpus.documents), settings.features
        gate = LanguageGate.fit(texts, read.language, html=read.html, is_known=seen_words(stacker.counts))
        engine = Engine(corpus.label_set, space, models, stacker, smaller, gate)
        if settings.best_subset:
            engine = engine.only(by_score(engine)[0][0])
            left_out = [name for name in out_of_fold if name not in engine.names]
            _LOG.info("best subset: left out, as they do not help: %s", ", ".join(left_out) or "none")
        with stage("cascade", weight=_CASCADE):
            waiting = [model.name for model in engine.submodels if model.costly and settings.cascade]
            proposed = {name: fitted.proposed[name] for name in engine.names}
            engine.cascade = Cascade.fit(tables, proposed, engine.stackers, waiting=waiting)
        seconds["stacker", "cascade"] = watch.spent()
    return Training(engine, saved, {name: out_of_fold[name] for name in engine.names}, seconds, warnings)


def by_score(engine: Engine) -> list[tuple[Subset, float]]:
    """Every subset with its out-of-fold strict F1, the best first; of equal ones, those with fewer submodels first."""
    scores = [(subset, max(stacker.figures_.values(), default=0.0)) for subset, stacker in engine.stackers.items()]
    return sorted(scores, key=lambda row: (-row[1], len(row[0]), row[0]))


def out_of_fold_corpora(training: Training, corpus: Corpus) -> dict[str, Corpus]:
    """The out-of-fold spans of each submodel alone and of the stack, as corpora to be scored.

    The stack's kernel and threshold were chosen on the same notes, so its score is slightly too good.
    """
    html = training.engine.space.settings.html
    views = [plain_view(document, html=html) for document in corpus.documents]
    spans = {name: list(map(chosen_spans, notes, views)) for name, notes in training.out_of_fold.items()}
    spans["stack"] = training.engine.stacker.out_of_fold_
    return {name: corpus.with_spans(notes) for name, notes in spans.items()}


@dataclass(frozen=True)
class Proposed:
    """The submodels' proposals for notes of patients that they never saw: `tables` are the training notes.

    :param out_of_fold: submodel -> its out-of-fold candidates for each training note; empty if not wanted.
    :param on_unseen: submodel -> its candidates for each other note, after training on all training notes.
    :param seconds: (submodel, part) -> time spent; the part is `fold K of N` or `unseen`.
    :param warnings: counts of what the tags cannot express.
    """

    tables: Sequence[FeatureTable] = field(repr=False)
    out_of_fold: Mapping[str, Proposals] = field(repr=False)
    unseen: Sequence[FeatureTable] = field(repr=False)
    on_unseen: Mapping[str, Proposals] = field(repr=False)
    seconds: Mapping[tuple[str, str], Spent]
    warnings: Counter[str]


def propose(
    corpus: Corpus,
    settings: EngineSettings,
    *,
    unseen: Sequence[Document] = (),
    out_of_fold: bool = True,
    added: Sequence[Document] = (),
    jobs: int = 1,
    cache: Path | None = None,
) -> Proposed:
    """Let all submodels propose for notes that they never saw, and keep no model; parameters as in `train`.

    :param unseen: other notes, for which the submodels propose after training on the whole corpus.
    :param out_of_fold: whether they also propose for the corpus, fold by fold.
    :param added: further annotated notes to learn from, except where their patient or text is held out.
    :raises TrainingError: if the corpus has no PHI, or too few patients.
    """
    settings = settings.for_label_set(corpus.label_set.name, corpus.label_set.labels)
    with stage("training", total=FEATURES + FITS):
        space, every, folds, warnings = prepared(corpus, settings, folds=out_of_fold, added=added)
        tables, more = every[: len(corpus)], every[len(corpus) :]
        others = space.tables(unseen)
        tasks = [*tasks_of(settings, tables, folds, unseen=others, added=more)]
        fitted = run_fits(settings, tasks, len(tables) + len(others), jobs=jobs, cache=FoldCache(cache))
    proposals, n = fitted.proposals, len(tables)
    return Proposed(
        tables=tables,
        out_of_fold={name: notes[:n] for name, notes in proposals.items()} if out_of_fold else {},
        unseen=others,
        on_unseen={name: notes[n:] for name, notes in proposals.items()} if others else {},
        seconds=fitted.seconds,
        warnings=warnings,
    )


def prepared(
    corpus: Corpus, settings: EngineSettings, *, folds: bool = True, added: Sequence[Document] = ()
) -> tuple[FeatureSpace, list[FeatureTable], list[list[int]], Counter[str]]:
    """The features of a corpus, its folds (if wanted), and counts of what its tags cannot express.

    :param added: further notes to learn from, which are in no fold; their tables follow those of the corpus.
    """
    settings.check()
    if folds:
        settings.check_stacking()
    documents = _learned_documents(settings.grouped(corpus), settings)
    added = _without_labels(added, settings.stacker.rule_labels)
    if not any(document.spans for document in documents):
        raise TrainingError("the corpus has no annotated PHI, so nothing can be learned; check its format and labels")
    parts = training_folds(documents, n_folds=settings.folds, seed=settings.seed) if folds else []
    for label in labels_in_one_part([documents[i] for i in part] for part in parts):
        shown = shown_label(label)
        message = "the label %s occurs in one fold only, so the stacker cannot learn about it; add notes%s"
        _LOG.warning(message, shown, explained(shown))
    space = FeatureSpace(settings.features)
    with stage("features", weight=FEATURES):
        tables = space.fit((*documents, *added), _discretion((*corpus.documents, *added), settings))
    warnings: Counter[str] = Counter()
    tags = [table.tags(counts=warnings) for table in tables[: len(documents)]]
    check_phi([any(tag != OUTSIDE for tag in of_note) for of_note in tags], parts)
    return space, tables, parts, warnings


def _without_phi(note: Document) -> str:
    """The text with blanks in place of PHI, as notes in any language contain names of other languages."""
    text = list(note.text)
    for span in note.spans:
        text[span.start : span.end] = " " * (span.end - span.start)
    return "".join(text)


def _discretion(documents: Sequence[Document], settings: EngineSettings) -> Discretion | None:
    """What an engine may keep of its notes; `None` for everything."""
    if not settings.private:
        return None
    read = settings.features
    notes = (plain_view(document, html=read.html).document for document in documents)
    return Discretion.of(notes, settings.private, public_words(read.language))


def _learned_documents(corpus: Corpus, settings: EngineSettings) -> tuple[Document, ...]:
    """The notes without the spans of `rule_labels`, which only rules find.

    :raises SettingsError: for a label that the corpus cannot have, or that no rule finds.
    """
    labels = settings.stacker.rule_labels
    unknown = next((label for label in labels if label not in corpus.label_set), None)
    if unknown is not None:
        raise SettingsError(f"of rule_labels: {no_such('label', unknown, corpus.label_set.labels)}")
    if labels:
        MergedRules.of(labels, settings.stacker.rules_file, settings.features.language)
    return _without_labels(corpus.documents, labels)


def _without_labels(documents: Sequence[Document], labels: Sequence[str]) -> tuple[Document, ...]:
    if not labels:
        return tuple(documents)
    return tuple(document.with_spans(s for s in document.spans if s.label not in labels) for document in documents)
