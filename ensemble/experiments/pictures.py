"""Results as pictures in PNG, SVG and PDF, with colours that the colour-blind can distinguish (Okabe and Ito 2008).

Date and settings are in the metadata, not in the drawing. Scores are dots: bars need an axis from 0, which hides small
differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from phistack.ensemble.evaluation import Measure, Score
from phistack.ensemble.experiments.parts import ALONE, STACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    from phistack.ensemble.experiments.ablation import VariantRow
    from phistack.ensemble.experiments.learning_curve import CurvePoint

INK, PALE, GREY = "#222222", "#DDDDDD", "#888888"
BLUE, _SKY, _GREEN, _ORANGE, _VERMILION = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00"
_PURPLE, _YELLOW = "#CC79A7", "#F0E442"
_PART_COLOURS = {ALONE: "#999999", STACK: BLUE}
_LineStyle = tuple[str, Any, str]
"""Colour, line and marker."""
_LINES: dict[str, _LineStyle] = {
    STACK: (BLUE, "-", "o"), "blstm": (_VERMILION, "--", "s"), "crf": (_GREEN, "-.", "^"),
    "tbed": (_ORANGE, ":", "D"), "regex": (GREY, (0, (1, 1)), "v"),
}  # fmt: skip
_OTHER_LINES = ((_PURPLE, "-", "P"), (_SKY, "--", "X"), (INK, "-.", "<"), (_YELLOW, "-", ">"))
"""For submodels with other names, one after the other."""
_SIGNIFICANT = 0.05
_STYLE: dict[Any, Any] = {
    "font.size": 9, "font.family": "DejaVu Sans", "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": GREY, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "svg.hashsalt": "phistack", "svg.fonttype": "none",
}  # fmt: skip


@contextmanager
def picture(folder: Path, name: str, title: str, *, size: tuple[float, float], comment: str = "") -> Iterator[Figure]:
    """An empty figure in the common style; at the end of the block it is written as PNG, SVG and PDF.

    :param size: width and height in inches.
    :param comment: where the figures come from, for the metadata.
    """
    import matplotlib
    from matplotlib.figure import Figure

    about = {
        "png": {"Software": "phistack", "Description": comment},
        "svg": {"Date": None, "Creator": "phistack", "Description": comment},
        "pdf": {"CreationDate": None, "Creator": "phistack", "Subject": comment},
    }
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        for suffix, metadata in about.items():
            figure.savefig(folder / f"{name}.{suffix}", dpi=160, metadata=metadata)


def ablation_chart(title: str, rows: Sequence[VariantRow], folder: Path, *, comment: str = "") -> None:
    """F1 of each variant with its interval, and its difference to the stack."""
    # A row's height, from the top, with a gap between the parts.
    heights = [0.0]
    for row, before in zip(rows[1:], rows, strict=False):
        heights.append(heights[-1] + (1.0 if row.variant.part == before.variant.part else 1.6))
    size = (9.5, 1.4 + 0.27 * (heights[-1] + 1))
    with picture(folder, "chart", title, size=size, comment=comment) as figure:
        scores, gaps = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        _scores(scores, rows, heights)
        _gaps(gaps, rows, heights)


def _scores(axes: Axes, rows: Sequence[VariantRow], heights: Sequence[float]) -> None:
    for height, row in zip(heights, rows, strict=True):
        f1, colour = _in_percent(row.score.f1), _PART_COLOURS.get(row.variant.part, _SKY)
        axes.plot([f1.low, f1.high], [height, height], color=colour, linewidth=1.5)
        axes.plot([f1.value], [height], "o", markersize=6, color=colour)
        place = axes.get_yaxis_transform()
        axes.text(1.1, height, f"{f1.value:.2f}", transform=place, ha="right", va="center", color=INK)
    axes.set_yticks(list(heights), [row.name for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(heights[-1] + 0.7, -0.7)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("F1 in percent, with 95 % interval")


def _gaps(axes: Axes, rows: Sequence[VariantRow], heights: Sequence[float]) -> None:
    """Differences to the stack as dots; those of single submodels, which are much larger, as figures only."""
    axes.axvline(0, color=BLUE, linewidth=1)
    for height, row in zip(heights, rows, strict=True):
        if row.difference is None:
            continue
        gap, p = _in_percent(row.difference.gap), row.difference.p_holm
        for x, label in ((1.16, f"{gap.value:+.2f}"), (1.46, f"p {'<' if p < 0.001 else '='} {max(p, 0.001):.3f}")):
            axes.text(x, height, label, transform=axes.get_yaxis_transform(), ha="right", va="center", color=INK)
        if row.variant.part == ALONE:
            continue
        axes.plot([gap.low, gap.high], [height, height], color=INK, linewidth=1)
        filled = INK if p < _SIGNIFICANT else "white"
        axes.plot([gap.value], [height], "o", markersize=5, color=INK, markerfacecolor=filled)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("F1 less that of the stack, in points\n(filled: p < 0.05 after Holm's correction)")
    axes.margins(x=0.1)


def curve_picture(
    folder: Path, curves: Mapping[str, Sequence[CurvePoint]], *, title: str, spread: str, name: str, comment: str
) -> None:
    """Mean F1 by training size, one line per system, with single runs and intervals; `spread` explains these."""
    with picture(folder, name, title, size=(7, 4.2), comment=comment) as figure:
        axes = figure.subplots()
        lines = _LINES | dict(zip((name for name in curves if name not in _LINES), cycle(_OTHER_LINES), strict=False))
        for system, points in sorted(curves.items(), key=lambda item: -item[1][-1].f1.value):
            _curve(axes, system, lines[system], points)
        points = next(iter(curves.values()))
        dots = "runs" if points[0].n_runs > 1 else "orders"
        axes.set_title(fill(f"Spread: {spread}. Lines: means. Dots: single {dots}.", 105), loc="left", fontsize=7)
        axes.set_xlabel(f"training {points[0].by} (share of all)")
        axes.set_ylabel("F1 in percent")
        axes.set_xticks([p.size for p in points], [f"{p.size}\n{p.share:g} %" for p in points])
        axes.grid(axis="y", color=PALE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3)


def _curve(axes: Axes, name: str, style: _LineStyle, points: Sequence[CurvePoint]) -> None:
    colour, line, marker = style
    sizes = [point.size for point in points]
    axes.plot(
        sizes, [100 * point.f1.value for point in points], color=colour, linestyle=line, marker=marker, markersize=4,
        label=name,
    )  # fmt: skip
    for point in points:
        orders = [100 * f1 for f1 in point.orders]
        axes.plot([point.size] * len(orders), orders, ".", color=colour, markersize=3, alpha=0.5)
    if known := [point for point in points if point.interval]:
        _, lows, highs = zip(*(_in_percent(point.f1) for point in known), strict=True)
        axes.fill_between([point.size for point in known], lows, highs, color=colour, alpha=0.15, linewidth=0)
    for point in points:
        if not point.interval:
            axes.vlines(point.size, *_in_percent(point.f1)[1:], color=colour, alpha=0.5, linewidth=0.8)


def matrix_picture(
    title: str, matrices: Mapping[str, Mapping[str, Mapping[str, Score]]], folder: Path, *, comment: str = ""
) -> None:
    """F1 by training corpus and test corpus, one panel per system, the stack first."""
    from matplotlib.colors import Normalize

    trained = next(iter(matrices.values()))
    names = list(next(iter(trained.values())))
    size = (1.6 + (1.0 + 0.75 * len(names)) * len(matrices), 1.9 + 0.75 * len(trained))
    with picture(folder, "matrix", title, size=size, comment=comment) as figure:
        panels = figure.subplots(1, len(matrices), sharey=True, squeeze=False)[0]
        every = [100 * score.f1.value for of in matrices.values() for row in of.values() for score in row.values()]
        # One scale for all panels; the lowest value is still coloured and the highest is not black.
        room = max(every) - min(every) + 10
        colours = Normalize(min(every) - 0.5 * room, max(every) + 0.2 * room)
        for axes, system in zip(panels, sorted(matrices, key=lambda name: name != STACK), strict=True):
            _matrix(axes, system, matrices[system], names, colours)
        panels[0].set_ylabel("trained on")
        figure.supxlabel("tested on", fontsize=9)


def _matrix(
    axes: Axes, system: str, matrix: Mapping[str, Mapping[str, Score]], names: Sequence[str], colours: Normalize
) -> None:
    values = [[100 * row[tested].f1.value for tested in names] for row in matrix.values()]
    axes.imshow(values, cmap="Blues", norm=colours)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            axes.text(j, i, f"{value:.1f}", ha="center", va="center", color="white" if colours(value) > 0.6 else INK)
    axes.set_xticks(range(len(names)), list(names), rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(matrix)), list(matrix))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(system, fontsize=9, fontweight="bold" if system == STACK else "normal")


def _in_percent(measure: Measure) -> Measure:
    return Measure(*(100 * figure for figure in measure))
