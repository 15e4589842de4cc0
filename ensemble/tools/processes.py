"""Work in parallel processes, which end when this one does, and leave Ctrl-C to it.

    for result in in_processes(calls, jobs=2): ...          each as soon as it is there
    with keeping(lambda: "7 of 24 fits are kept"): ...      what Ctrl-C says
    pool = start_pool(2)                                    an executor with two fresh processes
    end_pool(pool)                                          ends them at once, whatever they do

A terminal sends Ctrl-C to all processes at once. Here only the first one hears it: it ends the others, says what was
kept, and none of them prints a traceback.

The executor is joblib's own copy of loky, and this the only module that knows it: the executor of the standard library
neither starts clean processes with an environment of their own nor kills those that hang.
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
    """Let Ctrl-C say what is kept; :raises KeyboardInterrupt: with those words, or those of an inner one."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise stop if stop.args else KeyboardInterrupt(what()) from None


def in_processes(calls: Iterable[Callable[[], _R] | None], *, jobs: int, in_order: bool = False) -> Iterator[_R]:
    """What calls return, each as soon as it is done, or in the order in which they were given.

    The processes stay for the next calls, until this one ends, something fails, or Ctrl-C.

    :param calls: functions that can be sent to other processes, with what they are bound to; nothing as long as the
        next one waits for what another returns.
    :param jobs: processes; with 1 the calls run in this one.
    :raises MemoryError: if a process died, for which want of memory is the reason.
    """
    if jobs == 1:
        yield from (call() for call in calls if call)
        return
    todo, pending = iter(calls), list[Future[_R]]()
    pool = start_pool(jobs, again=True)
    try:
        while True:
            with _without_interrupts():
                # No more than the processes take at once: a pool that is ended stumbles over calls that wait in it.
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
    """So many processes; one that dies breaks the whole pool.

    :param again: take the pool that was made so before, as long as that lives.
    """
    from joblib.externals.loky import ProcessPoolExecutor, get_reusable_executor

    # A worker whose memory has grown is replaced by a fresh one, and nothing is lost.
    filterwarnings("ignore", message="A worker stopped while some jobs were given")
    make = get_reusable_executor if again else ProcessPoolExecutor
    with _without_interrupts():
        pool: Executor = make(
            jobs, timeout=_SECONDS_IDLE, initializer=_begin, initargs=(os.getpid(),), env=numeric_environment()
        )
        # The first task starts the processes, and the thread that replaces them later.
        pool.submit(os.getpid)
    return pool


def end_pool(pool: Executor) -> None:
    """Kill the processes of a pool and wait until they are gone."""
    pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


def _wait_for_start(futures: Iterable[Future[_R]]) -> None:
    """Wait until no call waits in the pool, which stumbles over it when it is ended; that takes milliseconds."""
    end = time.monotonic() + _SECONDS_BETWEEN_LOOKS
    while not all(future.running() or future.done() for future in futures) and time.monotonic() < end:
        time.sleep(0.005)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes and threads that begin here, and those that these begin, never hear Ctrl-C."""
    # It begins with the first process otherwise, and lets Ctrl-C through again when it has begun.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    """Prepare a process, and let it end when its parent is gone, which a killed parent cannot see to."""
    keep_freed_memory()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
