"""Scores of systems on the same documents, and how far the systems differ.

    systems = Systems({"a": counts_a, "b": counts_b}, patients)     counts by document, shape (n_documents, 3)
    systems.differences([("a", "b")], ["f1"])                       {("a", "b", "f1"): Difference(...)}
    table_of("dev", systems.scores), figures_of(systems.scores)     a row a system, for people and for bundles
    comparison = compare(gold, {"a": system, "b": other})           every two of several systems, in all measures

All systems see the same draws; p-values are corrected over all differences requested together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phistack.ensemble.evaluation.criteria import Criterion, applicable, criterion_named
from phistack.ensemble.evaluation.measures import (
    MEASURES,
    Counts,
    IntArray,
    Macro,
    MeanAndDeviation,
    f_score,
    macro,
    total,
)
from phistack.ensemble.evaluation.pairing import pair, vocabulary
from phistack.ensemble.evaluation.resampling import (
    BY_PATIENT,
    Bootstrap,
    Measure,
    Resampling,
    Units,
    holm,
    paired_randomisation,
    wilson,
)
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, escaped, gap, percent, share
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError, LabelError
from phistack.features.shown import shown_id

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "phistack.comparison.v1"
_HEADS = {"precision": "precision", "recall": "recall", "f1": "F1"}


@dataclass(frozen=True, slots=True)
class Score:
    """The micro scores of a system, a category or a type, from counts summed over documents, with their intervals.

    :param by_document: true positives, false positives and false negatives, shape `(n_documents, 3)`.
    :param official: what the shared task's public script calls this figure; empty where it has none.
    """

    name: str
    by_document: IntArray = field(repr=False, compare=False)
    counts: Counts
    precision: Measure
    recall: Measure
    f1: Measure
    official: str = ""

    @property
    def measures(self) -> dict[str, Measure]:
        """Precision, recall and F1 by name, as in `MEASURES`."""
        return {name: getattr(self, name) for name in MEASURES}

    @property
    def f2(self) -> float:
        """Micro F2, in which recall weighs more."""
        return float(f_score(self.precision.value, self.recall.value, beta=2))

    @property
    def macro(self) -> Macro:
        """The measures averaged over documents."""
        return macro(self.by_document)

    @property
    def recall_by_wilson(self) -> Measure:
        """Recall with Wilson's interval, for figures of few PHI."""
        return wilson(self.counts.tp, self.counts.support)

    def over_folds(self, folds: Sequence[Sequence[int]]) -> Macro:
        """The measures averaged over folds, given by the places of their documents, as papers report them."""
        return macro(np.stack([self.by_document[list(fold)].sum(axis=0) for fold in folds]))

    def to_dict(self) -> dict[str, Any]:
        return {**self.counts._asdict(), **{name: measure._asdict() for name, measure in self.measures.items()}}


class Difference(NamedTuple):
    """A measure of one system minus that of another, its p-value, and the p-value after Holm's correction."""

    gap: Measure
    p: float
    p_holm: float


Differences = Mapping[tuple[str, str, str], Difference]
"""(system, other system, measure) -> the first minus the second."""


def scores(names: Sequence[str], counts: IntArray, bootstrap: Bootstrap) -> list[Score]:
    """The score of each row of counts, of shape `(n_documents, n_names, 3)`, as given to the bootstrap."""
    measures = zip(*map(bootstrap.measures, MEASURES), strict=True)
    rows = zip(names, np.moveaxis(counts, 1, 0), measures, strict=True)
    return [Score(name, by_document, total(by_document), *figures) for name, by_document, figures in rows]


def counts_of(gold: Corpus, system: Corpus, criterion: Criterion) -> IntArray:
    """True positives, false positives and false negatives of each document of gold; raises what `pair` does."""
    return criterion.by_document(pair(gold, system, vocabulary(gold.label_set, system.label_set)).pairs)


class Systems:
    """Counts of several systems on the same documents.

    :param counts: system -> true positives, false positives and false negatives, shape `(n_documents, 3)`; at least one
        document.
    """

    def __init__(
        self, counts: Mapping[str, IntArray], patients: Sequence[str], resampling: Resampling = BY_PATIENT
    ) -> None:
        self.units, self._counts = Units.of(patients, resampling), counts
        stacked = np.stack(list(counts.values()), axis=1)
        self._bootstrap = Bootstrap(stacked, self.units)
        self.scores = {score.name: score for score in scores(list(counts), stacked, self._bootstrap)}

    def differences(self, pairs: Iterable[tuple[str, str]], measures: Sequence[str]) -> Differences:
        """Every measure of every pair of systems."""
        counts = {name: self.units.sums(array) for name, array in self._counts.items()}
        keys = [(first, second, measure) for first, second in pairs for measure in measures]
        shuffles, seed = self.units.resampling.shuffles, self.units.resampling.seed
        p_values = [
            paired_randomisation(counts[first], counts[second], measure=measure, shuffles=shuffles, seed=seed)
            for first, second, measure in keys
        ]
        row = list(self._counts).index
        return {
            (first, second, measure): Difference(self._bootstrap.gap(measure, row(first), row(second)), p, p_holm)
            for (first, second, measure), p, p_holm in zip(keys, p_values, holm(p_values), strict=True)
        }


def figures_of(scores: Mapping[str, Score]) -> dict[str, dict[str, Any]]:
    """The scores as manifests hold them; the interval of recall has the wider ends of Wilson's and the bootstrap's."""
    figures = {}
    for name, score in scores.items():
        values, wide = {measure: figure.value for measure, figure in score.measures.items()}, score.recall_by_wilson
        recall_interval = [min(score.recall.low, wide.low), max(score.recall.high, wide.high)]
        figures[name] = {**values, "interval": list(score.f1[1:]), "recall_interval": recall_interval}
    return figures


def table_of(title: str, scores: Mapping[str, Score], note: str = "") -> Table:
    """The scores as a table in percent, with the interval of F1."""
    rows = [
        (name, *(percent(measure.value) for measure in score.measures.values()), "-".join(map(percent, score.f1[1:])))
        for name, score in scores.items()
    ]
    return Table(("system", "precision", "recall", "F1", "95 % interval"), [rows], title, note)


def mean_figures(mean: Macro) -> dict[str, dict[str, float]]:
    """Measure -> mean and deviation, as manifests and results files hold them."""
    return {measure: getattr(mean, measure)._asdict() for measure in MEASURES}


def mean_table(over: str, means: Mapping[str, Macro]) -> Table:
    """Means over folds or seeds, in percent, with the standard deviation in brackets."""
    rows = [(name, *map(mean_and_deviation, mean[:3])) for name, mean in means.items()]
    title = f"mean over {over}, standard deviation in brackets"
    return Table(("system", "precision", "recall", "F1"), [rows], title)


def mean_and_deviation(found: MeanAndDeviation) -> str:
    return f"{percent(found.mean)} ({percent(found.sd)})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `compare` found.

    :param documents: ids of the documents compared, in the order of gold.
    :param left_out: ids of the documents that some side lacks.
    """

    criterion: Criterion
    label_set: str
    documents: tuple[str, ...]
    left_out: tuple[str, ...]
    scores: Mapping[str, Score]
    differences: Differences
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
        console.print(table)
    if left_out := comparison.left_out:
        line = f"NOT COMPARED: {len(left_out)} documents that some system lacks, the first is {shown_id(left_out[0])}"
        console.print(line, markup=False, highlight=False)


def comparison_latex(comparison: Comparison) -> str:
    """The same tables for LaTeX with booktabs."""
    return "\n".join(table.latex(SCHEMA) for table in comparison.tables())
