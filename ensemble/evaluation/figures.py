"""The strict scores of several systems, as bundles keep them and as the terminal shows them.

reports = evaluate_systems(gold, {"crf": corpus, "stack": corpus})
figures_of(reports)              {"stack": {"precision": ..., "recall": ..., "f1": ..., "interval": [...], ...}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phistack.ensemble.evaluation.measures import MEASURES, Macro
from phistack.ensemble.evaluation.report import Report
from phistack.ensemble.evaluation.scores import Score
from phistack.ensemble.evaluation.tables import Table, percent


def figures_of(reports: Mapping[str, Report]) -> dict[str, dict[str, Any]]:
    """The strict scores as manifests and results files hold them.

    The interval of recall has the wider ends of two: Wilson's takes each PHI on its own, and a bootstrap over documents
    sees none missed where none is.
    """
    return {name: _figures(report.strict) for name, report in reports.items()}


def _figures(score: Score) -> dict[str, Any]:
    return {
        **{measure: figure.value for measure, figure in score.measures.items()},
        "interval": list(score.f1[1:]),
        "recall_interval": list(score.recall.widened(score.recall_by_wilson)[1:]),
    }


def table_of(title: str, reports: Mapping[str, Report]) -> Table:
    """The strict scores as a table in percent, with the interval of F1."""
    rows = [
        (name, *(percent(measure.value) for measure in score.measures.values()), "-".join(map(percent, score.f1[1:])))
        for name, score in ((name, report.strict) for name, report in reports.items())
    ]
    return Table(("system", "precision", "recall", "F1", "95 % interval"), [rows], title)


def fold_figures(means: Mapping[str, Macro]) -> dict[str, dict[str, dict[str, float]]]:
    """The means over folds as manifests and results files hold them: system -> measure -> mean and deviation."""
    return {name: {measure: getattr(mean, measure)._asdict() for measure in MEASURES} for name, mean in means.items()}


def fold_table(title: str, means: Mapping[str, Macro]) -> Table:
    """The same as a table in percent, with the standard deviation in brackets."""
    rows = [
        (name, *(f"{percent(found.mean)} ({percent(found.sd)})" for found in (getattr(mean, m) for m in MEASURES)))
        for name, mean in means.items()
    ]
    return Table(("system", "precision", "recall", "F1"), [rows], title)
