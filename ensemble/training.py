"""From annotated notes to a trained engine.

    corpus ──> feature tables ──> each submodel on each fold ──> out-of-fold candidates ──> stacker
                             └──> each submodel on everything ──────────────────────────────> bundle

The stacker only ever sees candidates that submodels proposed for patients that they were not trained on; there is no
switch to do otherwise. Folds and final fits are independent and run in parallel processes.
"""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ensemble.candidates import PooledCandidate, chosen_spans, pooled
from ensemble.engine import Engine
from ensemble.fit_progress import COSTS, Fit, FitWatch, reporting
from ensemble.fold_cache import FoldCache
from ensemble.folds import check_phi, labels_in_one_fold, training_folds
from ensemble.language_gate import LanguageGate
from ensemble.processes import in_processes, keeping
from ensemble.progress import stage
from ensemble.settings import EngineSettings
from ensemble.stacker import Stacker
from ensemble.stopwatch import Spent, Stopwatch
from ensemble.subsets import fit_subset_stackers
from features.documents import Corpus, Document, Span
from features.errors import TrainingError
from features.plain_view import plain_view
from features.saved_files import SavedFiles
from features.shown import explained, shown_label
from features.table import FeatureSpace, FeatureTable
from features.tags import OUTSIDE
from submodels.base import Candidate, new_submodel, submodel_class

__all__ = ["Proposed", "Training", "out_of_fold_corpora", "propose", "train"]

_LOG = logging.getLogger("phistack")
Proposals = list[list[Candidate]]

_FEATURES, _FITS, _STACKER, _SUBSETS = 1, 90, 6, 3
"""What the parts of a training take of its time, in percent."""


@dataclass(frozen=True)
class Training:
    """A trained engine and how it came about.

    :param engine: ready to annotate.
    :param out_of_fold: for each submodel, its candidates for each training note, proposed out of fold.
    :param seconds: (submodel, part) -> what it took; the part is `fold K of N` or `all`. Beside the submodels there are
        `features`, `load` (of the trained submodels) and `stacker`.
    :param warnings: what the tags cannot express, how often.
    """

    engine: Engine
    out_of_fold: Mapping[str, Proposals] = field(repr=False)
    seconds: Mapping[tuple[str, str], Spent]
    warnings: Counter[str]

    def only(self, names: Iterable[str]) -> Training:
        """The same with some of the submodels and the stacker that was trained for them."""
        engine = self.engine.only(names)
        return replace(self, engine=engine, out_of_fold={name: self.out_of_fold[name] for name in engine.names})


@dataclass(frozen=True)
class Proposed:
    """What every submodel proposes for notes of patients that it never saw.

    :param tables: the training notes.
    :param out_of_fold: for each submodel, its candidates for each training note, proposed out of fold; empty if those
        were not asked for.
    :param unseen: the other notes.
    :param on_unseen: for each submodel, its candidates for each other note, after training on all training notes.
    :param seconds: (submodel, part) -> what it took; the part is `fold K of N` or `unseen`.
    :param warnings: what the tags cannot express, how often.
    """

    tables: Sequence[FeatureTable] = field(repr=False)
    out_of_fold: Mapping[str, Proposals] = field(repr=False)
    unseen: Sequence[FeatureTable] = field(repr=False)
    on_unseen: Mapping[str, Proposals] = field(repr=False)
    seconds: Mapping[tuple[str, str], Spent]
    warnings: Counter[str]


@dataclass(frozen=True)
class _Task:
    """One fit: of a submodel on some notes, to propose for others or, where there are none, to save the model."""

    name: str
    settings: Mapping[str, Any]
    part: str
    training: Sequence[FeatureTable] = field(repr=False)
    held_out: Sequence[FeatureTable] = field(repr=False)
    indices: Sequence[int] = field(repr=False)
    seed: int
    folder: Path | None = None

    @property
    def size(self) -> int:
        """Of the notes to learn from, in tokens."""
        return 1 + sum(map(len, self.training))

    def key(self) -> str:
        space = self.training[0].space
        return FoldCache.key(
            [table.document for table in self.training],
            [table.document for table in self.held_out],
            self.name,
            dict(self.settings),
            self.seed,
            space.settings.columns,
            repr(space.settings),
        )

    def run(self) -> Proposals:
        """Fit, then propose for the held-out notes, or save the model where there are none."""
        model = new_submodel(self.name, self.settings).fit(self.training, seed=self.seed)
        if self.folder is None:
            return model.propose(self.held_out)
        self.folder.mkdir(parents=True)
        model.save(self.folder)
        return []


