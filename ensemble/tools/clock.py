"""Time limits within one process, and the time spent on a part of long work.

    with deadline(60.0, OverdueError):
        ...                            OverdueError is raised in here after 60 seconds
    with deadline(10.0, OverdueError, busy=True):
        ...                            the same after 10 seconds of processor time
    watch = Stopwatch()
    watch.spent()                      Spent(wall=12.3, cpu=11.8, cached=False)

In the main thread a signal interrupts, even inside a regular expression or a wait. In another thread, such as a Dask
worker's, Python raises the exception at the next bytecode; if compiled code never returns, the runner gives up the
process.
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple


@contextmanager
def deadline(seconds: float, error: type[Exception], *, busy: bool = False) -> Iterator[None]:
    """Raise an error in the block when the time is up; no limit if `seconds` is 0.

    :param error: raised without arguments.
    :param busy: count only the processor time of the process; works only in the main thread.
    """
    if seconds <= 0:
        yield
    elif threading.current_thread() is threading.main_thread():
        with _by_signal(seconds, error, busy):
            yield
    else:
        with _by_thread(seconds, error):
            yield


@contextmanager
def _by_signal(seconds: float, error: type[Exception], busy: bool) -> Iterator[None]:
    clock, alarm = (signal.ITIMER_PROF, signal.SIGPROF) if busy else (signal.ITIMER_REAL, signal.SIGALRM)

    def ring(signal_number: int, frame: FrameType | None) -> None:
        raise error

    before = signal.signal(alarm, ring)
    signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(alarm, before)


@contextmanager
def _by_thread(seconds: float, error: type[Exception]) -> Iterator[None]:
    thread = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()
    over = False

    def ring() -> None:
        with lock:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(error))

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            over = True
        # Withdraw an exception that was raised but has not arrived.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)


class Spent(NamedTuple):
    """The time of one part, in its process.

    :param wall: seconds by the clock.
    :param cpu: seconds of processor time, of all threads.
    :param cached: whether the result was read from a cache; then the seconds are not those of the work.
    """

    wall: float
    cpu: float
    cached: bool = False


class Stopwatch:
    """Measures time from its creation on."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def spent(self, *, cached: bool = False) -> Spent:
        """The time since the last call, or else since its creation."""
        wall, cpu = self._wall, self._cpu
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return Spent(self._wall - wall, self._cpu - cpu, cached)
