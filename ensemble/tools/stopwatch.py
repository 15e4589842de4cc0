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
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def spent(self, *, cached: bool = False) -> Spent:
        """The time since the last call, or else since its creation."""
        wall, cpu = self._wall, self._cpu
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return Spent(self._wall - wall, self._cpu - cpu, cached)
