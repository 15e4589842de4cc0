"""F1 of each method by category as a picture, as figure 4 of Liu 2017 has it.

    method_picture("Figure 4", "figure-4", rows, folder, apart=("LOCATION", "PROFESSION"))

A dot for each method; its axis need not begin at 0, as that of bars would. Categories that are much lower are apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from phistack.ensemble.experiments.pictures import BLUE, GREY, PALE, picture

_STYLES = (("#009E73", "^"), ("#E69F00", "s"), ("#D55E00", "D"), (BLUE, "o"), (GREY, "v"))
_APART = 0.16
"""How far the dots of a category are from each other; categories are 1 apart."""


def method_picture(
    title: str, name: str, rows: Sequence[Mapping[str, Any]], folder: Path, *, apart: Collection[str] = ()
) -> None:
    """Write `NAME.png` and `NAME.svg`.

    :param rows: each with its `category`, and under `ours` the F1 of each method there; `None` where there is none.
    :param apart: categories of the second panel, if there are any of them.
    """
    panels = [[r for r in rows if (r["category"] in apart) == is_apart] for is_apart in (False, True)]
    panels = list(filter(None, panels))
    widths, methods = list(map(len, panels)), list(rows[0]["ours"])
    with picture(folder, name, title, size=(2.0 + 0.9 * sum(widths), 3.4)) as figure:
        all_axes = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
        for axes, panel in zip(all_axes, panels, strict=True):
            for number, (method, (colour, marker)) in enumerate(zip(methods, cycle(_STYLES), strict=False)):
                shift = _APART * (number - (len(methods) - 1) / 2)
                dots = {n + shift: 100 * r["ours"][method][0] for n, r in enumerate(panel) if r["ours"][method]}
                axes.plot([*dots], [*dots.values()], marker, color=colour, markersize=6, label=method)
            axes.set_xticks(range(len(panel)), [row["category"] for row in panel], fontsize=7)
            axes.set_xlim(-0.6, len(panel) - 0.4)
            axes.grid(axis="y", color=PALE, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(axis="x", length=0)
        all_axes[0].set_ylabel("F1 in percent, strict")
        handles, names = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
