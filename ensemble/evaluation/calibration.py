"""Whether candidates with a probability of 90 % are right in 90 of 100 cases.

    calibration = Calibration.of(probabilities, is_right)
    calibration.expected_error          0.012: the mean distance between probability and share that is right
    calibration_picture({"crf": calibration.to_dict(), "stack": ...})       <svg xmlns="http://www.w3.org/2000/svg" ...

A bin is a range of probabilities: a twentieth, or several where it has fewer than 50 candidates, as so few say little
(`sklearn.calibration.calibration_curve` has bins without a least size, and neither counts nor intervals). The expected
error is that of Naeini 2015, with these bins; the interval of the share that is right is Wilson's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from phistack.ensemble.evaluation.resampling import Measure, wilson
from phistack.ensemble.tools.templates import template

FEWEST = 50
"""Candidates of a bin, unless there are fewer in all."""
_RANGES = 20
_PER_ROW = 4


class CalibrationBin(NamedTuple):
    """The `n` candidates with probabilities from `low` to `high`, the mean of these, and the share that is right."""

    low: float
    high: float
    n: int
    said: float
    right: Measure

    @property
    def gap(self) -> float:
        """The share that is right minus the mean probability."""
        return self.right.value - self.said


@dataclass(frozen=True, slots=True)
class Calibration:
    """Probabilities against shares that are right; :param bins: from the least to the most probable."""

    bins: tuple[CalibrationBin, ...]

    @classmethod
    def of(cls, probabilities: Iterable[float], is_right: Iterable[bool]) -> Self:
        """Count candidates, given in the same order."""
        said, right = np.fromiter(probabilities, dtype=float), np.fromiter(is_right, dtype=bool)
        number = np.searchsorted(np.arange(1, _RANGES) / _RANGES, said, side="right")
        bins = []
        for begin, end in _ranges(np.bincount(number, minlength=_RANGES).tolist()):
            chosen = (number >= begin) & (number < end)
            n, mean = int(chosen.sum()), float(said[chosen].mean())
            share = wilson(int(right[chosen].sum()), n)
            bins.append(CalibrationBin(begin / _RANGES, end / _RANGES, n, mean, share))
        return cls(tuple(bins))

    @property
    def n(self) -> int:
        return sum(found.n for found in self.bins)

    @property
    def expected_error(self) -> float:
        """The mean distance between probability and share that is right, weighted by candidates; 0 without any."""
        return sum(found.n * abs(found.gap) for found in self.bins) / max(self.n, 1)

    @property
    def furthest(self) -> CalibrationBin | None:
        """The bin with the greatest distance; none without candidates."""
        return max(self.bins, key=lambda found: abs(found.gap), default=None)

    def to_dict(self) -> dict[str, Any]:
        bins = [{**found._asdict(), "right": found.right._asdict()} for found in self.bins]
        return {"candidates": self.n, "expected error": self.expected_error, "bins": bins}


def _ranges(counts: list[int]) -> Iterator[tuple[int, int]]:
    """The first range of each bin and the one after its last; ranges with too few candidates join the next ones."""
    ends = [0]
    for end in range(1, len(counts) + 1):
        if sum(counts[ends[-1] : end]) >= FEWEST:
            ends.append(end)
    if any(counts[ends[-1] :]):
        ends = [*(ends[:-1] or ends), len(counts)]
    return pairwise(ends)


def calibration_picture(calibrations: Mapping[str, Mapping[str, Any]]) -> str:
    """Reliability diagrams (DeGroot and Fienberg 1983) as one SVG drawing, one panel per system, one dot per bin.

    On the dashed line probability and share agree; the bars are the share of all candidates.

    :param calibrations: system -> its figures, as `to_dict` gives them.
    """
    per_row = min(_PER_ROW, max(len(calibrations), 1))
    return template("phistack.ensemble.evaluation", "calibration_template.svg").render(
        calibrations=calibrations, per_row=per_row, n_rows=-(-len(calibrations) // per_row)
    )
