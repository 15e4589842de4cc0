"""The frontier as a table on the screen and as a picture. Both read what `results.json` holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ensemble.experiments.pictures import BLUE, GREY, PALE, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["frontier_picture", "frontier_table"]

_COLUMNS = ("on the frontier", "notes/s", "lowest-highest", "load in s", "peak MB", "precision", "recall", "F1")
_REACH = 8.0
"""From a point to its number, in points."""


def frontier_table(results: Mapping[str, Any]) -> Table:
    """A row a subset, from the fastest to the slowest; those on the frontier are bold and have a dot."""
    title = f"{results['notes']['documents']} notes on one core, {results['criterion']}; {results['date']}"
    table = Table(title=title, title_justify="left")
    table.add_column("submodels", overflow="fold")
    for column in _COLUMNS:
        table.add_column(column, justify="center" if column == _COLUMNS[0] else "right", overflow="fold")
    for row in results["rows"]:
        speed = row["speed"]
        table.add_row(
            row["name"],
            "●" if row["on frontier"] else "",
            f"{speed['median']:.0f}",
            f"{speed['low']:.0f}-{speed['high']:.0f}",
            f"{row['load seconds']:.2f}",
            f"{row['peak MB']:.0f}",
            *(f"{100 * row[measure]['value']:.2f}" for measure in ("precision", "recall", "f1")),
            style="bold" if row["on frontier"] else None,
        )
    return table


def frontier_picture(results: Mapping[str, Any], folder: Path) -> None:
    """`frontier.png` and `frontier.svg`: recall by notes per second, the frontier as a stepped line.

    Points are numbered from the fastest to the slowest, and named beside the picture.
    """
    title = f"Speed and recall, {results['criterion']} ({results['notes']['documents']} notes, {results['date']})"
    rows: Sequence[Mapping[str, Any]] = results["rows"]
    with picture(folder, "frontier", title, size=(7.5, 4.6)) as figure:
        axes, names = figure.subplots(1, 2, width_ratios=(4, 1.25))
        _scales(axes)
        axes.step(*_places([row for row in rows if row["on frontier"]]), where="pre", color=BLUE, linewidth=1, zorder=1)
        for row, x, y in zip(rows, *_places(rows), strict=True):
            filled = BLUE if row["on frontier"] else "white"
            axes.plot([x], [y], "o", markersize=5, color=_colour(row), markerfacecolor=filled, zorder=2)
        _names(names, rows)
        figure.draw_without_rendering()
        _numbers(axes, rows)


def _places(rows: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """The coordinates of the points: notes per second, and recall in percent."""
    return [row["speed"]["median"] for row in rows], [100 * row["recall"]["value"] for row in rows]


def _colour(row: Mapping[str, Any]) -> str:
    return BLUE if row["on frontier"] else GREY


def _scales(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("notes per second of one core (logarithmic)")
    axes.set_ylabel("recall in percent")
    axes.grid(color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.08, y=0.08)


def _names(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """The list of the points, in the order of their numbers."""
    axes.set_axis_off()
    for number, row in enumerate(rows, start=1):
        style: dict[str, Any] = {"color": _colour(row), "fontsize": 8, "transform": axes.transAxes, "va": "top"}
        style["fontweight"] = "bold" if row["on frontier"] else "normal"
        height = 1.0 - 0.058 * (number - 1)
        axes.text(0.08, height, str(number), ha="right", **style)
        axes.text(0.14, height, row["name"], **style)


def _numbers(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """The points' numbers, each on the side where it is furthest from the points and the numbers before it."""
    import numpy as np

    points = axes.transData.transform(np.column_stack(_places(rows)))
    taken = list(points)
    sides = np.array([(1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1.2), (0, -1.2), (1.2, 0), (-1.2, 0)])
    reach = _REACH * axes.figure.get_dpi() / 72
    for number, (row, point, x, y) in enumerate(zip(rows, points, *_places(rows), strict=True), start=1):
        spots = point + reach * sides
        gaps = np.linalg.norm(spots[:, None] - np.array(taken)[None], axis=2).min(axis=1)
        best = int(np.argmax(gaps))
        taken.append(spots[best])
        axes.annotate(
            str(number), (x, y), xytext=tuple(_REACH * sides[best]), textcoords="offset points", ha="center",
            va="center", fontsize=7, color=_colour(row), fontweight="bold" if row["on frontier"] else "normal",
        )  # fmt: skip
