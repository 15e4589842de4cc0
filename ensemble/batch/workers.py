"""Workers: this process, processes of this machine, or a Dask cluster.

    with Workers(job, jobs=2) as workers:
        for chunk, results in workers.process(chunks): ...        as they are done, not in order

Only as many chunks are read as the workers can take. When a worker dies, its chunks are done again; a note that makes
workers die or never come back is found by giving it a process of its own, and has a problem instead of a text.
"""

from __future__ import annotations

import concurrent.futures
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ensemble.batch.search import Search, search_chunk
from ensemble.batch.work import Job, Note, NoteResult, process_chunk
from ensemble.one_thread import ONE_THREAD
from features.errors import MissingResourceError

__all__ = ["Workers"]

_T = TypeVar("_T")
_A = TypeVar("_A")
_R = TypeVar("_R")

_CHUNKS_PER_WORKER = 2
_SECONDS_TO_START = 120.0
_SECONDS_TO_CONNECT = 20
_SECONDS_BETWEEN_LOOKS = 1.0
_ATTEMPTS = 2


@dataclass(slots=True, eq=False)
class _Task(Generic[_T, _A]):
    """A piece of work, what it is of, and how often it was tried."""

    of: _T
    arguments: Sequence[_A] = field(repr=False)
    attempts: int = 0


