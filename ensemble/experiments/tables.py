"""Results as tables on screen. All of them read what `results.json` holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table

from ensemble.experiments.parts import STACK

__all__ = ["ablation_table", "curve_table", "spread", "transfer_table"]

_MEASURES = ("precision", "recall", "f1")


def ablation_table(results: Mapping[str, Any]) -> Table:
    """Every variant by sections: scores with intervals, the difference to the stack and its corrected p-value."""
    table = Table(title=_title("ablation", results), title_justify="left")
    table.add_column("system", overflow="fold")
    for column in ("precision", "recall", "F1", "difference", "p (Holm)"):
        table.add_column(column, justify="right", overflow="fold")
    for _, rows in groupby(results["rows"], key=lambda row: row["part"]):
        for row in rows:
            cells = (row["name"], *(_with_interval(row[name]) for name in _MEASURES), *_difference(row))
            table.add_row(*cells, style="bold" if row["name"] == STACK else None)
        table.add_section()
    return table


def curve_table(results: Mapping[str, Any]) -> Table:
    """Mean F1 and spread of every system, a row a share, and below what the spread is."""
    curves: Mapping[str, Sequence[Mapping[str, Any]]] = results["curves"]
    title = f"learning curve, F1, {results['criterion']}; {results['date']}, settings {results['settings hash']}"
    caption = f"In brackets: {results['spread']}."
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for column in ("share", "patients", *curves):
        table.add_column(column, justify="right", overflow="fold")
    for points in zip(*curves.values(), strict=True):
        share = points[0]
        table.add_row(f"{share['share']} %", str(share["patients"]), *map(_mean_with_spread, points))
    return table


def transfer_table(results: Mapping[str, Any]) -> Iterator[Table]:
    """One matrix of F1 a system: a row for each training corpus, a column for each test corpus."""
    for system, matrix in results["matrix"].items():
        table = Table(title=_title(f"{system}, F1", results), title_justify="left")
        table.add_column("trained on", overflow="fold")
        for name in matrix:
            table.add_column(f"tested on {name}", justify="right", overflow="fold")
        for trained, row in matrix.items():
            table.add_row(trained, *(_with_interval(row[tested]["f1"]) for tested in matrix))
        yield table


def _title(what: str, results: Mapping[str, Any]) -> str:
    return f"{what}, {results['criterion']}, 95 % intervals; {results['date']}, settings {results['settings hash']}"


def _with_interval(measure: Mapping[str, float]) -> str:
    return f"{100 * measure['value']:.2f} ({100 * measure['low']:.2f}-{100 * measure['high']:.2f})"


def spread(point: Mapping[str, Any]) -> tuple[float, float]:
    """What stands beside a mean of a learning curve: its interval or, of too few orders, the lowest and the highest."""
    low, high = point["interval"] or (min(point["orders"]), max(point["orders"]))
    return low, high


def _mean_with_spread(point: Mapping[str, Any]) -> str:
    low, high = spread(point)
    return _with_interval({"value": point["f1"], "low": low, "high": high})


def _difference(row: Mapping[str, Any]) -> tuple[str, str]:
    if "difference" not in row:
        return "", ""
    p = row["difference"]["p after Holm"]
    return f"{100 * row['difference']['f1']['value']:+.2f}", f"{p:.4f}"
