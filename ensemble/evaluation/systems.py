"""Scores of systems on the same documents, and how far the systems differ.

    systems = Systems({"a": counts_a, "b": counts_b}, patients)     counts by document, shape (n_documents, 3)
    systems.scores["a"].recall                                      Measure(value=0.953, low=0.948, high=0.958)
    systems.differences([("a", "b")], ["f1"])                       {("a", "b", "f1"): Difference(...)}
    table_of("dev", systems.scores), figures_of(systems.scores)     a row a system, for people and for bundles

Intervals are percentiles of a bootstrap in which all systems see the same draws; p-values are of paired approximate
randomisation, corrected over all differences that are asked for at once (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from phistack.ensemble.evaluation.criteria import Criterion
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
from phistack.ensemble.evaluation.tables import Table, percent
from phistack.features.documents import Corpus


@dataclass(frozen=True, slots=True)
class Score:
    """The micro scores of a system, a category or a type: of counts summed over documents, with their intervals.

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
        """Counts and measures, as JSON can hold them."""
        return {**self.counts._asdict(), **{name: measure._asdict() for name, measure in self.measures.items()}}


class Difference(NamedTuple):
    """A measure of one system less that of another, its p-value, and the same after Holm's correction."""

    gap: Measure
    p: float
    p_holm: float


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

    def differences(
        self, pairs: Iterable[tuple[str, str]], measures: Sequence[str]
    ) -> dict[tuple[str, str, str], Difference]:
        """Every measure of every pair of systems; (first, second, measure) -> the first less the second."""
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
    """Both in percent."""
    return f"{percent(found.mean)} ({percent(found.sd)})"
