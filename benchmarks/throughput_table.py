"""The results of `benchmarks.throughput` as a table for the screen, one for docs/speed.md, and lines of ratios.

Console().print(table_of(results))
page = updated(page, markdown_of(results))
list(ratios(results))                      ["regex+tbed 3.40 x presidio", "full stack 1.15 x presidio"]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from benchmarks import markdown
from phistack.submodels.registry import SUBMODELS

OURS = "phistack "
"""What the names of our engines begin with; their submodels follow."""

REFERENCE = "presidio"
"""The tool to which others are compared."""
COLUMNS = (
    "tool", "notes/s", "lowest-highest", f"x {REFERENCE}", "aim", "load in s", "peak MB", "found", "F1", "recall",
)  # fmt: skip
BEGIN, END = "<!-- throughput: written by python -m benchmarks.throughput --docs -->", "<!-- /throughput -->"
_FULL_STACK = "+".join(SUBMODELS)


def table_of(results: Mapping[str, Any]) -> Table:
    """The rows as a table for the screen."""
    table = Table(title=_title(results), title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == COLUMNS[0] else "right")
    for cells in _cells(results):
        table.add_row(*cells)
    return table


def markdown_of(results: Mapping[str, Any]) -> str:
    """The same in Markdown."""
    lines = [*markdown.head(*COLUMNS, right=True), *(markdown.row(*cells) for cells in _cells(results))]
    lines += ["", f"{_title(results)}; median of {results['repetitions']}."]
    lines += [f"Not measured: {name}, as {reason}." for name, reason in results["not measured"].items()]
    return "\n".join(lines) + "\n"


def ratios(results: Mapping[str, Any]) -> Iterator[str]:
    """How fast each of our engines is beside the reference and the older checkout, as far as these were measured."""
    speeds = {row["name"]: row["speed"]["median"] for row in results["rows"]}
    for name in filter(lambda name: name.startswith(OURS), speeds):
        submodels = name.removeprefix(OURS)
        rivals = {REFERENCE: REFERENCE, f"{results['older']} {submodels}": results["older"]}
        found = [f"{speeds[name] / speeds[rival]:.2f} x {shown}" for rival, shown in rivals.items() if rival in speeds]
        if found:
            yield f"{'full stack' if submodels == _FULL_STACK else submodels} {', '.join(found)}"


def updated(page: str, table: str) -> str:
    """The page with another table between its markers; ends the program where it lacks them."""
    return markdown.replaced(page, BEGIN, END, table, where="throughput: docs/speed.md")


def _title(results: Mapping[str, Any]) -> str:
    machine, notes = results["machine"]["processor"], results["notes"]
    size = notes["characters"] / notes["documents"]
    return f"{notes['documents']} notes of {size:,.0f} characters, one core of {machine}; {results['date']}"


def _cells(results: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row of text for each tool."""
    for row in results["rows"]:
        speed = row["speed"]
        yield [
            f"{row['name']} {row['version']}".strip(),
            f"{speed['median']:.0f}",
            f"{speed['low']:.0f}-{speed['high']:.0f}",
            f"{row['ratio']:.2f}" if row["ratio"] else "",
            f"{row['aim']:.0f}" if row["aim"] else "",
            f"{row['load seconds']:.2f}",
            f"{row['peak MB']:.0f}",
            str(row["found"]),
            *(f"{100 * row[name]:.2f}" if row.get(name) is not None else "" for name in ("F1", "recall")),
        ]
