"""The time spent on a part of long work, by the clock and by the processors.

watch = Stopwatch()
...
watch.spent()            Spent(wall=12.3, cpu=11.8, cached=False)
"""

from __future__ import annotations

import time
from typing import NamedTuple


class Spent(NamedTuple):
    """The time of one part, in its process.

    :param wall: seconds by the clock.
    :param cpu: seconds of processor time, of all threads.
    :param cached: whether the result was read from a cache, so that the seconds are not those of the work.
    """

    wall: float
    cpu: float
    cached: bool = False


class Stopwatch:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def spent(self, *, cached: bool = False) -> Spent:
        """The time from its creation until now."""
        return Spent(time.perf_counter() - self._wall, time.process_time() - self._cpu, cached)
