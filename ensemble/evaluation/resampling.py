"""How much a figure, or a difference between systems, may be due to chance.

    resampling = Resampling(by="document")                  how intervals and p-values are drawn; by patient by default
    units = Units.of(patients, resampling)                  what is drawn as a whole, here each document
    Bootstrap(counts, units).measures("f1")                 micro F1 of each row with its 95 % interval (Efron 1979)
    paired_randomisation(units.sums(a), units.sums(b), seed=0)        p-value of the difference in micro F1
    holm((0.01, 0.04))                                      p-values of several comparisons, corrected: (0.02, 0.04)
    wilson(95, 100)                                         a proportion (Wilson 1927): Measure(0.95, 0.888, 0.978)

PHI of one patient are not independent, so the bootstrap draws patients with all their notes, and approximate
randomisation (Noreen 1989; Yeh 2000) exchanges the answers of two systems for a random half of the patients; the shared
tasks do both by document. Wilson's interval takes each PHI on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from phistack.ensemble.evaluation.measures import MEASURES, FloatArray, IntArray
from phistack.features.errors import EvaluationError, SettingsError, no_such

UNITS = PATIENT, DOCUMENT = "patient", "document"
"""What may be drawn as a whole."""
_FEW = 10
"""Units: with fewer, even the greatest difference may have a high p-value, and a note says so."""
_BLOCK = 1_000_000
"""Numbers drawn at a time, which bounds the memory."""
# Two orders of the same sum differ by less than this, different scores by more.
_ROUNDING = 1e-12


class Measure(NamedTuple):
    """A figure and the ends of its interval, 95 % unless said otherwise."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals and p-values are drawn: by `patient` or `document`, and how often.

    :raises SettingsError: for another `by`.
    :raises EvaluationError: if nothing is drawn.
    """

    by: str = PATIENT
    draws: int = 10_000
    shuffles: int = 9_999
    seed: int = 0

    def __post_init__(self) -> None:
        if self.by not in UNITS:
            raise SettingsError(no_such("unit", self.by, UNITS))
        for name, number in (("draws", self.draws), ("shuffles", self.shuffles)):
            if number < 1:
                raise EvaluationError(f"the number of {name} must be at least 1, not {number}")


BY_PATIENT = Resampling()
"""How intervals and p-values are drawn unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class Units:
    """What is drawn and exchanged as a whole: patients with all their notes, or notes.

    :param numbers: the unit of each document, from 0; shape `(n_documents,)`.
    """

    name: str
    numbers: IntArray = field(repr=False, compare=False)
    resampling: Resampling

    @classmethod
    def of(cls, patients: Sequence[str], resampling: Resampling) -> Self:
        """The units of documents whose patients are given; documents, if all patients differ."""
        if resampling.by == PATIENT and len(set(patients)) < len(patients):
            numbers = {patient: number for number, patient in enumerate(dict.fromkeys(patients))}
            return cls(PATIENT, np.array([numbers[patient] for patient in patients]), resampling)
        return cls(DOCUMENT, np.arange(len(patients)), resampling)

    def __len__(self) -> int:
        return int(self.numbers.max(initial=-1)) + 1

    @property
    def intervals(self) -> str:
        """How intervals are drawn, in words."""
        return f"95 % bootstrap intervals by {self.name} ({len(self)} {self.name}s, {self.resampling.draws} draws)"

    @property
    def p_values(self) -> str:
        """How p-values are drawn, in words."""
        least = f" (no p below {2.0 ** (1 - len(self)):.1g} with {len(self)} {self.name}s)" if len(self) < _FEW else ""
        return f"paired approximate randomisation by {self.name} with {self.resampling.shuffles} shuffles{least}"

    def sums(self, counts: IntArray) -> IntArray:
        """Counts by document, of shape `(n_documents, ...)`, as counts by unit, of shape `(n_units, ...)`."""
        summed = np.zeros((len(self), *counts.shape[1:]), dtype=np.int64)
        np.add.at(summed, self.numbers, counts)
        return summed

    def to_dict(self) -> dict[str, Any]:
        """How intervals and p-values were drawn, for results files."""
        how = self.resampling
        drawn = {"bootstrap resamples": how.draws, "shuffles": how.shuffles, "seed": how.seed}
        return {"unit": self.name, "units": len(self), **drawn}


