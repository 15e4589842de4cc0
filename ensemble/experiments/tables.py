"""Results as tables: on screen and for LaTeX. All of them read what `results.json` holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table

from ensemble.experiments.parts import STACK

__all__ = ["ablation_latex", "ablation_table", "curve_table", "transfer_table"]

_MEASURES = ("precision", "recall", "f1")


def ablation_table(results: Mapping[str, Any]) -> Table:
    """Every variant by sections: scores with intervals, the difference to the stack and its corrected p-value."""
    table = Table(title=_title("ablation", results), title_justify="left")
    table.add_column("system")
    for column in ("precision", "recall", "F1", "difference", "p (Holm)"):
        table.add_column(column, justify="right")
    for _, rows in groupby(results["rows"], key=lambda row: row["part"]):
        for row in rows:
            cells = (row["name"], *(_with_interval(row[name]) for name in _MEASURES), *_difference(row))
            table.add_row(*cells, style="bold" if row["name"] == STACK else None)
        table.add_section()
    return table


def ablation_latex(results: Mapping[str, Any]) -> str:
    """The same for LaTeX with booktabs, a table environment with caption."""
    lines = [
        f"% {results['schema']}, {results['date']}, settings {results['settings hash']}",
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{_caption(results)}}}",
        r"\begin{tabular}{lrrrrr}",
        r"\toprule",
        r"system & precision & recall & F1 & difference & $p$ \\",
    ]
    for _, rows in groupby(results["rows"], key=lambda row: row["part"]):
        lines.append(r"\midrule")
        lines += [_latex_row(row) for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def curve_table(results: Mapping[str, Any]) -> Table:
    """Mean F1 and band of every system, a row a share."""
    curves: Mapping[str, Sequence[Mapping[str, Any]]] = results["curves"]
    table = Table(title=_title("learning curve, F1", results), title_justify="left")
    for column in ("share", "patients", *curves):
        table.add_column(column, justify="right")
    for points in zip(*curves.values(), strict=True):
        share = points[0]
        table.add_row(f"{share['share']} %", str(share["patients"]), *map(_mean_with_band, points))
    return table


def transfer_table(results: Mapping[str, Any]) -> Iterator[Table]:
    """One matrix of F1 a system: a row for each training corpus, a column for each test corpus."""
    for system, matrix in results["matrix"].items():
        table = Table(title=_title(f"{system}, F1", results), title_justify="left")
        table.add_column("trained on")
        for name in matrix:
            table.add_column(f"tested on {name}", justify="right")
        for trained, row in matrix.items():
            table.add_row(trained, *(_with_interval(row[tested]["f1"]) for tested in matrix))
        yield table


def _title(what: str, results: Mapping[str, Any]) -> str:
    return f"{what}, {results['criterion']}, 95 % intervals; {results['date']}, settings {results['settings hash']}"


def _with_interval(measure: Mapping[str, float]) -> str:
    return f"{100 * measure['value']:.2f} ({100 * measure['low']:.2f}-{100 * measure['high']:.2f})"


def _mean_with_band(point: Mapping[str, Any]) -> str:
    if point["low"] is None:
        return f"{100 * point['f1']:.2f}"
    return f"{100 * point['f1']:.2f} ({100 * point['low']:.2f}-{100 * point['high']:.2f})"


def _difference(row: Mapping[str, Any]) -> tuple[str, str]:
    if "difference" not in row:
        return "", ""
    p = row["difference"]["p after Holm"]
    return f"{100 * row['difference']['f1']['value']:+.2f}", f"{p:.4f}"


def _latex_row(row: Mapping[str, Any]) -> str:
    scores = [
        rf"{100 * row[name]['value']:.2f} {{\scriptsize ({100 * row[name]['low']:.2f}--{100 * row[name]['high']:.2f})}}"
        for name in _MEASURES
    ]
    gap, p = _difference(row)
    name = row["name"].replace("_", r"\_")
    if row["name"] == STACK:
        name = rf"\textbf{{{name}}}"
    return " & ".join([name, *scores, f"${gap}$" if gap else "", p]) + r" \\"


def _caption(results: Mapping[str, Any]) -> str:
    test = results["test"]
    where = "out of fold" if test is None else f"on {test['documents']} other notes"
    return (
        f"Criterion: {results['criterion']}. Trained on {results['training']['documents']} notes, scored {where}. "
        rf"In brackets 95\,\% bootstrap intervals by document; $p$ of paired approximate randomisation by document "
        f"with {results['shuffles']} shuffles, after Holm's correction. Differences are to the full stack, in points "
        f"of F1; {results['variants tried']} variants were tried."
    )