def train(
    corpus: Corpus, settings: EngineSettings | None = None, *, jobs: int = 1, cache: Path | None = None
) -> Training:
    """Train all submodels and the stacker.

    :param corpus: annotated notes of at least two patients; with fewer than `settings.folds` there are fewer folds.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which fold predictions are kept for the next run.
    :raises TrainingError: if the corpus has no PHI, or that of one patient only.
    """
    settings = (settings or EngineSettings()).for_label_set(corpus.label_set.name)
    with (
        stage("training", total=_FEATURES + _FITS + _STACKER + _SUBSETS),
        tempfile.TemporaryDirectory(prefix="phistack-") as temporary,
    ):
        watch = Stopwatch()
        space, tables, folds, warnings = _prepared(corpus, settings)
        prepared = watch.spent()
        folder = Path(temporary)
        tasks = list(_tasks(settings, tables, folds, folder=folder))
        out_of_fold, seconds = _run(tasks, len(tables), jobs, FoldCache(cache))
        watch = Stopwatch()
        models = [submodel_class(name).load(SavedFiles.of_folder(folder / name), space) for name in settings.submodels]
        seconds |= {("features", "all"): prepared, ("load", "all"): watch.spent()}
        pools = _pools(out_of_fold)
        watch = Stopwatch()
        with stage("stacker", weight=_STACKER):
            stacker = Stacker(settings.stacker).fit(tables, pools, sources=tuple(out_of_fold), seed=settings.seed)
        seconds["stacker", "all"] = watch.spent()
        watch = Stopwatch()
        smaller = fit_subset_stackers(stacker, tables, out_of_fold, seed=settings.seed, weight=_SUBSETS)
        seconds["stacker", "subsets"] = watch.spent()
    gate = LanguageGate.fit((document.text for document in corpus.documents), settings.features.language)
    engine = Engine(corpus.label_set, space, models, stacker, smaller, gate)
    return Training(engine, out_of_fold, seconds, warnings)


def propose(
    corpus: Corpus,
    settings: EngineSettings,
    *,
    unseen: Sequence[Document] = (),
    out_of_fold: bool = True,
    jobs: int = 1,
    cache: Path | None = None,
) -> Proposed:
    """Let all submodels propose for notes that they never saw, and keep no model.

    :param corpus: annotated notes to train on.
    :param unseen: other notes, for which the submodels propose after training on the whole corpus.
    :param out_of_fold: whether they also propose for the corpus, fold by fold.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises TrainingError: if the corpus has no PHI, or too few patients.
    """
    settings = settings.for_label_set(corpus.label_set.name)
    with stage("training", total=_FEATURES + _FITS):
        space, tables, folds, warnings = _prepared(corpus, settings, folds=out_of_fold)
        others = space.tables(unseen)
        tasks = list(_tasks(settings, tables, folds, unseen=others))
        proposals, seconds = _run(tasks, len(tables) + len(others), jobs, FoldCache(cache))
    n = len(tables)
    return Proposed(
        tables=tables,
        out_of_fold={name: notes[:n] for name, notes in proposals.items()} if out_of_fold else {},
        unseen=others,
        on_unseen={name: notes[n:] for name, notes in proposals.items()} if others else {},
        seconds=seconds,
        warnings=warnings,
    )


def out_of_fold_corpora(training: Training, corpus: Corpus) -> dict[str, Corpus]:
    """What each submodel alone, and the stack, say of the training notes out of fold, as corpora to be scored.

    The stack's kernel and threshold were chosen on these very notes, so its score is slightly too good.
    """
    views = list(map(plain_view, corpus.documents))
    spans = {name: list(map(chosen_spans, notes, views)) for name, notes in training.out_of_fold.items()}
    spans["stack"] = training.engine.stacker.out_of_fold_
    return {name: replace(corpus, documents=_annotated(corpus.documents, notes)) for name, notes in spans.items()}


def _annotated(documents: Sequence[Document], notes: Sequence[Sequence[Span]]) -> tuple[Document, ...]:
    return tuple(document.with_spans(spans) for document, spans in zip(documents, notes, strict=True))


