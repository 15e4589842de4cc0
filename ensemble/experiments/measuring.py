"""Scores of many systems on the same notes, how sure they are, and which differences are more than chance.

    counts = counts_of(gold, answers, labels, criterion_named("strict"))       (n_documents, 3)
    rows = measured({"crf": counts, "stack": other}, reference="stack", seed=0)
    rows["crf"].score.f1            Measure(value=0.953, low=0.948, high=0.958)
    rows["crf"].difference.gap      its F1 less that of the reference

Intervals and p-values are those of `ensemble.evaluation.systems`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ensemble.evaluation import Criterion, Score
from ensemble.evaluation.counts import IntArray
from ensemble.evaluation.intervals import RESAMPLES
from ensemble.evaluation.pairing import pair, vocabulary
from ensemble.evaluation.systems import Difference, Systems
from ensemble.experiments.parts import Answers
from features.documents import Corpus
from features.labels import LabelSet

__all__ = ["Measured", "counts_of", "measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """The score of one system and its difference to the reference, which the reference itself does not have."""

    score: Score
    difference: Difference | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON can hold it."""
        if self.difference is None:
            return self.score.to_dict()
        gap, p, p_holm = self.difference
        return {**self.score.to_dict(), "difference": {"f1": gap._asdict(), "p": p, "p after Holm": p_holm}}


def counts_of(gold: Corpus, answers: Answers, labels: LabelSet, criterion: Criterion) -> IntArray:
    """True positives, false positives and false negatives of each note, of shape `(n_documents, 3)`.

    :param answers: the system's spans, in the order of gold's documents.
    :param labels: the label set of the answers.
    """
    notes = zip(gold.documents, answers, strict=True)
    system = replace(gold, documents=tuple(note.with_spans(spans) for note, spans in notes), label_set=labels)
    return criterion.by_document(pair(gold, system, vocabulary(gold.label_set, labels)).pairs)


def measured(
    counts: Mapping[str, IntArray],
    *,
    reference: str = "",
    shuffles: int = 9999,
    resamples: int = RESAMPLES,
    seed: int,
) -> dict[str, Measured]:
    """Score systems and compare the F1 of each with that of a reference.

    :param counts: for each system, counts of shape `(n_documents, 3)` on the same documents.
    :param reference: one of the systems; without it nothing is compared.
    :param shuffles: of the randomisation.
    :param seed: of bootstrap and randomisation.
    :raises EvaluationError: if the counts are not of the same documents, or there are none.
    """
    systems = Systems(counts, resamples=resamples, seed=seed)
    pairs = [(name, reference) for name in counts if reference and name != reference]
    found = systems.differences(pairs, ["f1"], shuffles=shuffles)
    return {name: Measured(score, found.get((name, reference, "f1"))) for name, score in systems.scores.items()}
