"""Sets of spans: overlaps, coverage, remainders, and the best set without overlap.

    covered = covering([(4, 8), (10, 20)])
    covered(5, 8)                                 True; it takes logarithmic time
    remainders((0, 9), [(2, 4)])                  [(0, 2), (4, 9)]
    overlapping_groups(decisions)                 groups that overlap, directly or through others
    best = non_overlapping(candidates, gains)     the set with the largest total gain

A range is a start and an end, half-open. An item is a `Span`, or anything that has one as its `span`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from phistack.features.documents import Span

Range = tuple[int, int]
Test = Callable[[int, int], bool]
_Item = TypeVar("_Item")


def span_of(item: Any) -> Span:
    """The span of an item."""
    span: Span = item if isinstance(item, Span) else item.span
    return span


def ranges_of(items: Iterable[Any]) -> list[Range]:
    """Start and end of each item."""
    return [(span.start, span.end) for span in map(span_of, items)]


def covering(ranges: Iterable[Range]) -> Test:
    """A test whether a stretch is inside one range; overlapping ranges count as one."""
    starts, ends = _merged(ranges)

    def covered(start: int, end: int) -> bool:
        before = bisect_right(starts, start) - 1
        return before >= 0 and end <= ends[before]

    return covered


def touching(ranges: Iterable[Range]) -> Test:
    """A test whether a stretch shares a character with a range."""
    starts, ends = _merged(ranges)

    def touched(start: int, end: int) -> bool:
        before = bisect_left(starts, end) - 1
        return before >= 0 and start < ends[before]

    return touched


def remainders(stretch: Range, taken: Iterable[Range]) -> list[Range]:
    """The parts of a stretch outside some ranges, in order."""
    found, position = [], stretch[0]
    for start, end in sorted(r for r in taken if r[0] < stretch[1]):
        if position < start:
            found.append((position, start))
        position = max(position, end)
    return [*found, (position, stretch[1])] if position < stretch[1] else found


def overlapping_groups(items: Iterable[_Item]) -> list[list[_Item]]:
    """The items in groups that overlap, directly or through others, sorted by start and end."""
    groups: list[list[_Item]] = []
    furthest = -1
    for item in sorted(items, key=lambda item: (span_of(item).start, span_of(item).end)):
        if span_of(item).start >= furthest:
            groups.append([])
        groups[-1].append(item)
        furthest = max(furthest, span_of(item).end)
    return groups


def overlapping_each(items: Iterable[Any], others: Iterable[_Item]) -> list[list[_Item]]:
    """For each item the others that share a character with it, sorted by start."""
    by_start = sorted(others, key=lambda other: span_of(other).start)
    starts = [span_of(other).start for other in by_start]
    longest = max((span_of(other).end - span_of(other).start for other in by_start), default=0)
    found = []
    for span in map(span_of, items):
        window = by_start[bisect_left(starts, span.start - longest) : bisect_left(starts, span.end)]
        found.append([other for other in window if span_of(other).overlaps(span)])
    return found


def non_overlapping(items: Sequence[Any], gains: Sequence[float]) -> list[int]:
    """Indices of the set without overlap with the largest total gain; items with a gain of 0 or less are left out.

    Weighted interval scheduling by dynamic programming, in O(n log n).
    """
    spans = list(map(span_of, items))
    order = sorted((i for i in range(len(spans)) if gains[i] > 0), key=lambda i: (spans[i].end, spans[i]))
    ends = [spans[i].end for i in order]
    best: list[tuple[float, bool]] = [(0.0, False)]
    before: list[int] = []
    for position, i in enumerate(order):
        before.append(bisect_right(ends, spans[i].start, hi=position))
        total = best[before[position]][0] + gains[i]
        best.append(max((best[position][0], False), (total, True), key=lambda sum: sum[0]))
    chosen: list[int] = []
    position = len(order)
    while position:
        position -= 1
        if best[position + 1][1]:
            chosen.append(order[position])
            position = before[position]
    return sorted(chosen)


def _merged(ranges: Iterable[Range]) -> tuple[list[int], list[int]]:
    """Starts and ends of the ranges, with overlapping ones merged."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted(ranges):
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
        elif start < end:
            starts.append(start)
            ends.append(end)
    return starts, ends