def _prepared(
    corpus: Corpus, settings: EngineSettings, *, folds: bool = True
) -> tuple[FeatureSpace, list[FeatureTable], list[list[int]], Counter[str]]:
    """The features of a corpus, its folds (none where they are not wanted), and what its tags cannot express."""
    for name, arguments in settings.submodels.items():
        new_submodel(name, arguments)
    documents = corpus.documents
    if not any(document.spans for document in documents):
        raise TrainingError("the corpus has no annotated PHI, so nothing can be learned; check its format and labels")
    parts = training_folds(documents, n_folds=settings.folds, seed=settings.seed) if folds else []
    for label in labels_in_one_fold(documents, parts):
        told = (
            f"the label {shown_label(label)} occurs in one fold only, so the stacker never sees it predicted; add notes"
        )
        _LOG.warning("%s%s", told, explained(told))
    space = FeatureSpace(settings.features)
    with stage("features", weight=_FEATURES):
        tables = space.fit(documents)
    warnings: Counter[str] = Counter()
    tags = [table.tags(counts=warnings) for table in tables]
    check_phi([any(tag != OUTSIDE for tag in of_note) for of_note in tags], parts)
    return space, tables, parts, warnings


def _tasks(
    settings: EngineSettings,
    tables: Sequence[FeatureTable],
    folds: Sequence[Sequence[int]],
    *,
    folder: Path | None = None,
    unseen: Sequence[FeatureTable] = (),
) -> Iterator[_Task]:
    """All fits, the dear ones first so that no process is left with one at the end.

    :param folder: where models of all notes are saved; without it there are none.
    :param unseen: further notes to propose for; their indices follow those of `tables`.
    """
    seed = settings.seed
    for name in sorted(settings.submodels, key=COSTS.__getitem__, reverse=True):
        arguments = settings.submodels[name]
        if folder is not None:
            yield _Task(name, arguments, "all", tables, (), (), seed, folder / name)
        if unseen:
            indices = range(len(tables), len(tables) + len(unseen))
            yield _Task(name, arguments, "unseen", tables, unseen, indices, seed)
        for number, fold in enumerate(folds, start=1):
            held = set(fold)
            rest = [table for i, table in enumerate(tables) if i not in held]
            part = f"fold {number} of {len(folds)}"
            yield _Task(name, arguments, part, rest, [tables[i] for i in fold], fold, seed)


def _run(
    tasks: Sequence[_Task], n_documents: int, jobs: int, cache: FoldCache
) -> tuple[dict[str, Proposals], dict[tuple[str, str], Spent]]:
    names = sorted({task.name for task in tasks}, key=COSTS.__getitem__)
    out_of_fold: dict[str, Proposals] = {name: [[] for _ in range(n_documents)] for name in names}
    seconds: dict[tuple[str, str], Spent] = {}
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        path = Path(folder) / "reports"
        watch = FitWatch([Fit(task.name, task.part, task.size) for task in tasks], path)
        calls = [partial(_timed, number, task, cache, path) for number, task in enumerate(tasks)]
        with stage("", total=1.0, weight=_FITS, look=watch.look), keeping(lambda: _kept(tasks, watch, cache)):
            for i, proposals, spent in in_processes(calls, jobs=jobs):
                task = tasks[i]
                seconds[task.name, task.part] = spent
                for index, candidates in zip(task.indices, proposals, strict=True):
                    out_of_fold[task.name][index] = candidates
                watch.ended(i, 0.0 if spent.cached else spent.wall)
    return out_of_fold, seconds


def _kept(tasks: Sequence[_Task], watch: FitWatch, cache: FoldCache) -> str:
    """What is left of a training that is stopped."""
    again = "and the same command goes on there"
    if cache.folder is None:
        return f"nothing was written; with --cache FOLDER, the fits of folds that are done are kept, {again}"
    kept = sum(fit.seconds is not None and task.folder is None for task, fit in zip(tasks, watch.fits, strict=True))
    return f"{kept} of {len(tasks)} fits are kept in {cache.folder}, {again}"


def _timed(number: int, task: _Task, cache: FoldCache, reports: Path) -> tuple[int, Proposals, Spent]:
    """Do a task, or take what it gave from the cache, and report how far it is to a file."""
    watch = Stopwatch()
    key = task.key() if task.folder is None else ""
    kept = cache.get(key) if key else None
    if kept is not None:
        return number, kept, watch.spent(cached=True)
    with reporting(reports, number), _temporary_files_in(reports.parent):
        proposals = task.run()
    if key:
        cache.put(key, proposals)
    return number, proposals, watch.spent()


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """A process that is killed leaves its temporary files; in this folder, another one removes them."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _pools(out_of_fold: Mapping[str, Proposals]) -> list[list[PooledCandidate]]:
    return [pooled(proposals) for proposals in zip(*out_of_fold.values(), strict=True)]
