"""Parallel processes, which end when this one does and leave Ctrl-C to it.

    for result in in_processes(calls, jobs=2): ...          each as soon as it is finished
    with keeping(lambda: "7 of 24 fits are kept"): ...      the message after Ctrl-C
    pool = start_pool(2)                                    an executor with two new processes
    end_pool(pool)                                          kills them at once

A terminal sends Ctrl-C to all processes. Here only the first one reacts: it ends the others and reports what is kept,
without tracebacks.

The executor is joblib's copy of loky, which only this module uses: the standard library's cannot start clean processes
with another environment, nor kill those that hang.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import TypeVar
from warnings import filterwarnings

from phistack.ensemble.tools.numerics import keep_freed_memory, numeric_environment

_R = TypeVar("_R")
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_IDLE = 300


@contextmanager
def keeping(what: Callable[[], str]) -> Iterator[None]:
    """Report what is kept after Ctrl-C; :raises KeyboardInterrupt: with that message, or that of an inner block."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise stop if stop.args else KeyboardInterrupt(what()) from None


def in_processes(calls: Iterable[Callable[[], _R] | None], *, jobs: int, in_order: bool = False) -> Iterator[_R]:
    """The results of calls, each as soon as it is finished, or in the order of the calls.

    The processes remain for the next calls until this one ends, a call fails, or somebody presses Ctrl-C.

    :param calls: functions that can be pickled; `None` while the next one waits for another's result.
    :param jobs: processes; with 1 the calls run in this one.
    :raises MemoryError: if a process died, usually for lack of memory.
    """
    if jobs == 1:
        yield from (call() for call in calls if call)
        return
    todo, pending = iter(calls), list[Future[_R]]()
    pool = start_pool(jobs, again=True)
    try:
        while True:
            with _without_interrupts():
                # Submit no more than the processes take at once: ending a pool fails while calls wait in it.
                for call in islice(todo, jobs + 1 - len(pending)):
                    if call is None:
                        break
                    pending.append(pool.submit(call))
            if not pending:
                return
            done = {pending[0]} if in_order else wait(pending, return_when=FIRST_COMPLETED).done
            for future in [future for future in pending if future in done]:
                yield future.result()
                pending.remove(future)
    except BrokenExecutor:
        raise MemoryError from None
    finally:
        if pending:
            _wait_for_start(pending)
            end_pool(pool)


def start_pool(jobs: int, *, again: bool = False) -> Executor:
    """A pool of processes; if one dies, the whole pool is broken."""
    from joblib.externals.loky import ProcessPoolExecutor, get_reusable_executor

    # loky replaces a worker whose memory has grown; nothing is lost.
    filterwarnings("ignore", message="A worker stopped while some jobs were given")
    make = get_reusable_executor if again else ProcessPoolExecutor
    with _without_interrupts():
        pool: Executor = make(
            jobs, timeout=_SECONDS_IDLE, initializer=_begin, initargs=(os.getpid(),), env=numeric_environment()
        )
        # The first task starts the processes and the thread that replaces them.
        pool.submit(os.getpid)
    return pool


def end_pool(pool: Executor) -> None:
    """Kill the processes of a pool and wait until they are gone."""
    pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


def _wait_for_start(futures: Iterable[Future[_R]]) -> None:
    """Wait some milliseconds until no call waits in the pool: otherwise ending it would fail."""
    end = time.monotonic() + _SECONDS_BETWEEN_LOOKS
    while not all(future.running() or future.done() for future in futures) and time.monotonic() < end:
        time.sleep(0.005)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let processes and threads that start here, and their children, ignore Ctrl-C."""
    # Otherwise it would start with the first process, and then unblock Ctrl-C.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    """Prepare a process, and end it when its parent is gone, even if that was killed."""
    keep_freed_memory()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
