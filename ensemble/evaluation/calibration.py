"""Whether what is said to be right in 90 of 100 cases is right in 90 of 100 cases.

    calibration = Calibration.of(probabilities, is_right)
    calibration.expected_error          0.012: the mean distance between what is said and what is so, by candidates
    calibration.furthest                the bin in which they are furthest apart
    calibration.to_dict()

A bin is a range of probabilities, a twentieth or, where it has fewer than 50 candidates, several: so few say little.
The expected error is that of Naeini 2015, with these bins; the interval of what is right in a bin is Wilson's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.evaluation.resampling import Measure, wilson
from phistack.features.arrays import Floats

FEWEST = 50
"""Candidates of a bin, unless there are fewer in all."""
_RANGES = 20


class CalibrationBin(NamedTuple):
    """Candidates whose probabilities lie in a range.

    :ivar low: where it begins.
    :ivar high: where it ends.
    :ivar n: how many candidates are in it, at least one.
    :ivar said: the mean of their probabilities.
    :ivar right: the share of them that is right, with its interval.
    """

    low: float
    high: float
    n: int
    said: float
    right: Measure

    @property
    def gap(self) -> float:
        """How far the share that is right is above what is said; below 0 if less is right."""
        return self.right.value - self.said

    def to_dict(self) -> dict[str, Any]:
        """The bin as JSON can hold it."""
        return {**self._asdict(), "right": self.right._asdict()}


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is said and what is so.

    :param bins: from the least to the most probable; none where there is nothing to be judged.
    """

    bins: tuple[CalibrationBin, ...]

    @classmethod
    def of(cls, probabilities: Iterable[float], is_right: Iterable[bool]) -> Self:
        """Count candidates, given in the same order."""
        said, right = np.fromiter(probabilities, dtype=float), np.fromiter(is_right, dtype=bool)
        number = np.searchsorted(np.arange(1, _RANGES) / _RANGES, said, side="right")
        counts = np.bincount(number, minlength=_RANGES)
        return cls(tuple(_bin(begin, end, said, right, number) for begin, end in _ranges(counts.tolist())))

    @property
    def n(self) -> int:
        """How many candidates there are."""
        return sum(found.n for found in self.bins)

    @property
    def expected_error(self) -> float:
        """The mean distance between what is said and what is so, weighed by candidates; 0 without any."""
        return sum(found.n * abs(found.gap) for found in self.bins) / max(self.n, 1)

    @property
    def furthest(self) -> CalibrationBin | None:
        """The bin in which what is said is furthest from what is so; none without any."""
        return max(self.bins, key=lambda found: abs(found.gap), default=None)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as JSON can hold them."""
        return {
            "candidates": self.n,
            "expected error": self.expected_error,
            "bins": [found.to_dict() for found in self.bins],
        }


def _ranges(counts: list[int]) -> Iterator[tuple[int, int]]:
    """The first range of each bin and the one after its last; ranges with too few candidates join the next ones."""
    ends = [0]
    for end in range(1, len(counts) + 1):
        if sum(counts[ends[-1] : end]) >= FEWEST:
            ends.append(end)
    if any(counts[ends[-1] :]):
        ends = [*(ends[:-1] or ends), len(counts)]
    return pairwise(ends)


def _bin(begin: int, end: int, said: Floats, right: NDArray[np.bool_], number: NDArray[np.int_]) -> CalibrationBin:
    """Of all candidates, those whose number, of the range of their probability, lies in a bin."""
    chosen = (number >= begin) & (number < end)
    n = int(chosen.sum())
    share = wilson(int(right[chosen].sum()), n)
    return CalibrationBin(begin / _RANGES, end / _RANGES, n, float(said[chosen].mean()), share)
