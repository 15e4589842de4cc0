"""The rows of the frontier, a subset each, and their picture: recall by notes per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phistack.ensemble.evaluation import Score
from phistack.ensemble.evaluation.tables import TableRow, percent, strong
from phistack.ensemble.experiments.pictures import BLUE, GREY, PALE, picture
from phistack.ensemble.experiments.speed import Speed
from phistack.ensemble.stacking.subsets import Subset, subset_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 8.0
"""From a point to its number, in points."""


@dataclass(frozen=True, slots=True)
class SubsetRow:
    """A subset of the submodels.

    :param is_best: whether it is on the frontier.
    """

    subset: Subset
    speed: Speed
    score: Score
    is_best: bool

    @property
    def name(self) -> str:
        """The names of the submodels, joined; a stacker over one submodel is not that submodel by itself."""
        return subset_name(self.subset) if len(self.subset) > 1 else f"stack over {self.subset[0]}"

    @property
    def place(self) -> tuple[float, float]:
        """In the picture: notes per second, and recall in percent."""
        return self.speed.notes_per_second.value, 100 * self.score.recall.value

    @property
    def cells(self) -> TableRow:
        """A row of the table."""
        name = strong(self.name) if self.is_best else self.name
        scores = (percent(measure.value) for measure in self.score.measures.values())
        return (name, "●" if self.is_best else "", *self.speed.cells, *scores)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON can hold it."""
        return {
            "name": self.name,
            "submodels": list(self.subset),
            **self.speed.to_dict(),
            **self.score.to_dict(),
            "on frontier": self.is_best,
        }


def frontier_picture(title: str, rows: Sequence[SubsetRow], folder: Path, *, comment: str = "") -> None:
    """`frontier.png`, `.svg` and `.pdf`: recall by notes per second, the frontier as a stepped line.

    Points are numbered, and named beside the picture.

    :param rows: from the fastest to the slowest.
    """
    with picture(folder, "frontier", title, size=(7.5, 4.6), comment=comment) as figure:
        axes, names = figure.subplots(1, 2, width_ratios=(4, 1.25))
        _scales(axes)
        speeds, recalls = zip(*(row.place for row in rows if row.is_best), strict=True)
        axes.step(speeds, recalls, where="pre", color=BLUE, linewidth=1, zorder=1)
        for row in rows:
            filled = BLUE if row.is_best else "white"
            axes.plot(*row.place, "o", markersize=5, color=_style(row)["color"], markerfacecolor=filled, zorder=2)
        _names(names, rows)
        figure.draw_without_rendering()
        _numbers(axes, rows)


def _style(row: SubsetRow) -> dict[str, Any]:
    return {"color": BLUE, "fontweight": "bold"} if row.is_best else {"color": GREY, "fontweight": "normal"}


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


def _names(axes: Axes, rows: Sequence[SubsetRow]) -> None:
    """The list of the points, in the order of their numbers."""
    axes.set_axis_off()
    for number, row in enumerate(rows, start=1):
        style = {**_style(row), "fontsize": 8, "transform": axes.transAxes, "va": "top"}
        height = 1.0 - 0.058 * (number - 1)
        axes.text(0.08, height, str(number), ha="right", **style)
        axes.text(0.14, height, row.name, **style)


def _numbers(axes: Axes, rows: Sequence[SubsetRow]) -> None:
    """The points' numbers, each on the side where it is furthest from the points and the numbers before it."""
    import numpy as np

    places = axes.transData.transform([row.place for row in rows])
    taken = list(places)
    sides = np.array([(1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1.2), (0, -1.2), (1.2, 0), (-1.2, 0)])
    reach = _REACH * axes.figure.get_dpi() / 72
    for number, (row, place) in enumerate(zip(rows, places, strict=True), start=1):
        spots = place + reach * sides
        gaps = np.linalg.norm(spots[:, None] - np.array(taken)[None], axis=2).min(axis=1)
        best = int(np.argmax(gaps))
        taken.append(spots[best])
        axes.annotate(
            str(number), row.place, xytext=tuple(_REACH * sides[best]), textcoords="offset points", ha="center",
            va="center", fontsize=7, **_style(row),
        )  # fmt: skip
