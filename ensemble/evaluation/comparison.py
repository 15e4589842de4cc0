"""Which of several systems is better, and whether that may be chance.

    comparison = compare(gold, {"a": system, "b": other}, criterion="strict")
    comparison.scores["a"].recall                      Measure(value=0.953, low=0.948, high=0.958)
    comparison.differences["a", "b", "recall"].p_holm  0.0123
    print_comparison(comparison, Console())
    comparison_latex(comparison)                       a table environment for booktabs

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
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

if TYPE_CHECKING:
    from rich.console import Console

_HEADS = {"precision": "precision", "recall": "recall", "f1": "F1"}
_COLUMNS = ("system", *_HEADS.values())
SCHEMA = "phistack.comparison.v1"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `compare` found.

    :param criterion: what counts as a hit.
    :param label_set: the name of gold's label set.
    :param documents: ids of the documents compared, in the order of gold.
    :param left_out: ids of the documents that not all have.
    :param scores: of each system.
    :param differences: (system, other system, measure) -> the first less the second, with p-values.
    :param units: what was drawn and exchanged.
    """

    criterion: Criterion
    label_set: str
    documents: tuple[str, ...]
    left_out: tuple[str, ...]
    scores: Mapping[str, Score]
    differences: Mapping[tuple[str, str, str], Difference]
    units: Units

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
                {"of": first, "less": second, "measure": measure, **_row(difference)}
                for (first, second, measure), difference in self.differences.items()
            ],
        }


def _row(difference: Difference) -> dict[str, Any]:
    return {**difference.gap._asdict(), "p": difference.p, "p_holm": difference.p_holm}


def compare(
    gold: Corpus,
    systems: Mapping[str, Corpus],
    *,
    criterion: str = "strict",
    allow_missing: bool = False,
    resampling: Resampling = BY_PATIENT,
) -> Comparison:
    """Compare every two systems in precision, recall and F1, on the same documents.

    :param gold: the reference.
    :param systems: name -> answers, with the texts unchanged; at least two.
    :param criterion: the name of one, or `strict` or `spans`.
    :param allow_missing: compare on the documents that gold and all systems have, instead of refusing.
    :param resampling: how intervals and p-values are drawn.
    :raises SettingsError: if there is no such criterion.
    :raises EvaluationError: as for `evaluate`, if there are fewer than two systems, or if the criterion does not apply
        to the label set.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    if len(systems) < 2:
        raise EvaluationError("a comparison needs the gold annotations and at least two systems")
    rule = _applicable(criterion, gold.label_set)
    left_out: tuple[str, ...] = ()
    if allow_missing:
        gold, systems, left_out = _shared(gold, systems)
    counts = {name: _counts(name, gold, system, rule) for name, system in systems.items()}
    scored = Systems(counts, [document.group for document in gold.documents], resampling)
    return Comparison(
        criterion=rule,
        label_set=gold.label_set.name,
        documents=tuple(document.id for document in gold.documents),
        left_out=left_out,
        scores=scored.scores,
        differences=scored.differences(combinations(counts, 2), list(MEASURES)),
        units=scored.units,
    )


def _applicable(name: str, labels: LabelSet) -> Criterion:
    rule = criterion_named(name)
    if rule not in applicable(labels):
        raise EvaluationError(
            f"the criterion {rule.name} does not apply to the label set {labels.name}; choose another with --criterion"
        )
    return rule


def _shared(gold: Corpus, systems: Mapping[str, Corpus]) -> tuple[Corpus, Mapping[str, Corpus], tuple[str, ...]]:
    """All corpora with only the documents that each of them has, and the ids of the others."""
    corpora = (gold, *systems.values())
    shared = set.intersection(*({document.id for document in corpus.documents} for corpus in corpora))
    others = dict.fromkeys(d.id for corpus in corpora for d in corpus.documents if d.id not in shared)
    kept = [replace(corpus, documents=tuple(d for d in corpus.documents if d.id in shared)) for corpus in corpora]
    return kept[0], dict(zip(systems, kept[1:], strict=True)), tuple(others)


def _counts(name: str, gold: Corpus, system: Corpus, criterion: Criterion) -> IntArray:
    """Counts by document of one system, which errors name."""
    try:
        return counts_of(gold, system, criterion)
    except (EvaluationError, LabelError) as error:
        raise type(error)(f"{name}: {error}") from None


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the scores of each system, the differences, and how they were tested; 80 columns are enough.

    :param console: of rich; a terminal gets a table, a file plain text.
    """
    criterion = comparison.criterion.at(comparison.label_set)
    title = f"{len(comparison.documents)} documents, {criterion}, percent, with 95 % intervals"
    console.print(Table(_COLUMNS, [_systems(comparison)], title).rich())
    console.print(_differences(comparison).rich())
    for line in _lines(comparison):
        console.print(line, markup=False, highlight=False)


def comparison_latex(comparison: Comparison) -> str:
    """The scores of the systems, and for each pair the differences with corrected p-values, for LaTeX with booktabs."""
    criterion, units = comparison.criterion.at(comparison.label_set), comparison.units
    caption = (
        f"Criterion: {criterion}, {len(comparison.documents)} documents, in percent. In brackets {units.intervals}; "
        f"p of {units.p_values}, after Holm's correction over {len(comparison.differences)} differences."
    )
    pairs = dict.fromkeys(key[:2] for key in comparison.differences)
    sections = [_systems(comparison), *(_pair_rows(comparison, *names) for names in pairs)]
    return Table(_COLUMNS, sections, caption=caption).latex(SCHEMA)


def _systems(comparison: Comparison) -> list[TableRow]:
    return [(name, *map(share, score.measures.values())) for name, score in comparison.scores.items()]


def _differences(comparison: Comparison) -> Table:
    rows = [
        (f"{first} - {second}", _HEADS[measure], gap(found.gap), f"{found.p:.4f}", f"{found.p_holm:.4f}")
        for (first, second, measure), found in comparison.differences.items()
    ]
    title = "Differences in points, the first system less the second"
    return Table(("systems", "of", "points", "p", "Holm"), [rows], title)


def _pair_rows(comparison: Comparison, first: str, second: str) -> list[TableRow]:
    found = [comparison.differences[first, second, measure] for measure in MEASURES]
    names = Cell(f"{first} - {second}", f"{escaped(first)} $-$ {escaped(second)}")
    p_values = (f"{difference.p_holm:.4f}" for difference in found)
    return [(names, *(gap(difference.gap) for difference in found)), (Cell("p", r"\quad $p$"), *p_values)]


def _lines(comparison: Comparison) -> list[str]:
    tested, left_out, units = len(comparison.differences), comparison.left_out, comparison.units
    lines = [f"p: two-sided {units.p_values}; Holm: corrected over all {tested} differences; {units.intervals}"]
    if left_out:
        lines.append(
            f"NOT COMPARED: {len(left_out)} documents that some system lacks, the first is {shown_id(left_out[0])}"
        )
    return lines
