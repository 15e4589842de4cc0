"""A comparison of systems on screen and for LaTeX, in percent.

print_comparison(comparison, Console())
comparison_latex(comparison)               a table environment for booktabs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensemble.evaluation.comparison import SCHEMA, Comparison
from ensemble.evaluation.intervals import Measure
from ensemble.evaluation.latex import escaped, gap, latex_table, share
from ensemble.evaluation.measures import MEASURES
from ensemble.evaluation.table import table_of
from features.shown import shown_id

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["comparison_latex", "print_comparison"]

_HEADS = {"precision": "precision", "recall": "recall", "f1": "F1"}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the scores of each system, the differences, and how they were tested; 80 columns are enough.

    :param console: of rich; a terminal gets a table, a file plain text.
    """
    console.print(_scores(comparison))
    console.print(_differences(comparison))
    for line in _lines(comparison):
        console.print(line, markup=False, highlight=False)


def _scores(comparison: Comparison) -> Table:
    from rich.text import Text

    title = f"{len(comparison.documents)} documents, {comparison.criterion.name}, percent, with 95 % intervals"
    table = table_of(title, ("system", *(_HEADS[measure] for measure in MEASURES)))
    for name, score in comparison.scores.items():
        table.add_row(Text(name), *map(_score, score.measures.values()))
    return table


def _differences(comparison: Comparison) -> Table:
    from rich.text import Text

    table = table_of(
        "Differences in points, the first system less the second", ("systems", "of", "points", "p", "Holm")
    )
    for (first, second, measure), difference in comparison.differences.items():
        figures = (_gap(difference.gap), f"{difference.p:.4f}", f"{difference.p_holm:.4f}")
        table.add_row(Text(f"{first} - {second}"), _HEADS[measure], *figures)
    return table


def _lines(comparison: Comparison) -> list[str]:
    tested, left_out = len(comparison.differences), comparison.left_out
    lines = [
        f"p: two-sided paired approximate randomisation by document, {comparison.shuffles} shuffles; Holm: corrected "
        f"over all {tested} differences; intervals: bootstrap by document, {comparison.resamples} draws"
    ]
    if left_out:
        lines.append(f"NOT COMPARED: {len(left_out)} documents that not all have, the first is {shown_id(left_out[0])}")
    return lines


def _score(measure: Measure) -> str:
    return f"{100 * measure.value:.2f} ({100 * measure.low:.2f}-{100 * measure.high:.2f})"


def _gap(measure: Measure) -> str:
    return f"{100 * measure.value:+.2f} ({100 * measure.low:+.2f} to {100 * measure.high:+.2f})"


def comparison_latex(comparison: Comparison) -> str:
    """The scores of the systems, and for each pair the differences with corrected p-values, for LaTeX with booktabs."""
    caption = (
        f"Criterion: {comparison.criterion.name}, {len(comparison.documents)} documents, in percent. In brackets "
        rf"95\,\% bootstrap intervals by document; $p$ of paired approximate randomisation by document with "
        f"{comparison.shuffles} shuffles, after Holm's correction over {len(comparison.differences)} differences."
    )
    systems = [
        (escaped(name), *(share(*measure) for measure in score.measures.values()))
        for name, score in comparison.scores.items()
    ]
    pairs = dict.fromkeys(key[:2] for key in comparison.differences)
    sections = [systems, *(_pair_rows(comparison, *names) for names in pairs)]
    columns = ("system", *(_HEADS[measure] for measure in MEASURES))
    return latex_table(SCHEMA, caption, columns, sections)


def _pair_rows(comparison: Comparison, first: str, second: str) -> list[tuple[str, ...]]:
    found = [comparison.differences[first, second, measure] for measure in MEASURES]
    return [
        (f"{escaped(first)} $-$ {escaped(second)}", *(gap(*difference.gap) for difference in found)),
        (r"\quad $p$", *(f"{difference.p_holm:.4f}" for difference in found)),
    ]
