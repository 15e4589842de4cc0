"""A comparison of systems on screen and for LaTeX, in percent.

print_comparison(comparison, Console())
comparison_latex(comparison)               a table environment for booktabs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phistack.ensemble.evaluation.comparison import SCHEMA, Comparison
from phistack.ensemble.evaluation.measures import MEASURES
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, escaped, gap, share
from phistack.features.shown import shown_id

if TYPE_CHECKING:
    from rich.console import Console

_HEADS = {"precision": "precision", "recall": "recall", "f1": "F1"}
_COLUMNS = ("system", *_HEADS.values())


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the scores of each system, the differences, and how they were tested; 80 columns are enough.

    :param console: of rich; a terminal gets a table, a file plain text.
    """
    title = f"{len(comparison.documents)} documents, {comparison.criterion.name}, percent, with 95 % intervals"
    console.print(Table(_COLUMNS, [_systems(comparison)], title).rich())
    console.print(_differences(comparison).rich())
    for line in _lines(comparison):
        console.print(line, markup=False, highlight=False)


def comparison_latex(comparison: Comparison) -> str:
    """The scores of the systems, and for each pair the differences with corrected p-values, for LaTeX with booktabs."""
    caption = (
        f"Criterion: {comparison.criterion.name}, {len(comparison.documents)} documents, in percent. In brackets "
        rf"95\,\% bootstrap intervals by document; $p$ of paired approximate randomisation by document with "
        f"{comparison.shuffles} shuffles, after Holm's correction over {len(comparison.differences)} differences."
    )
    pairs = dict.fromkeys(key[:2] for key in comparison.differences)
    sections = [_systems(comparison), *(_pair_rows(comparison, *names) for names in pairs)]
    return Table(_COLUMNS, sections).latex(SCHEMA, caption)


def _systems(comparison: Comparison) -> list[TableRow]:
    return [(name, *map(share, score.measures.values())) for name, score in comparison.scores.items()]


def _differences(comparison: Comparison) -> Table:
    rows = [
        (f"{first} - {second}", _HEADS[measure], gap(found.gap), f"{found.p:.4f}", f"{found.p_holm:.4f}")
        for (first, second, measure), found in comparison.differences.items()
    ]
    title = "Differences in points, the first system less the second"
    return Table(("systems", "of", "points", "p", "Holm"), [rows], title)


def _pair_rows(comparison: Comparison, first: str, second: str) -> list[TableRow]:
    found = [comparison.differences[first, second, measure] for measure in MEASURES]
    names = Cell(f"{first} - {second}", f"{escaped(first)} $-$ {escaped(second)}")
    p_values = (f"{difference.p_holm:.4f}" for difference in found)
    return [(names, *(gap(difference.gap) for difference in found)), (Cell("p", r"\quad $p$"), *p_values)]


def _lines(comparison: Comparison) -> list[str]:
    tested, left_out = len(comparison.differences), comparison.left_out
    lines = [
        f"p: two-sided paired approximate randomisation by document, {comparison.shuffles} shuffles; Holm: corrected "
        f"over all {tested} differences; intervals: bootstrap by document, {comparison.resamples} draws"
    ]
    if left_out:
        lines.append(
            f"NOT COMPARED: {len(left_out)} documents that some system lacks, the first is {shown_id(left_out[0])}"
        )
    return lines
