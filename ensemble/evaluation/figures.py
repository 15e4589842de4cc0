"""The strict scores of several systems, as bundles keep them and as the terminal shows them.

strict = strict_scores(evaluate_systems(gold, {"crf": corpus, "stack": corpus}))
strict["stack"].f1               strict micro F1, with an interval by bootstrap over documents
figures_of(strict)               {"stack": {"precision": ..., "recall": ..., "f1": ..., "interval": [...], ...}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ensemble.evaluation.report import Report
from ensemble.evaluation.scores import Score
from ensemble.evaluation.tables import Table, percent

__all__ = ["figures_of", "strict_scores", "table_of"]


def strict_scores(reports: Mapping[str, Report]) -> dict[str, Score]:
    """The strict score of each system."""
    return {name: report.strict for name, report in reports.items()}


def figures_of(scores: Mapping[str, Score]) -> dict[str, dict[str, Any]]:
    """Scores as manifests and results files hold them.

    The interval of recall has the wider ends of two: Wilson's takes each PHI on its own, and a bootstrap over documents
    sees none missed where none is.
    """
    return {
        name: {
            **{measure: figure.value for measure, figure in score.measures.items()},
            "interval": list(score.f1[1:]),
            "recall_interval": list(score.recall.widened(score.recall_by_wilson)[1:]),
        }
        for name, score in scores.items()
    }


def table_of(title: str, scores: Mapping[str, Score]) -> Table:
    """Scores as a table in percent, with the interval of F1."""
    rows = [
        (name, *(percent(measure.value) for measure in score.measures.values()), "-".join(map(percent, score.f1[1:])))
        for name, score in scores.items()
    ]
    return Table(("system", "precision", "recall", "F1", "95 % interval"), [rows], title)
