"""What every submodel proposes for notes of patients that it never saw.

    proposed = propose(corpus, settings, unseen=others.documents)
    proposed.out_of_fold["crf"]     for each training note, candidates of a CRF that was not trained on its patient
    proposed.on_unseen["crf"]       for each other note, candidates of a CRF that was trained on the whole corpus

Every fit, of one submodel on some of the notes, is independent of the others; they run in parallel processes. A model
that is kept comes from its process as the files that it saves, which are those of the bundle.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from ensemble.stacking.folds import check_phi, labels_in_one_fold, training_folds
from ensemble.tools.processes import in_processes, keeping
from ensemble.tools.progress import stage
from ensemble.tools.stopwatch import Spent, Stopwatch
from ensemble.training.fit_progress import Fit, FitWatch, reporting
from ensemble.training.fold_cache import FoldCache
from ensemble.training.left_out_labels import learned_documents, without_labels
from ensemble.training.settings import EngineSettings
from features.columns.table import FeatureSpace, FeatureTable
from features.documents import Corpus, Document
from features.errors import TrainingError
from features.saved_files import SavedFiles
from features.shown import explained, shown_label
from features.tags import OUTSIDE
from submodels.base import Candidate, Submodel, Told, kind_of, new_submodel, submodel_class
from submodels.registry import usual_name

__all__ = [
    "FEATURES",
    "FITS",
    "Fitted",
    "Proposals",
    "Proposed",
    "apart_from",
    "prepared",
    "propose",
    "run_tasks",
    "tasks_of",
]

_LOG = logging.getLogger("phistack")
Proposals = list[list[Candidate]]
"""For each note, the candidates of one submodel."""

FEATURES, FITS = 1, 88
"""What the parts of a training take of its time, in percent."""


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
class FitTask:
    """One fit: of a submodel on some notes, to propose for others or, where there are none, to keep the model."""

    name: str
    settings: Mapping[str, Any]
    part: str
    training: Sequence[FeatureTable] = field(repr=False)
    held_out: Sequence[FeatureTable] = field(repr=False)
    indices: Sequence[int] = field(repr=False)
    seed: int

    @property
    def keeps_model(self) -> bool:
        """Whether the model itself is wanted, which no cache has."""
        return not self.held_out

    @property
    def cost(self) -> float:
        """What a fit of the kind costs beside those of others."""
        return submodel_class(kind_of(self.name, self.settings)).cost

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
            space.representations_.digest,
            *_digests_of_files(self.settings),
        )

    def run(self) -> list[Told] | SavedFiles:
        """Fit, then tell of the held-out notes, or save the model where there are none."""
        model = new_submodel(self.name, self.settings).fit(self.training, seed=self.seed)
        return SavedFiles.written_by(model.save) if self.keeps_model else _checked(model, model.tell(self.held_out))


def _digests_of_files(settings: Mapping[str, Any]) -> Iterator[str]:
    """SHA-256 of each file that settings name, as what is in it counts and not how it is called."""
    for value in settings.values():
        if isinstance(value, Mapping):
            yield from _digests_of_files(value)
        elif isinstance(value, str):
            with suppress(OSError, ValueError):
                yield hashlib.sha256(Path(value).read_bytes()).hexdigest()


class Fitted(NamedTuple):
    """What all fits gave.

    :ivar told: for each submodel, what it says of each note that it did not learn from.
    :ivar models: for each submodel, the files of the model that is kept.
    :ivar seconds: (submodel, part) -> what it took.
    """

    told: dict[str, list[Told]]
    models: dict[str, SavedFiles]
    seconds: dict[tuple[str, str], Spent]

    @property
    def proposals(self) -> dict[str, Proposals]:
        """For each submodel, its candidates for each of these notes."""
        return {name: [note.candidates for note in notes] for name, notes in self.told.items()}


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
    """Let all submodels propose for notes that they never saw, and keep no model.

    :param corpus: annotated notes to train on.
    :param unseen: other notes, for which the submodels propose after training on the whole corpus.
    :param out_of_fold: whether they also propose for the corpus, fold by fold.
    :param added: further annotated notes to learn from; none is learned from where its patient or text is held out.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises TrainingError: if the corpus has no PHI, or too few patients.
    """
    settings = settings.for_label_set(corpus.label_set.name)
    with stage("training", total=FEATURES + FITS):
        space, every, folds, warnings = prepared(corpus, settings, folds=out_of_fold, added=added)
        tables, more = every[: len(corpus)], every[len(corpus) :]
        others = space.tables(unseen)
        tasks = list(tasks_of(settings, tables, folds, unseen=others, added=more))
        fitted = run_tasks(tasks, settings.submodels, len(tables) + len(others), jobs, FoldCache(cache))
    proposals = fitted.proposals
    n = len(tables)
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
    """The features of a corpus, its folds (none where they are not wanted), and what its tags cannot express.

    :param added: further notes to learn from, which are in no fold; their tables follow those of the corpus.
    """
    for name, arguments in settings.submodels.items():
        new_submodel(name, arguments)
    documents = learned_documents(settings.grouped(corpus), settings)
    added = without_labels(added, settings.stacker.rule_labels)
    if not any(document.spans for document in documents):
        raise TrainingError("the corpus has no annotated PHI, so nothing can be learned; check its format and labels")
    parts = training_folds(documents, n_folds=settings.folds, seed=settings.seed) if folds else []
    for label in labels_in_one_fold(documents, parts):
        message = (
            f"the label {shown_label(label)} occurs in one fold only, so the stacker cannot learn about it; add notes"
        )
        _LOG.warning("%s%s", message, explained(message))
    space = FeatureSpace(settings.features)
    with stage("features", weight=FEATURES):
        tables = space.fit((*documents, *added))
    warnings: Counter[str] = Counter()
    tags = [table.tags(counts=warnings) for table in tables[: len(documents)]]
    check_phi([any(tag != OUTSIDE for tag in of_note) for of_note in tags], parts)
    return space, tables, parts, warnings


def tasks_of(
    settings: EngineSettings,
    tables: Sequence[FeatureTable],
    folds: Sequence[Sequence[int]],
    *,
    models: bool = False,
    unseen: Sequence[FeatureTable] = (),
    added: Sequence[FeatureTable] = (),
) -> Iterator[FitTask]:
    """All fits: one of each submodel, the cheapest first, so that the time left is soon known, and then the costly ones
    first, so that no process is left with one at the end.

    :param models: whether the models of all notes are kept.
    :param unseen: further notes to propose for; their indices follow those of `tables`.
    :param added: further notes to learn from; see `_with_added` and `apart_from`.
    """
    apart = apart_from(table.document for table in unseen)
    every = [*tables, *added] if added else tables
    of_others = [*tables, *(table for table in added if apart(table.document))]
    classes = {name: submodel_class(kind_of(name, given)) for name, given in settings.submodels.items()}
    by_kind = []
    for name, found in sorted(classes.items(), key=lambda row: row[1].cost, reverse=True):
        arguments, seed = settings.submodels[name], settings.seed + _own_seed(name, found.kind)
        fits = []
        if models:
            fits.append(FitTask(name, arguments, "all", every, (), (), seed))
        if unseen:
            indices = range(len(tables), len(tables) + len(unseen))
            fits.append(FitTask(name, arguments, "unseen", of_others, unseen, indices, seed))
        for number, fold in enumerate(folds, start=1):
            rest = _with_added(tables, fold, added, number - 1, len(folds))
            part = f"fold {number} of {len(folds)}"
            fits.append(FitTask(name, arguments, part, rest, [tables[i] for i in fold], fold, seed))
        by_kind.append(fits)
    yield from (fits.pop() for fits in reversed(by_kind) if fits)
    yield from chain.from_iterable(by_kind)


def _with_added(
    tables: Sequence[FeatureTable], fold: Sequence[int], added: Sequence[FeatureTable], number: int, n_folds: int
) -> list[FeatureTable]:
    """What is learned from where a fold is held out: the other notes, and of those added all but an n-th part.

    That is how Berg and Dalianis (2019) add a corpus.
    """
    held = set(fold)
    rest = [table for i, table in enumerate(tables) if i not in held]
    apart = apart_from(tables[i].document for i in fold)
    return rest + [table for i, table in enumerate(added) if i % n_folds != number and apart(table.document)]


def apart_from(held_out: Iterable[Document]) -> Callable[[Document], bool]:
    """Tells whether a note is of no patient, and has no text, of those that are held out."""
    patients, texts = set[str](), set[str]()
    for document in held_out:
        patients.add(document.group)
        texts.add(document.text)
    return lambda document: document.group not in patients and document.text not in texts


def _own_seed(name: str, kind: str) -> int:
    """What a name of its own adds to the seed, so that two submodels of one kind do not begin alike."""
    return 0 if name == usual_name(kind) else 1 + crc32(name.encode()) % 1_000_000


def _checked(model: Submodel, told: list[Told]) -> list[Told]:
    """See that candidates name the submodel that proposed them, as the stacker knows them by that."""
    if any(candidate.source != model.name for note in told for candidate in note.candidates):
        raise TrainingError(
            f"the submodel {model.name} proposes candidates under another name; {type(model).__name__} must use its "
            "own name as their source"
        )
    return told


def run_tasks(tasks: Sequence[FitTask], names: Iterable[str], n_documents: int, jobs: int, cache: FoldCache) -> Fitted:
    """Do the fits in parallel processes.

    :param names: of the submodels, in the order of the engine.
    """
    fitted = Fitted({name: [Told([])] * n_documents for name in names}, {}, {})
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        path = Path(folder) / "reports"
        watch = FitWatch([Fit(task.name, task.part, task.size, task.cost) for task in tasks], path)
        calls = [partial(_timed, number, task, cache, path) for number, task in enumerate(tasks)]
        with stage("", total=1.0, weight=FITS, look=watch.look), keeping(lambda: _kept(tasks, watch, cache)):
            for i, found, spent in in_processes(calls, jobs=jobs):
                task = tasks[i]
                fitted.seconds[task.name, task.part] = spent
                if isinstance(found, SavedFiles):
                    fitted.models[task.name] = found
                else:
                    for index, note in zip(task.indices, found, strict=True):
                        fitted.told[task.name][index] = note
                watch.ended(i, 0.0 if spent.cached else spent.wall)
    return fitted


def _kept(tasks: Sequence[FitTask], watch: FitWatch, cache: FoldCache) -> str:
    """What is left of a training that is stopped."""
    again = "and the same command continues from there"
    if cache.folder is None:
        return f"nothing was written; with --cache FOLDER, the fits of folds that are done are kept, {again}"
    kept = sum(fit.seconds is not None and not task.keeps_model for task, fit in zip(tasks, watch.fits, strict=True))
    return f"{kept} of {len(tasks)} fits are kept in {cache.folder}, {again}"


def _timed(number: int, task: FitTask, cache: FoldCache, reports: Path) -> tuple[int, list[Told] | SavedFiles, Spent]:
    """Do a task, or take what it gave from the cache, and report how far it is to a file."""
    watch = Stopwatch()
    key = "" if task.keeps_model else task.key()
    kept = cache.get(key) if key else None
    if kept is not None:
        return number, kept, watch.spent(cached=True)
    with reporting(reports, number), _temporary_files_in(reports.parent):
        found = task.run()
    if not isinstance(found, SavedFiles):
        cache.put(key, found)
    return number, found, watch.spent()


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """A process that is killed leaves its temporary files; in this folder, another one removes them."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
