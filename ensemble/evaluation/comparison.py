"""Which of several systems is better, and whether that may be chance.

    comparison = compare(gold, {"a": system, "b": other}, criterion="strict")
    comparison.scores["a"].recall                      Measure(value=0.953, low=0.948, high=0.958)
    comparison.differences["a", "b", "recall"].p_holm  0.0123
    print_comparison(comparison, Console())
    comparison_latex(comparison)                       tables for booktabs

Every pair of systems is compared in precision, recall and F1, and Holm's correction is over all of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from phistack.ensemble.evaluation.criteria import Criterion, applicable, criterion_named
from phistack.ensemble.evaluation.measures import MEASURES, IntArray
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling, Units
from phistack.ensemble.evaluation.systems import Difference, Score, Systems, counts_of
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, escaped, gap, share
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError, LabelError
from phistack.features.shown import shown_id

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "phistack.comparison.v1"
_HEADS = {"precision": "precision", "recall": "recall", "f1": "F1"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `compare` found.

    :param documents: ids of the documents compared, in the order of gold.
    :param left_out: ids of the documents that not all have.
    :param differences: (system, other system, measure) -> the first less the second, with p-values.
    """

    criterion: Criterion
    label_set: str
    documents: tuple[str, ...]
    left_out: tuple[str, ...]
    scores: Mapping[str, Score]
    differences: Mapping[tuple[str, str, str], Difference]
    units: Units

    def tables(self) -> list[Table]:
        """The scores of the systems, and the differences of each pair."""
        title = f"{len(self.documents)} documents, {self.criterion.at(self.label_set)}, percent"
        scores: list[TableRow] = [(name, *map(share, score.measures.values())) for name, score in self.scores.items()]
        gaps: dict[tuple[str, str], list[TableRow]] = {}
        for (a, b, measure), found in self.differences.items():
            names = Cell(f"{a} - {b}", f"{escaped(a)} $-$ {escaped(b)}")
            row = (names, _HEADS[measure], gap(found.gap), f"{found.p:.4f}", f"{found.p_holm:.4f}")
            gaps.setdefault((a, b), []).append(row)
        how = f"p: two-sided {self.units.p_values}; Holm: corrected over all {len(self.differences)} differences"
        columns, less = ("systems", "of", "points", "p", "Holm"), "Differences in points, the first less the second"
        return [
            Table(("system", *_HEADS.values()), [scores], title, self.units.intervals),
            Table(columns, [*gaps.values()], less, f"{how}; {self.units.intervals}", 2),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON can hold it; the keys are stable within one `schema`."""
        how = self.units.resampling
        units = {"unit": self.units.name, "units": len(self.units), "seed": how.seed}
        return {
            "schema": SCHEMA,
            "label_set": self.label_set,
            "criterion": self.criterion.name,
            "documents": {"compared": len(self.documents), "left_out": list(self.left_out)},
            "bootstrap": {**units, "resamples": how.draws, "level": 0.95},
            "randomisation": {**units, "shuffles": how.shuffles, "holm_over": len(self.differences)},
            "systems": {name: score.to_dict() for name, score in self.scores.items()},
            "differences": [
                {"of": a, "less": b, "measure": measure, **found.gap._asdict(), "p": found.p, "p_holm": found.p_holm}
                for (a, b, measure), found in self.differences.items()
            ],
        }


def compare(
    gold: Corpus,
    systems: Mapping[str, Corpus],
    *,
    criterion: str = "strict",
    allow_missing: bool = False,
    resampling: Resampling = BY_PATIENT,
) -> Comparison:
    """Compare every two systems in precision, recall and F1, on the same documents.

    :param systems: name -> answers, with the texts unchanged; at least two.
    :param allow_missing: compare on the documents that gold and all systems have, instead of refusing.
    :raises SettingsError: if there is no such criterion.
    :raises EvaluationError: as for `evaluate`, if there are fewer than two systems, or if the criterion does not apply
        to the label set.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    if len(systems) < 2:
        raise EvaluationError("a comparison needs the gold annotations and at least two systems")
    rule, labels = criterion_named(criterion), gold.label_set
    if rule not in applicable(labels):
        raise EvaluationError(
            f"the criterion {rule.name} does not apply to the label set {labels.name}; choose another with --criterion"
        )
    corpora = [gold, *systems.values()]
    left_out: tuple[str, ...] = ()
    if allow_missing:
        shared = set.intersection(*({document.id for document in corpus.documents} for corpus in corpora))
        left_out = tuple(dict.fromkeys(d.id for corpus in corpora for d in corpus.documents if d.id not in shared))
        corpora = [replace(c, documents=tuple(d for d in c.documents if d.id in shared)) for c in corpora]
    notes = corpora[0].documents
    counts = {name: _counts(name, corpora[0], corpus, rule) for name, corpus in zip(systems, corpora[1:], strict=True)}
    scored = Systems(counts, [document.group for document in notes], resampling)
    differences = scored.differences(combinations(counts, 2), list(MEASURES))
    ids = tuple(document.id for document in notes)
    return Comparison(rule, labels.name, ids, left_out, scored.scores, differences, scored.units)


def _counts(name: str, gold: Corpus, system: Corpus, criterion: Criterion) -> IntArray:
    """Counts by document of one system, which errors name."""
    try:
        return counts_of(gold, system, criterion)
    except (EvaluationError, LabelError) as error:
        raise type(error)(f"{name}: {error}") from None


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the scores of each system, the differences, and how they were tested; 80 columns are enough."""
    for table in comparison.tables():
        console.print(table.rich())
    if left_out := comparison.left_out:
        line = f"NOT COMPARED: {len(left_out)} documents that some system lacks, the first is {shown_id(left_out[0])}"
        console.print(line, markup=False, highlight=False)


def comparison_latex(comparison: Comparison) -> str:
    """The same tables for LaTeX with booktabs."""
    return "\n".join(table.latex(SCHEMA) for table in comparison.tables())