class _ThisProcess(Executor):
    """Does at once what it is given."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **keywords))
        return future


class Workers:
    """Processes that de-identify.

    :param job: what they do.
    :param jobs: processes of this machine; 1 is this process.
    :param cluster: address of a Dask scheduler, for example `tcp://10.0.0.1:8786`; then `jobs` does not count.
    :raises MissingResourceError: if the cluster does not answer or dask.distributed is not installed.
    """

    def __init__(self, job: Job, *, jobs: int = 1, cluster: str = "") -> None:
        self.job = job
        self.jobs = jobs
        self.cluster = cluster
        self._client: Any = None
        self._lost: tuple[type[BaseException], ...] = (BrokenExecutor,)
        if cluster:
            self._connect()
        self._executor = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        if self._client is not None:
            self._client.close()

    def process(self, chunks: Iterable[tuple[_T, Sequence[Note]]]) -> Iterator[tuple[_T, list[NoteResult]]]:
        """De-identify the notes of chunks.

        :param chunks: anything, which comes back with the results, and its notes.
        """
        return self._map(process_chunk, chunks, self._isolated)

    def search(self, chunks: Iterable[tuple[_T, Sequence[Search]]]) -> Iterator[tuple[_T, Counter[tuple[str, str]]]]:
        """Search outputs for the identifiers of their patients."""
        return self._map(search_chunk, chunks, self._searched_here)

    def _map(
        self,
        function: Callable[[Job, Sequence[_A]], _R],
        chunks: Iterable[tuple[_T, Sequence[_A]]],
        last_resort: Callable[[Sequence[_A]], _R],
    ) -> Iterator[tuple[_T, _R]]:
        todo = iter(chunks)
        pending: dict[Future[_R], _Task[_T, _A]] = {}
        again: list[_Task[_T, _A]] = []
        while True:
            while again or len(pending) < self._window():
                task = again.pop() if again else _next_task(todo)
                if task is None:
                    break
                pending[self._submit(function, task)] = task
            if not pending:
                return
            done = self._wait(pending)
            for future in done or list(pending):
                task = pending.pop(future)
                if done and not isinstance(future.exception(), self._lost):
                    yield task.of, future.result()
                    continue
                task.attempts += 1
                again.append(task)
            if again:
                again += pending.values()
                pending.clear()
                self._restart()
                hopeless = [task for task in again if not done or task.attempts >= _ATTEMPTS]
                again = [task for task in again if task not in hopeless]
                for task in hopeless:
                    yield task.of, last_resort(task.arguments)

    def _submit(self, function: Callable[[Job, Sequence[_A]], _R], task: _Task[_T, _A]) -> Future[_R]:
        try:
            return self._executor.submit(function, self.job, task.arguments)
        except BrokenExecutor as error:
            broken: Future[_R] = Future()
            broken.set_exception(error)
            return broken

    def _wait(self, pending: dict[Future[_R], _Task[_T, _A]]) -> list[Future[_R]]:
        """The tasks that are done, in the order in which they were given; none if nothing moves any more."""
        patience = max((self._patience(task.arguments) for task in pending.values()), default=0.0)
        try:
            done = concurrent.futures.wait(pending, timeout=patience or None, return_when=FIRST_COMPLETED)[0]
        except concurrent.futures.CancelledError:
            raise self._cluster_lost() from None
        if any(future.cancelled() for future in done):
            raise self._cluster_lost()
        return [future for future in pending if future in done]

    def _cluster_lost(self) -> MissingResourceError:
        return MissingResourceError("the cluster was lost; start again, and the run goes on where it stopped")

    def _patience(self, notes: Sequence[Any]) -> float:
        """Seconds after which a process that says nothing is given up, however many slow notes it has."""
        units = max((note.units for note in notes if isinstance(note, Note)), default=1)
        return _SECONDS_TO_START + 10 * units * self.job.timeout if self.job.timeout else 0.0

    def _window(self) -> int:
        if self.cluster:
            return _CHUNKS_PER_WORKER * max(1, sum(int(n) for n in self._client.nthreads().values()))
        return 1 if self.jobs == 1 else _CHUNKS_PER_WORKER * self.jobs

    def _isolated(self, notes: Sequence[Note]) -> list[NoteResult]:
        """Find the notes that make workers die, and do the others."""
        results = [self._alone(note) for note in notes]
        fine = [i for i, result in enumerate(results) if not result.problem]
        # Once more together, as notes of one patient share what is known of the patient.
        try:
            together = self._executor.submit(process_chunk, self.job, [notes[i] for i in fine]).result()
        except self._lost:
            self._restart()
            return results
        for i, result in zip(fine, together, strict=True):
            results[i] = result
        return results

    def _alone(self, note: Note) -> NoteResult:
        future = self._executor.submit(process_chunk, self.job, [note])
        try:
            return future.result(self._patience([note]) or None)[0]
        except TimeoutError:
            problem = "its process did not come back"
        except self._lost:
            problem = "its process died"
        self._restart()
        return NoteResult(problem=problem)

    def _searched_here(self, searches: Sequence[Search]) -> Counter[tuple[str, str]]:
        return search_chunk(self.job, searches)

    def _start(self) -> Executor:
        if self.cluster:
            executor: Executor = self._client.get_executor(pure=False)
            return executor
        if self.jobs == 1:
            return _ThisProcess()
        from joblib.externals.loky import ProcessPoolExecutor

        pool: Executor = ProcessPoolExecutor(
            self.jobs, timeout=300, initializer=_end_with, initargs=(os.getpid(),), env=dict(ONE_THREAD)
        )
        return pool

    def _stop(self) -> None:
        if self.cluster:
            self._executor.shutdown(wait=False)
        elif self.jobs > 1:
            self._executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]

    def _restart(self) -> None:
        self._stop()
        self._executor = self._start()

    def _connect(self) -> None:
        try:
            from distributed import Client, KilledWorker
        except ImportError:
            raise MissingResourceError(
                "a cluster needs dask.distributed; install it with: pip install phistack[cluster]"
            ) from None
        try:
            self._client = Client(  # type: ignore[no-untyped-call]
                self.cluster, timeout=_SECONDS_TO_CONNECT, set_as_default=False
            )
        except (OSError, ValueError):
            raise MissingResourceError(f"no Dask scheduler answers at {self.cluster}") from None
        self._lost = (BrokenExecutor, KilledWorker)
        begin = time.monotonic()
        while not self._client.nthreads():
            if time.monotonic() - begin > _SECONDS_TO_START:
                raise MissingResourceError(f"the Dask scheduler at {self.cluster} has no workers")
            time.sleep(0.2)


def _end_with(parent: int) -> None:
    """Let this worker process end when its parent is gone, which a killed parent cannot see to."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _next_task(todo: Iterator[tuple[_T, Sequence[_A]]]) -> _Task[_T, _A] | None:
    found = next(todo, None)
    return None if found is None else _Task(*found)
