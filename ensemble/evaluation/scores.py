"""The score of a system, a criterion, a category or a type: the one shape that reports, tables and pages take.

score, other = scores(["crf", "stack"], counts, Bootstrap(counts, seed=0))
score.f1                      Measure(value=0.953, low=0.948, high=0.958)
score.counts.support          how many PHI gold has
score.to_dict()               {"tp": ..., "f1": {"value": ..., "low": ..., "high": ...}, ...}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phistack.ensemble.evaluation.counts import Counts, IntArray, total
from phistack.ensemble.evaluation.intervals import Bootstrap, Measure, wilson
from phistack.ensemble.evaluation.measures import MEASURES, Macro, f_score, macro


@dataclass(frozen=True, slots=True)
class Score:
    """Micro scores, of counts that are summed over documents, with intervals by bootstrap over documents.

    :param by_document: true positives, false positives and false negatives, shape `(n_documents, 3)`.
    :param counts: their sums.
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
        """The measures averaged over folds, as papers report ten-fold cross-validation.

        :param folds: the documents of each, by their places.
        """
        return macro(np.stack([self.by_document[list(fold)].sum(axis=0) for fold in folds]))

    def to_dict(self) -> dict[str, Any]:
        """Counts and measures, as JSON can hold them."""
        return {**self.counts._asdict(), **{name: measure._asdict() for name, measure in self.measures.items()}}


def scores(names: Sequence[str], counts: IntArray, bootstrap: Bootstrap) -> list[Score]:
    """The score of each row.

    :param counts: shape `(n_documents, n_names, 3)`, as given to the bootstrap.
    """
    measures = zip(*map(bootstrap.measures, MEASURES), strict=True)
    rows = zip(names, np.moveaxis(counts, 1, 0), measures, strict=True)
    return [Score(name, by_document, total(by_document), *figures) for name, by_document, figures in rows]
