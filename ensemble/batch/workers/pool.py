"""Workers: this process, processes of this machine, or a cluster of Dask or Spark.

    with Workers(job, jobs=2) as workers:
        for chunk, results in workers.process(chunks): ...        as they are done, not in order

Only as many chunks are read as the workers can take. When a worker dies, all chunks under way are done again; a chunk
that was under way at two deaths is done in an isolated process, which finds the note at fault, if there is one.
"""

from __future__ import annotations

import concurrent.futures
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar

from phistack.ensemble.batch.rows import Row
from phistack.ensemble.batch.workers.clusters import CHUNKS_PER_SLOT, Cluster
from phistack.ensemble.batch.workers.identifier_register import IdentifierRegister, LeakSearch
from phistack.ensemble.batch.workers.isolation import IsolatedProcess, patience
from phistack.ensemble.batch.workers.job import Job, NoteResult
from phistack.ensemble.batch.workers.work import process_chunk
from phistack.ensemble.tools.processes import end_pool, start_pool
from phistack.features.errors import MissingResourceError

_T = TypeVar("_T")
_A = TypeVar("_A")
_R = TypeVar("_R")

_ATTEMPTS = 2
"""How often a chunk is tried among others before it gets an isolated process."""


@dataclass(slots=True, eq=False)
class _Task(Generic[_T, _A]):
    """A piece of work, what it is of, and how often a worker died while it was under way."""

    of: _T
    arguments: Sequence[_A] = field(repr=False)
    attempts: int = 0


class _ThisProcess(Executor):
    """Runs each call at once, in this process."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **keywords))
        return future


def _searched(job: Job, searches: Sequence[LeakSearch]) -> Counter[tuple[str, str]]:
    return IdentifierRegister(job.secret).search_all(searches)


class Workers:
    """Processes that de-identify.

    :param jobs: how many processes there are; one is this process.
    :param cluster: the cluster that does it instead; it stays open.
    """

    def __init__(self, job: Job, jobs: int = 1, cluster: Cluster | None = None) -> None:
        self.job, self.jobs, self._cluster = job, jobs, cluster
        self._alone = IsolatedProcess(job)
        self._lost = cluster.lost if cluster else (BrokenExecutor,)
        self._executor = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._alone.close()
        self._stop()

    @property
    def is_this_process(self) -> bool:
        """Whether the notes are in this process, which a deadly one would end."""
        return self.jobs == 1 and not self._cluster

    def process(
        self, chunks: Iterable[tuple[_T, Sequence[Row]]], deaths: Callable[[_T], int] = lambda chunk: 0
    ) -> Iterator[tuple[_T, list[NoteResult]]]:
        """De-identify the notes of chunks.

        :param chunks: anything, which comes back with the results, and its notes.
        :param deaths: how often a process died while a chunk was under way, in earlier starts of the run.
        :raises MissingResourceError: if workers die whatever they are given.
        """
        return self._map(process_chunk, chunks, self._alone.process, deaths)

    def search(
        self, chunks: Iterable[tuple[_T, Sequence[LeakSearch]]]
    ) -> Iterator[tuple[_T, Counter[tuple[str, str]]]]:
        """Search outputs for the identifiers of their patients."""
        return self._map(_searched, chunks, partial(_searched, self.job))

    def _map(
        self,
        function: Callable[[Job, Sequence[_A]], _R],
        chunks: Iterable[tuple[_T, Sequence[_A]]],
        last_resort: Callable[[Sequence[_A]], _R],
        deaths: Callable[[_T], int] = lambda of: 0,
    ) -> Iterator[tuple[_T, _R]]:
        todo = (_Task(of, arguments, deaths(of)) for of, arguments in chunks)
        pending: dict[Future[_R], _Task[_T, _A]] = {}
        again: list[_Task[_T, _A]] = []
        while True:
            while again or len(pending) < self._window():
                task = again.pop() if again else next(todo, None)
                if task is None:
                    break
                if task.attempts >= _ATTEMPTS:
                    yield task.of, last_resort(task.arguments)
                else:
                    pending[self._submit(function, task)] = task
            if not pending:
                return
            done = self._wait(pending)
            for future in done:
                task = pending.pop(future)
                if isinstance(future.exception(), self._lost):
                    task.attempts += 1
                    again.append(task)
                else:
                    yield task.of, future.result()
            if again or not done:
                # Tasks that no longer move have had their time.
                left = [replace(task, attempts=task.attempts if done else _ATTEMPTS) for task in pending.values()]
                pending.clear()
                self._restart()
                # Tasks with only the last resort left come first, while no other process takes memory.
                again = sorted([*again, *left], key=lambda task: task.attempts)

    def _submit(self, function: Callable[[Job, Sequence[_A]], _R], task: _Task[_T, _A]) -> Future[_R]:
        self._alone.close()
        try:
            return self._executor.submit(function, self.job, task.arguments)
        except BrokenExecutor as error:
            broken: Future[_R] = Future()
            broken.set_exception(error)
            return broken

    def _wait(self, pending: dict[Future[_R], _Task[_T, _A]]) -> list[Future[_R]]:
        """The tasks that are done, in the order in which they were given; none if nothing moves any more."""
        seconds = max((patience(self.job, task.arguments) for task in pending.values()), default=0.0)
        try:
            done = concurrent.futures.wait(pending, timeout=seconds or None, return_when=FIRST_COMPLETED)[0]
        except concurrent.futures.CancelledError:
            raise self._cluster_lost() from None
        if any(future.cancelled() for future in done):
            raise self._cluster_lost()
        return [future for future in pending if future in done]

    def _cluster_lost(self) -> MissingResourceError:
        return MissingResourceError(
            "the connection to the cluster was lost; run the same command again, and it continues where it stopped"
        )

    def _window(self) -> int:
        if self._cluster:
            return CHUNKS_PER_SLOT * max(1, self._cluster.slots())
        return 1 if self.jobs == 1 else CHUNKS_PER_SLOT * self.jobs

    def _start(self) -> Executor:
        if self._cluster:
            return self._cluster.executor()
        if self.jobs == 1:
            return _ThisProcess()
        return start_pool(self.jobs)

    def _stop(self) -> None:
        if self._cluster:
            self._executor.shutdown(wait=False)
        elif self.jobs > 1:
            end_pool(self._executor)

    def _restart(self) -> None:
        self._stop()
        self._executor = self._start()
