"""The fits of a training done in parallel processes, with the cache of what those of folds gave.

    run_tasks(tasks, ("regex", "crf"), len(tables), jobs=2, cache=FoldCache(None)).told["crf"]

A model that is kept comes from its process as the files that it saves, which are those of the bundle.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ensemble.tools.processes import in_processes, keeping
from ensemble.tools.progress import stage
from ensemble.tools.stopwatch import Spent, Stopwatch
from ensemble.training.fit_progress import Fit, FitWatch, reporting
from ensemble.training.fit_tasks import FitTask
from ensemble.training.fold_cache import FoldCache
from features.saved_files import SavedFiles
from submodels.base import Candidate, Told

__all__ = ["FITS", "Fitted", "Proposals", "run_tasks"]

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
