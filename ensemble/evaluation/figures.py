"""Scores of several systems on the same notes, in the form in which bundles, pages and tables show them.

rows = score_systems(gold, {"crf": corpus, "stack": corpus})
rows["stack"].f1                 strict micro F1, with an interval by bootstrap over documents
as_json(rows)                    {"stack": {"precision": ..., "recall": ..., "f1": ..., "interval": [...], ...}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ensemble.evaluation import Report, Score, evaluate
from ensemble.evaluation.intervals import Interval, drawn_sums, percentiles
from ensemble.evaluation.measures import recall
from features.documents import Corpus

__all__ = ["STRICT", "as_json", "score_systems", "table_of"]

STRICT = "i2b2 strict"
"""The criterion that is meant where only one F1 is told: start, end and type are all right."""


def score_systems(gold: Corpus, systems: Mapping[str, Corpus]) -> dict[str, Report]:
    """All criteria for each system."""
    return {name: evaluate(gold, system) for name, system in systems.items()}


def as_json(reports: Mapping[str, Report]) -> dict[str, dict[str, Any]]:
    """The strict score of each system."""
    return {name: _row(report.score(STRICT)) for name, report in reports.items()}


def _row(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "interval": list(score.f1_interval),
        "recall_interval": list(_recall_interval(score)),
    }


def _recall_interval(score: Score) -> Interval:
    """The wider ends of two: Wilson's takes each PHI on its own, and a bootstrap over documents sees none missed."""
    tp, _, fn = drawn_sums(score.by_document[:, None, :], seed=0)[:, 0].T
    drawn, single = percentiles(recall(tp, fn)), score.recall_interval
    return Interval(min(drawn.low, single.low), max(drawn.high, single.high))


def table_of(title: str, rows: Mapping[str, Mapping[str, Any]]) -> Any:
    """Strict scores as a rich table; `rows` as `as_json` gives them."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in ("system", "precision", "recall", "F1", "95 % interval"):
        table.add_column(column, justify="left" if column == "system" else "right", overflow="fold")
    for name, row in rows.items():
        low, high = row["interval"]
        figures = [f"{100 * row[key]:.2f}" for key in ("precision", "recall", "f1")]
        table.add_row(name, *figures, f"{100 * low:.2f}-{100 * high:.2f}")
    return table
