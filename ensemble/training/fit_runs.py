"""The fits of a training done in parallel processes, with the cache of what those of folds gave.

    run_fits(settings, tables, folds, jobs=2, cache=FoldCache(None)).told["crf"]

A model that is kept comes from its process as the files that it saves, which are those of the bundle.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ensemble.tools.processes import in_processes, keeping
from ensemble.tools.progress import stage
from ensemble.tools.stopwatch import Spent, Stopwatch
from ensemble.training.fit_progress import Fit, FitWatch, reporting
from ensemble.training.fit_tasks import FitTask, head_starts_of, tasks_of
from ensemble.training.fold_cache import FoldCache
from ensemble.training.settings import EngineSettings
from features.columns.table import FeatureTable
from features.saved_files import SavedFiles
from submodels.base import Candidate, Told

__all__ = ["FITS", "Fitted", "Proposals", "run_fits"]

FITS = 88
"""What the fits take of the time of a training, in percent."""

Proposals = list[list[Candidate]]
"""For each note, the candidates of one submodel."""


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


def run_fits(
    settings: EngineSettings,
    tables: Sequence[FeatureTable],
    folds: Sequence[Sequence[int]],
    *,
    models: bool = False,
    unseen: Sequence[FeatureTable] = (),
    added: Sequence[FeatureTable] = (),
    jobs: int,
    cache: FoldCache,
) -> Fitted:
    """Do all fits in parallel processes, those on invented notes first; the parameters are those of `tasks_of`."""
    starts = {task.name: task for task in head_starts_of(settings, tables[0].space)}
    keys = {name: task.key() for name, task in starts.items() if cache.folder}
    every = tasks_of(settings, tables, folds, models=models, unseen=unseen, added=added)
    tasks = [replace(task, begins_with=keys.get(task.name, "")) for task in every]
    wanted = {task.name for task in tasks if task.keeps_model or not cache.folder or task.key() not in cache}
    first = [task for name, task in starts.items() if name in wanted]
    share = _cost(first) / (_cost(first) + _cost(tasks))
    begun = _run(first, {}, jobs, cache, weight=FITS * share)
    started = [replace(task, start=begun.models.get(task.name)) for task in tasks]
    told = {name: [Told([])] * (len(tables) + len(unseen)) for name in settings.submodels}
    fitted = _run(started, told, jobs, cache, weight=FITS * (1 - share))
    return fitted._replace(seconds=begun.seconds | fitted.seconds)


def _cost(tasks: Sequence[FitTask]) -> float:
    return sum(task.size * task.cost for task in tasks)


def _run(
    tasks: Sequence[FitTask], told: dict[str, list[Told]], jobs: int, cache: FoldCache, *, weight: float
) -> Fitted:
    """Do some fits.

    :param told: for each submodel a place for what it says of each note.
    """
    fitted = Fitted(told, {}, {})
    if not tasks:
        return fitted
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        path = Path(folder) / "reports"
        watch = FitWatch([Fit(task.name, task.part, task.size, task.cost) for task in tasks], path)
        calls = [partial(_timed, number, task, cache, path) for number, task in enumerate(tasks)]
        with stage("", total=1.0, weight=weight, look=watch.look), keeping(lambda: _kept(tasks, watch, cache)):
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
    key = task.key() if cache.folder and not task.keeps_model else ""
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
