"""Processes of this machine, which end with the process that started them.

pool = start_pool(2)              an executor with two fresh processes, begun when it gets its first task
end_pool(pool)                    ends them at once, whatever they do
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Executor

from ensemble.one_thread import ONE_THREAD

__all__ = ["end_pool", "start_pool"]

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_IDLE = 300


def start_pool(jobs: int) -> Executor:
    """So many processes, of joblib's loky; one that dies breaks the whole pool."""
    from joblib.externals.loky import ProcessPoolExecutor

    pool: Executor = ProcessPoolExecutor(
        jobs, timeout=_SECONDS_IDLE, initializer=_end_with, initargs=(os.getpid(),), env=dict(ONE_THREAD)
    )
    return pool


def end_pool(pool: Executor) -> None:
    """Kill the processes of a pool and wait until they are gone."""
    pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


def _end_with(parent: int) -> None:
    """Let this worker process end when its parent is gone, which a killed parent cannot see to."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
