"""The fits of a training in parallel processes, with a cache for those of folds.

    run_fits(settings, tasks, len(tables), jobs=2, cache=FoldCache(None)).proposed["crf"]

A process returns a model as the files that it saves, which go into the bundle. It appends reports to a file, which the
first process reads to show how much of the time has passed. The time of a fit is estimated from earlier fits of its
submodel; before any, from the relative costs of the kinds.

    watch = FitWatch([Fit("blstm", "fold 1 of 2", 5200, cost=574.0), ...], path)
    with reporting(path, 0):         in the process of the first fit
        model.fit(tables)
    watch.look()                     (0.31, "1 of 4 fits, now blstm, fold 1 of 2 (epoch 3 of 12)")
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from phistack.ensemble.tools.clock import Spent, Stopwatch
from phistack.ensemble.tools.processes import in_processes, keeping
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.fit_tasks import FitTask, FoldCache, pretraining_tasks, reading_tasks
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.reporting import listening
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Candidate, NoteProposals, kind_of, submodel_class

FITS = 88
"""The share of the fits in the time of a training, in percent."""

_SECONDS_BETWEEN_REPORTS = 0.5
_ENOUGH = 0.1
"""The share of a fit from which its time can be estimated."""
_TELLING = 0.05
"""The share of all costs that must be known before the other costs are estimated from it."""
_MOST = 0.95
"""The largest share of a fit that is still running."""

Proposals = list[list[Candidate]]
"""For each note, the candidates of one submodel."""


class Fitted(NamedTuple):
    """The results of all fits by submodel: proposals for each note that it did not learn from, the files of its final
    model, the time of each part, and the files of the pretrained model.
    """

    proposed: dict[str, list[NoteProposals]]
    models: dict[str, SavedFiles]
    seconds: dict[tuple[str, str], Spent]
    starts: dict[str, SavedFiles]

    def add(self, task: FitTask, found: list[NoteProposals] | SavedFiles, spent: Spent) -> None:
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
    notes = (table.document for task in tasks for table in (*task.training, *task.held_out))
    pretraining = pretraining_tasks(settings, tasks[0].training[0].space, notes)
    starts = {task.name: task for task in (*reading_tasks(settings, tasks), *pretraining)}
    keys = {name: task.key() for name, task in starts.items() if cache.folder}
    tasks = [replace(task, begins_with=keys.get(task.name, "")) for task in tasks]
    waiting = {task.name for task in tasks if task.name in starts and cache.get(_key_in(cache, task)) is None}
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
                watch.fits[number].seconds = 0.0 if spent.cached else spent.wall
    return fitted


def _in_turn(
    order: Sequence[FitTask], waiting: Collection[str], starts: Mapping[str, SavedFiles]
) -> Iterator[tuple[int, FitTask] | None]:
    """The tasks with their numbers; `None` while the next one's submodel still waits for its pretrained model."""
    for number, task in enumerate(order):
        if task.name in waiting and not task.is_pretraining:
            while task.name not in starts:
                yield None
            yield number, replace(task, start=starts[task.name])
        else:
            yield number, task


def _to_watch(task: FitTask) -> Fit:
    ahead = "reading ahead" if submodel_class(kind_of(task.name, task.settings)).reads_ahead else "on other notes"
    name = f"{task.name} {ahead}" if task.is_pretraining else task.name
    return Fit(name, task.part, 1 + sum(map(len, task.training)), task.cost)


def _kept(tasks: Sequence[FitTask], watch: FitWatch, cache: FoldCache) -> str:
    """What a stopped training keeps, in words."""
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


@contextmanager
def reporting(path: Path, number: int) -> Iterator[None]:
    """Append what this process reports to a file, from the start of a fit, at most twice a second."""
    begin, last = time.monotonic(), 0.0
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(share: float | None, words: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_REPORTS:
            last = now
            os.write(descriptor, json.dumps([number, now - begin, share, words]).encode() + b"\n")

    try:
        write(None, "")
        with listening(write):
            yield
    finally:
        os.close(descriptor)


@dataclass(slots=True)
class Fit:
    """The state of one fit.

    :param name: of the submodel, and `part` says which of its fits.
    :param size: of the notes that it learns from, above 0.
    :param cost: of a fit of its kind, relative to other kinds, above 0.
    :param begun: when it began, by its last report, with the seconds since then, the share done and words on it.
    :param seconds: its duration, after its end; 0 if it was read from a cache.
    """

    name: str
    part: str
    size: float
    cost: float
    begun: float | None = None
    lasted: float = 0.0
    reported: float | None = None
    words: str = ""
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.name}, {self.part}" + (f" ({self.words})" if self.words else "")

    def estimate(self) -> float | None:
        """Its duration in seconds; `None` if it cannot be estimated from its reports."""
        if self.seconds is None and self.reported is not None and self.reported >= _ENOUGH:
            return self.lasted / self.reported or None
        return self.seconds or None

    def share(self, seconds: float, now: float) -> float:
        """The share that is done if the whole takes this many seconds."""
        if self.seconds is not None or self.begun is None:
            return float(self.seconds is not None)
        share = self.reported
        if share is None:
            share = (now - self.begun) / seconds if seconds else 0.0
        return min(share, _MOST)


class FitWatch:
    """Reads what `reporting` wrote about fits, in the order of their numbers, and adds it up."""

    def __init__(self, fits: Sequence[Fit], path: Path) -> None:
        self.fits = fits
        self._path = path
        self._offset = 0

    @property
    def n_done(self) -> int:
        return sum(fit.seconds is not None for fit in self.fits)

    def look(self) -> tuple[float, str]:
        """The share of the time that is done, 0 until it can be estimated, and the running fits in words."""
        now = time.monotonic()
        self._read(now)
        costs, known = self._costs()
        done = sum(cost * fit.share(cost, now) for cost, fit in zip(costs, self.fits, strict=True)) if known else 0.0
        at_work = "; ".join(str(fit) for fit in self.fits if fit.begun is not None and fit.seconds is None)
        words = f"{self.n_done} of {len(self.fits)} fits" + (f", now {at_work}" if at_work else "")
        return (done / sum(costs) if any(costs) else 1.0), words

    def _read(self, now: float) -> None:
        """Read the complete lines that were appended since the last time."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            lines = file.read().rpartition(b"\n")[0]
        self._offset += len(lines) + bool(lines)
        for line in lines.splitlines():
            number, seconds, share, words = json.loads(line)
            fit = self.fits[number]
            fit.begun, fit.lasted, fit.reported, fit.words = now - seconds, seconds, share, words

    def _costs(self) -> tuple[list[float], bool]:
        """The duration of each fit in seconds, 0 if it was read from a cache; and whether these can be relied on."""
        rates: defaultdict[str, list[float]] = defaultdict(list)
        for fit in self.fits:
            seconds = fit.estimate()
            if seconds is not None:
                rates[fit.name].append(seconds / fit.size)
        known = {name: fmean(found) for name, found in rates.items()}
        cost = {fit.name: fit.cost for fit in self.fits}
        known_cost = sum(map(cost.__getitem__, known))
        scale = sum(known.values()) / known_cost if known else 1e-3
        durations = [
            fit.size * known.get(fit.name, scale * fit.cost) if fit.seconds is None else fit.seconds
            for fit in self.fits
        ]
        return durations, known_cost >= _TELLING * sum(cost.values()) or self.n_done == len(self.fits)
