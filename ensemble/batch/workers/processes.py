"""Processes of this machine, which end with the process that started them, and leave Ctrl-C to it.

pool = start_pool(2)              an executor with two fresh processes
end_pool(pool)                    ends them at once, whatever they do
"""

from __future__ import annotations

import os
from concurrent.futures import Executor

from ensemble.tools.one_thread import ONE_THREAD
from ensemble.tools.processes import end_with, ignore_replaced, without_interrupts

__all__ = ["end_pool", "start_pool"]

_SECONDS_IDLE = 300


def start_pool(jobs: int) -> Executor:
    """So many processes, of joblib's loky; one that dies breaks the whole pool."""
    from joblib.externals.loky import ProcessPoolExecutor

    ignore_replaced()
    pool: Executor = ProcessPoolExecutor(
        jobs, timeout=_SECONDS_IDLE, initializer=end_with, initargs=(os.getpid(),), env=dict(ONE_THREAD)
    )
    with without_interrupts():
        # The first task starts the processes, and the thread that replaces them later.
        pool.submit(os.getpid)
    return pool


def end_pool(pool: Executor) -> None:
    """Kill the processes of a pool and wait until they are gone."""
    pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]
