"""Stretches of a text, and whether another stretch lies in one of them or touches one.

    covered = covering([(4, 8), (10, 20)])
    covered(5, 8)      True

Both are asked often for notes with many replacements, so they take logarithmic time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable

Range = tuple[int, int]
Test = Callable[[int, int], bool]


def covering(ranges: Iterable[Range]) -> Test:
    """Whether a stretch lies inside one range; ranges that overlap count as one."""
    starts, ends = _joined(ranges)

    def covered(start: int, end: int) -> bool:
        before = bisect_right(starts, start) - 1
        return before >= 0 and end <= ends[before]

    return covered


def touching(ranges: Iterable[Range]) -> Test:
    """Whether a stretch shares a character with a range."""
    starts, ends = _joined(ranges)

    def touched(start: int, end: int) -> bool:
        before = bisect_left(starts, end) - 1
        return before >= 0 and start < ends[before]

    return touched


def _joined(ranges: Iterable[Range]) -> tuple[list[int], list[int]]:
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted(ranges):
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
        elif start < end:
            starts.append(start)
            ends.append(end)
    return starts, ends
