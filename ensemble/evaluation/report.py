"""The figures of one system, frozen, and as JSON.

    report.score("i2b2 strict").f1         0.9511
    report.types[0].recall_interval        Interval(low=0.93, high=0.97)
    report.to_dict()["schema"]             "phistack.evaluation.v1"

The schema name changes when a key is renamed or dropped; new keys may come without a change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ensemble.evaluation import measures
from ensemble.evaluation.counts import Counts, IntArray
from ensemble.evaluation.coverage import Coverage, Leak
from ensemble.evaluation.intervals import Interval
from ensemble.evaluation.measures import Macro
from features.errors import EvaluationError

__all__ = ["SCHEMA", "Report", "Score"]

SCHEMA = "phistack.evaluation.v1"


@dataclass(frozen=True, slots=True)
class Score:
    """One row: a criterion, a category or a type.

    :param name: of the row.
    :param counts: summed over documents; precision, recall, F1 and F2 are of these, that is, micro.
    :param macro: the same measures averaged over documents.
    :param f1_interval: 95 % bootstrap interval by document of micro F1.
    :param recall_interval: 95 % interval of Wilson of micro recall.
    :param official: what the shared task's public script calls this figure; empty where it has none.
    :param by_document: the counts apart, shape `(n_documents, 3)`, in the order of the report's documents.
    """

    name: str
    counts: Counts
    macro: Macro
    f1_interval: Interval
    recall_interval: Interval
    by_document: IntArray = field(repr=False, compare=False)
    official: str = ""

    @property
    def precision(self) -> float:
        """Micro precision."""
        return float(measures.precision(self.counts.tp, self.counts.fp))

    @property
    def recall(self) -> float:
        """Micro recall."""
        return float(measures.recall(self.counts.tp, self.counts.fn))

    @property
    def f1(self) -> float:
        """Micro F1."""
        return float(measures.f_score(self.precision, self.recall))

    @property
    def f2(self) -> float:
        """Micro F2, in which recall weighs more."""
        return float(measures.f_score(self.precision, self.recall, beta=2))

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON can hold it, without the counts by document."""
        return {
            "support": self.counts.support,
            **self.counts._asdict(),
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "f2": self.f2,
            "f1_interval": list(self.f1_interval),
            "recall_interval": list(self.recall_interval),
            "macro": {
                "precision": self.macro.precision._asdict(),
                "recall": self.macro.recall._asdict(),
                "f1": self.macro.f1._asdict(),
                "f1_of_means": self.macro.f1_of_means,
            },
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that `evaluate` found.

    :param documents: ids of the documents scored, in the order of gold.
    :param missing: ids of gold that the system lacks, not scored.
    :param extra: ids of the system that gold lacks, not scored.
    :param label_set: the name of gold's label set.
    :param criteria: one row for each criterion that applies to the label set.
    :param categories: strict rows by category, of gold and system.
    :param types: strict rows by type, of gold and system.
    :param leak: false negatives for each sentence.
    :param coverage: character recall and leak by document.
    :param resamples: of the bootstrap.
    :param seed: of the bootstrap.
    """

    documents: tuple[str, ...] = field(repr=False)
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    label_set: str
    criteria: tuple[Score, ...]
    categories: tuple[Score, ...]
    types: tuple[Score, ...]
    leak: Leak
    coverage: Coverage
    resamples: int
    seed: int

    def score(self, criterion: str) -> Score:
        """The row of a criterion; :raises EvaluationError: if the report has none of that name."""
        for score in self.criteria:
            if score.name == criterion:
                return score
        names = ", ".join(score.name for score in self.criteria)
        raise EvaluationError(f"the report has no criterion {criterion}; it has {names}")

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it; the keys are stable within one `schema`."""
        return {
            "schema": SCHEMA,
            "label_set": self.label_set,
            "documents": {"scored": len(self.documents), "missing": list(self.missing), "extra": list(self.extra)},
            "bootstrap": {"resamples": self.resamples, "seed": self.seed, "level": 0.95},
            "criteria": {s.name: {"official": s.official or None, **s.to_dict()} for s in self.criteria},
            "categories": {score.name: score.to_dict() for score in self.categories},
            "types": {score.name: score.to_dict() for score in self.types},
            "leak": {
                "rate": self.leak.rate,
                "false_negatives": self.leak.false_negatives,
                "sentences": self.leak.sentences,
                "sentence_source": self.leak.sentence_source,
            },
            "coverage": {
                "character_recall": self.coverage.character_recall,
                "covered_characters": self.coverage.covered_characters,
                "phi_characters": self.coverage.phi_characters,
                "document_leak": self.coverage.document_leak,
                "leaking_documents": self.coverage.leaking_documents,
                "document_exposure": self.coverage.document_exposure,
                "uncovered_documents": self.coverage.uncovered_documents,
            },
        }
