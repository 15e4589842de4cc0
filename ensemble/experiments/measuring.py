"""Scores of many systems on the same notes, how sure they are, and which differences are more than chance.

    counts = counts_of(gold, answers, labels, criterion_named("strict"))       (n_documents, 3)
    rows = measured({"crf": counts, "stack": other}, reference="stack", seed=0)
    rows["crf"].f1                  Measure(value=0.953, low=0.948, high=0.958)
    rows["crf"].difference.gap      its F1 less that of the reference

Intervals and p-values are those of `ensemble.evaluation.systems`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ensemble.evaluation import Criterion
from ensemble.evaluation.counts import Counts, IntArray, total
from ensemble.evaluation.intervals import Measure
from ensemble.evaluation.notes import pair, vocabulary
from ensemble.evaluation.systems import RESAMPLES, Difference, Systems
from ensemble.experiments.parts import Answers
from features.documents import Corpus
from features.labels import LabelSet

__all__ = ["Measured", "counts_of", "measured"]


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
                "f1": self.difference.gap._asdict(),
                "p": self.difference.p,
                "p after Holm": self.difference.p_holm,
            }
        return row


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
    rows: dict[str, Measured] = {}
    for name, by_document in counts.items():
        scores = systems.scores(name)
        rows[name] = Measured(total(by_document), scores["precision"], scores["recall"], scores["f1"])
    pairs = [(name, reference) for name in counts if reference and name != reference]
    for (name, _, _), difference in systems.differences(pairs, ["f1"], shuffles=shuffles).items():
        rows[name] = replace(rows[name], difference=difference)
    return rows