class Bootstrap:
    """Rows of counts, summed over all units and over units drawn with replacement, the same draws for all rows.

    :param counts: true positives, false positives and false negatives; shape `(n_documents, n_rows, 3)`.
    """

    def __init__(self, counts: IntArray, units: Units) -> None:
        self._sums = counts.sum(axis=0)
        self._drawn = _drawn_sums(units.sums(counts), units.resampling)

    def measures(self, name: str) -> list[Measure]:
        """A measure of each row, a key of `MEASURES`."""
        measure = MEASURES[name]
        return _measures(measure(self._sums), measure(self._drawn))

    def gap(self, name: str, row: int, other: int) -> Measure:
        """A measure of one row minus that of another."""
        sums, drawn = (MEASURES[name](counts[..., [row, other], :]) for counts in (self._sums, self._drawn))
        return _measures(sums[:1] - sums[1:], drawn[:, :1] - drawn[:, 1:])[0]


def _measures(values: FloatArray, drawn: FloatArray) -> list[Measure]:
    """Figures of shape `(n,)` with the ends of the middle 95 % of their draws, of shape `(draws, n)`."""
    ends = np.quantile(drawn, (0.025, 0.975), axis=0)
    return [Measure(*figures) for figures in np.column_stack([values, *ends]).tolist()]


def _drawn_sums(counts: IntArray, resampling: Resampling) -> FloatArray:
    """The counts summed over the units of each draw; shape `(draws, n_rows, 3)`."""
    n, draws, flat = len(counts), resampling.draws, counts.reshape(len(counts), -1).astype(float)
    rng, size = np.random.default_rng(resampling.seed), max(1, _BLOCK // n)
    drawn = np.empty((draws, flat.shape[1]))
    for done in range(0, draws, size):
        # (n_draws, n_units): how often each draw has each unit, counted for all draws of the block at once.
        chosen = rng.integers(0, n, size=(min(size, draws - done), n))
        chosen += np.arange(len(chosen))[:, None] * n
        times = np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape)
        drawn[done : done + len(times)] = times.astype(float) @ flat
    return drawn.reshape(draws, *counts.shape[1:])


def wilson(hits: int, trials: int) -> Measure:
    """A proportion with Wilson's score interval, 95 %; 0, from 0 to 1, without trials."""
    from scipy.stats import binomtest

    if not trials:
        return Measure(0.0, 0.0, 1.0)
    low, high = binomtest(hits, trials).proportion_ci(method="wilson")
    return Measure(hits / trials, float(low), float(high))


def paired_randomisation(
    counts_a: IntArray, counts_b: IntArray, *, measure: str = "f1", shuffles: int = 9_999, seed: int
) -> float:
    """Paired approximate randomisation by unit, two-sided, on micro F1 or another measure.

    :param counts_a: of one system; shape `(n_units, 3)`.
    :param measure: a key of `MEASURES`.
    :returns: (1 + exchanges at least as far apart as the systems are) / (1 + shuffles).
    """
    gap = (counts_b - counts_a).astype(float)
    sums = counts_a.sum(axis=0).astype(float), counts_b.sum(axis=0).astype(float)
    score = MEASURES[measure]
    observed = np.abs(score(sums[0]) - score(sums[1]))
    rng, size = np.random.default_rng(seed), max(1, _BLOCK // max(len(gap), 1))
    extreme = 0
    for done in range(0, shuffles, size):
        exchanged = rng.integers(0, 2, size=(min(size, shuffles - done), len(gap))) @ gap
        distance = np.abs(score(sums[0] + exchanged) - score(sums[1] - exchanged))
        extreme += int(np.sum(distance >= observed - _ROUNDING))
    return (1 + extreme) / (1 + shuffles)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Correct the p-values of several comparisons (Holm 1979); those below the level are significant together."""
    order, n = np.argsort(p_values, kind="stable"), len(p_values)
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.array(p_values)[order] * np.arange(n, 0, -1)))
    return tuple(adjusted.tolist())
