"""Scores of many systems on the same notes, how sure they are, and which differences are more than chance.

    counts = counts_of(gold, answers, labels, criterion_named("strict"))       (n_documents, 3)
    rows = measured({"crf": counts, "stack": other}, reference="stack", seed=0)
    rows["crf"].f1                  Measure(value=0.953, low=0.948, high=0.958)
    rows["crf"].difference          its F1 less that of the reference, with the p-value

Intervals: bootstrap over documents, all systems on the same draws, so that a difference is drawn in pairs too.
p-values: paired approximate randomisation by document, corrected over all comparisons (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemble.evaluation import CRITERIA, Criterion, holm, paired_randomisation
from ensemble.evaluation.counts import Counts, IntArray, total
from ensemble.evaluation.measures import f1_of_counts, precision, recall
from ensemble.evaluation.notes import pair, vocabulary
from ensemble.experiments.parts import Answers
from features.documents import Corpus
from features.errors import EvaluationError, SettingsError
from features.labels import LabelSet
from features.names import no_such

__all__ = ["RESAMPLES", "SHORT_NAMES", "Difference", "Measure", "Measured", "counts_of", "criterion_named", "measured"]

RESAMPLES = 1000
"""How often the bootstrap draws."""

SHORT_NAMES = {"strict": "i2b2 strict", "spans": "meddocan spans strict"}
"""Names for the two criteria that experiments mostly use: start, end and type right; start and end right."""

_FloatArray = NDArray[np.float64]


class Measure(NamedTuple):
    """A figure and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a system is from the reference.

    :param f1: the system's F1 less the reference's.
    :param p: of paired approximate randomisation, two-sided.
    :param p_holm: the same, corrected over all comparisons with the reference.
    """

    f1: Measure
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The micro scores of one system.

    :param counts: true positives, false positives and false negatives over all documents.
    :param difference: to the reference; none for the reference itself.
    """

    counts: Counts
    precision: Measure
    recall: Measure
    f1: Measure
    difference: Difference | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON can hold it."""
        row: dict[str, Any] = {**self.counts._asdict()}
        row |= {name: getattr(self, name)._asdict() for name in ("precision", "recall", "f1")}
        if self.difference is not None:
            row["difference"] = {
                "f1": self.difference.f1._asdict(),
                "p": self.difference.p,
                "p after Holm": self.difference.p_holm,
            }
        return row


def criterion_named(name: str) -> Criterion:
    """The criterion of a name, or of a key of `SHORT_NAMES`; :raises SettingsError: if there is none."""
    full = SHORT_NAMES.get(name, name)
    for criterion in CRITERIA:
        if criterion.name == full:
            return criterion
    raise SettingsError(no_such("criterion", name, (*SHORT_NAMES, *(criterion.name for criterion in CRITERIA))))


def counts_of(gold: Corpus, answers: Answers, labels: LabelSet, criterion: Criterion) -> IntArray:
    """True positives, false positives and false negatives of each note, of shape `(n_documents, 3)`.

    :param answers: the system's spans, in the order of gold's documents.
    :param labels: the label set of the answers.
    """
    notes = zip(gold.documents, answers, strict=True)
    system = replace(gold, documents=tuple(note.with_spans(spans) for note, spans in notes), label_set=labels)
    pairs = pair(gold, system, vocabulary(gold.label_set, labels)).pairs
    return np.array([criterion.counts(both) for both in pairs], dtype=np.int64).reshape(-1, 3)


def measured(
    counts: Mapping[str, IntArray],
    *,
    reference: str = "",
    shuffles: int = 9999,
    resamples: int = RESAMPLES,
    seed: int,
) -> dict[str, Measured]:
    """Score systems and compare each with a reference.

    :param counts: for each system, counts of shape `(n_documents, 3)` on the same documents.
    :param reference: one of the systems; without it nothing is compared.
    :param shuffles: of the randomisation.
    :param seed: of bootstrap and randomisation.
    :raises EvaluationError: if the counts are not of the same documents, or there are none.
    """
    if len({array.shape for array in counts.values()}) != 1 or not all(map(len, counts.values())):
        raise EvaluationError("the systems must all be scored on the same documents, of which there is at least one")
    stacked = np.stack(list(counts.values()), axis=1)
    drawn = _drawn(stacked, resamples, seed)
    rows = {name: _row(counts[name], drawn[:, i]) for i, name in enumerate(counts)}
    if not reference:
        return rows
    f1 = f1_of_counts(stacked.sum(axis=0)), f1_of_counts(drawn)
    at = list(counts).index(reference)
    gaps = {
        name: _measure(f1[0][i] - f1[0][at], f1[1][:, i] - f1[1][:, at])
        for i, name in enumerate(counts)
        if name != reference
    }
    p_values = [paired_randomisation(counts[name], counts[reference], shuffles=shuffles, seed=seed) for name in gaps]
    for name, p, p_holm in zip(gaps, p_values, holm(p_values), strict=True):
        rows[name] = replace(rows[name], difference=Difference(gaps[name], p, p_holm))
    return rows


def _drawn(counts: IntArray, resamples: int, seed: int) -> _FloatArray:
    """Sums of counts over documents drawn with replacement, of shape `(resamples, n_systems, 3)`."""
    n, systems, _ = counts.shape
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    sums: _FloatArray = draws.astype(float) @ counts.reshape(n, systems * 3).astype(float)
    return sums.reshape(resamples, systems, 3)


def _row(counts: IntArray, drawn: _FloatArray) -> Measured:
    """One system, from its counts by document and their drawn sums, of shape `(resamples, 3)`."""
    tp, fp, fn = drawn.T
    found = total(counts)
    return Measured(
        found,
        _measure(precision(found.tp, found.fp), precision(tp, fp)),
        _measure(recall(found.tp, found.fn), recall(tp, fn)),
        _measure(f1_of_counts(found), f1_of_counts(drawn)),
    )


def _measure(value: _FloatArray, drawn: _FloatArray) -> Measure:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Measure(float(value), float(low), float(high))
