"""The figures of one system, frozen, and as JSON.

    report.strict.f1                         Measure(value=0.9511, low=0.93, high=0.96)
    report.score("i2b2 relaxed").counts      Counts(tp=980, fp=12, fn=20)
    report.to_dict()["schema"]               "phistack.evaluation.v1"

The schema name changes when a key is renamed or dropped; new keys may come without a change.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from phistack.ensemble.evaluation.coverage import Coverage, Leak
from phistack.ensemble.evaluation.scores import Score
from phistack.features.errors import EvaluationError

SCHEMA = "phistack.evaluation.v1"
STRICT = "i2b2 strict"
"""The criterion that is meant where only one F1 is named: start, end and type are all right."""
_COVERAGE = (
    "character_recall", "covered_characters", "phi_characters", "document_leak", "leaking_documents",
    "document_exposure", "uncovered_documents",
)  # fmt: skip


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

    @property
    def strict(self) -> Score:
        """The row of `STRICT`."""
        return self.score(STRICT)

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
            "criteria": {s.name: {"official": s.official or None, **_row(s)} for s in self.criteria},
            "categories": {score.name: _row(score) for score in self.categories},
            "types": {score.name: _row(score) for score in self.types},
            "leak": {"rate": self.leak.rate, **asdict(self.leak)},
            "coverage": {name: getattr(self.coverage, name) for name in _COVERAGE},
        }


def _row(score: Score) -> dict[str, Any]:
    """A row as JSON can hold it, without the counts by document; the interval of recall is Wilson's."""
    macro = score.macro
    return {
        "support": score.counts.support,
        **score.counts._asdict(),
        **{name: measure.value for name, measure in score.measures.items()},
        "f2": score.f2,
        "f1_interval": list(score.f1[1:]),
        "recall_interval": list(score.recall_by_wilson[1:]),
        "macro": {
            "precision": macro.precision._asdict(),
            "recall": macro.recall._asdict(),
            "f1": macro.f1._asdict(),
            "f1_of_means": macro.f1_of_means,
        },
    }
