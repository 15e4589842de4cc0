"""The fits of a training in parallel processes, with a cache for those of folds.

    run_fits(settings, tasks, len(tables), jobs=2, cache=FoldCache(None)).proposed["crf"]

A process returns a model as the files that it saves, which go into the bundle.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from phistack.ensemble.tools.processes import in_processes, keeping
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.tools.stopwatch import Spent, Stopwatch
from phistack.ensemble.training.fit_progress import Fit, FitWatch, reporting
from phistack.ensemble.training.fit_tasks import FitTask, pretraining_tasks, reading_tasks
from phistack.ensemble.training.fold_cache import FoldCache
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Candidate, NoteProposals, kind_of, submodel_class

FITS = 88
"""The share of the fits in the time of a training, in percent."""

Proposals = list[list[Candidate]]
"""For each note, the candidates of one submodel."""


class Fitted(NamedTuple):
    """The results of all fits.

    :ivar proposed: submodel -> its proposals for each note that it did not learn from.
    :ivar models: submodel -> the files of its final model.
    :ivar seconds: (submodel, part) -> time spent.
    :ivar starts: submodel -> the files of the model that was pretrained on invented notes.
    """

    proposed: dict[str, list[NoteProposals]]
    models: dict[str, SavedFiles]
    seconds: dict[tuple[str, str], Spent]
    starts: dict[str, SavedFiles]

    def add(self, task: FitTask, found: list[NoteProposals] | SavedFiles, spent: Spent) -> None:
        """Add the result of one fit."""
        self.seconds[task.name, task.part] = spent
        if isinstance(found, SavedFiles):
            (self.starts if task.is_pretraining else self.models)[task.name] = found
        else:
            for index, note in zip(task.indices, found, strict=True):
                self.proposed[task.name][index] = note

    @property
    def proposals(self) -> dict[str, Proposals]:
        """Submodel -> its candidates for each of these notes."""
        return {name: [note.candidates for note in notes] for name, notes in self.proposed.items()}


def run_fits(
    settings: EngineSettings, tasks: Sequence[FitTask], n_notes: int, *, jobs: int, cache: FoldCache
) -> Fitted:
    """Do all fits in parallel processes; submodels with pretraining wait for it, while others are fitted.

    :param tasks: those of `tasks_of`, in this order.
    :param n_notes: the number of notes to propose for.
    """
    pretraining = pretraining_tasks(settings, tasks[0].training[0].space)
    starts = {task.name: task for task in (*reading_tasks(settings, tasks), *pretraining)}
    keys = {name: task.key() for name, task in starts.items() if cache.folder}
    tasks = [replace(task, begins_with=keys.get(task.name, "")) for task in tasks]
    waiting = {task.name for task in tasks if task.name in starts and _key_in(cache, task) not in cache}
    first = [task for name, task in starts.items() if name in waiting]
    order = [*first, *sorted(tasks, key=lambda task: task.name in waiting)]
    fitted = Fitted({name: [NoteProposals([])] * n_notes for name in settings.submodels}, {}, {}, {})
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        path = Path(folder) / "reports"
        watch = FitWatch([_to_watch(task) for task in order], path)
        turns = _in_turn(order, waiting, fitted.starts)
        calls = (turn and partial(_timed, *turn, cache, path) for turn in turns)
        with stage("", total=1.0, weight=FITS, look=watch.look), keeping(lambda: _kept(order, watch, cache)):
            for number, found, spent in in_processes(calls, jobs=jobs):
                fitted.add(order[number], found, spent)
                watch.ended(number, 0.0 if spent.cached else spent.wall)
    return fitted


def _in_turn(
    order: Sequence[FitTask], waiting: Collection[str], starts: Mapping[str, SavedFiles]
) -> Iterator[tuple[int, FitTask] | None]:
    """The tasks with their numbers; `None` as long as the next one waits for its pretraining.

    :param waiting: the submodels whose tasks wait.
    :param starts: their pretrained models, as they are finished.
    """
    for number, task in enumerate(order):
        if task.name in waiting and not task.is_pretraining:
            while task.name not in starts:
                yield None
            yield number, replace(task, start=starts[task.name])
        else:
            yield number, task


def _to_watch(task: FitTask) -> Fit:
    ahead = "reading ahead" if submodel_class(kind_of(task.name, task.settings)).reads_ahead else "on invented notes"
    name = f"{task.name} {ahead}" if task.is_pretraining else task.name
    return Fit(name, task.part, task.size, task.cost)


def _kept(tasks: Sequence[FitTask], watch: FitWatch, cache: FoldCache) -> str:
    """What a stopped training leaves, in words."""
    again = "and the same command continues from there"
    if cache.folder is None:
        return f"nothing was written; with --cache FOLDER, the fits of folds that are done are kept, {again}"
    kept = sum(fit.seconds is not None and not task.keeps_model for task, fit in zip(tasks, watch.fits, strict=True))
    return f"{kept} of {len(tasks)} fits are kept in {cache.folder}, {again}"


def _timed(
    number: int, task: FitTask, cache: FoldCache, reports: Path
) -> tuple[int, list[NoteProposals] | SavedFiles, Spent]:
    """Do a task and report its progress to a file, or take its result from the cache."""
    watch = Stopwatch()
    key = _key_in(cache, task)
    kept = cache.get(key)
    if kept is not None:
        return number, kept, watch.spent(cached=True)
    with reporting(reports, number), _temporary_files_in(reports.parent):
        found = task.run()
    if not isinstance(found, SavedFiles):
        cache.put(key, found)
    return number, found, watch.spent()


def _key_in(cache: FoldCache, task: FitTask) -> str:
    """The key of a task in the cache; empty if it is not cached."""
    return task.key() if cache.folder and not task.keeps_model else ""


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Put temporary files into a folder that is removed even if this process is killed."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
