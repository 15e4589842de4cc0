"""Work in parallel processes, which end when this one does, and leave Ctrl-C to it.

    for result in in_processes(calls, jobs=2): ...          each as soon as it is there
    with keeping(lambda: "7 of 24 fits are kept"): ...      what Ctrl-C says

A terminal sends Ctrl-C to all processes at once. Here only the first one hears it: it ends the others, says what was
kept, and none of them prints a traceback.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import TypeVar
from warnings import filterwarnings

from ensemble.tools.one_thread import ONE_THREAD

__all__ = ["end_with", "ignore_replaced", "in_processes", "keeping", "without_interrupts"]

_R = TypeVar("_R")
_SECONDS_BETWEEN_LOOKS = 1.0


@contextmanager
def keeping(what: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C say what is kept; :raises KeyboardInterrupt: with those words, or those of an inner one."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise stop if stop.args else KeyboardInterrupt(what()) from None


def in_processes(calls: Iterable[Callable[[], _R]], *, jobs: int, in_order: bool = False) -> Iterator[_R]:
    """What calls return, each as soon as it is done, or in the order in which they were given.

    The processes stay for the next calls, until this one ends, something fails, or Ctrl-C.

    :param calls: functions that can be sent to other processes, with what they are bound to.
    :param jobs: processes; with 1 the calls run in this one.
    :raises MemoryError: if a process died, for which want of memory is the reason.
    """
    if jobs == 1:
        for call in calls:
            yield call()
        return
    from joblib.externals.loky import get_reusable_executor

    todo, pending = iter(calls), list[Future[_R]]()
    ignore_replaced()
    with without_interrupts():
        pool = get_reusable_executor(
            jobs, timeout=300, initializer=end_with, initargs=(os.getpid(),), env=dict(ONE_THREAD)
        )
    try:
        while True:
            with without_interrupts():
                # No more than the processes take at once: a pool that is ended stumbles over calls that wait in it.
                pending += [pool.submit(call) for call in islice(todo, jobs + 1 - len(pending))]
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
            pool.shutdown(wait=True, kill_workers=True)


def _wait_for_start(futures: Iterable[Future[_R]]) -> None:
    """Wait until no call waits in the pool, which stumbles over it when it is ended; that takes milliseconds."""
    end = time.monotonic() + _SECONDS_BETWEEN_LOOKS
    while not all(future.running() or future.done() for future in futures) and time.monotonic() < end:
        time.sleep(0.005)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Processes and threads that begin here, and those that these begin, never hear Ctrl-C."""
    # It begins with the first process otherwise, and lets Ctrl-C through again when it has begun.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent: int) -> None:
    """Let this process end when its parent is gone, which a killed parent cannot see to."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def ignore_replaced() -> None:
    """No warning where a pool replaces a worker whose memory has grown by a fresh one: nothing is lost."""
    filterwarnings("ignore", message="A worker stopped while some jobs were given")
