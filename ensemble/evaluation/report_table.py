"""A report on screen, as tables of percentages.

    print_report(report, Console())

Rows of the first table that equal an official script's figures are marked. Two more tables have a row for each category
and type; below them is what leaks, and what was not scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phistack.ensemble.evaluation.measures import MeanAndDeviation
from phistack.ensemble.evaluation.report import Report
from phistack.ensemble.evaluation.resampling import Measure
from phistack.ensemble.evaluation.systems import Score
from phistack.ensemble.evaluation.tables import Table, percent
from phistack.features.shown import explained, shown_id, shown_label

if TYPE_CHECKING:
    from rich.console import Console

_SOURCES = {
    "reference": "sentences of the reference",
    "phistack": "sentences as phistack counts them; --sentences takes the task's own counts",
}
_MARK = " *"
_LEGEND = (
    "* equals the figure of the task's official script; it calls merged-script Subtrack 2 [merged], hipaa-script HIPAA "
    "and binary-script Binary"
)


def print_report(report: Report, console: Console) -> None:
    """Print the criteria, micro and macro, then categories and types, then what leaks; 80 columns are enough.

    :param console: of rich; a terminal gets a table, a file plain text.
    """
    console.print(_micro(report).rich())
    console.print(_LEGEND, markup=False, highlight=False)
    console.print(_macro(report).rich())
    console.print(_breakdown("Strict by category", report.categories).rich())
    console.print(_breakdown("Strict by type", report.types).rich())
    for line in _lines(report):
        console.print(line, markup=False, highlight=False)
    hashes = explained(" ".join(map(_shown, (*report.categories, *report.types))))
    if hashes:
        console.print(hashes.strip(), markup=False, highlight=False)


def _micro(report: Report) -> Table:
    title = f"{len(report.documents)} documents, label set {report.label_set}, percent, summed over documents"
    rows = [
        (score.name + _MARK * bool(score.official), *_measures(score), _range(score.f1), percent(score.f2))
        for score in report.criteria
    ]
    return Table(("criterion", "P", "R", "F1", "F1 95 %", "F2"), [rows], title)


def _macro(report: Report) -> Table:
    rows = [
        (score.name, _spread(macro.precision), _spread(macro.recall), percent(macro.f1_of_means))
        for score, macro in ((score, score.macro) for score in report.criteria)
    ]
    columns = ("criterion", "P (sd)", "R (sd)", "F1 of means")
    return Table(columns, [rows], "Averaged over documents, with standard deviations")


def _breakdown(title: str, scores: Sequence[Score]) -> Table:
    rows = [(_shown(s), str(s.counts.support), *_measures(s), _range(s.f1), _range(s.recall_by_wilson)) for s in scores]
    return Table(("name", "support", "P", "R", "F1", "F1 95 %", "R 95 %"), [rows], title)


def _shown(score: Score) -> str:
    """The name of a category or type as it may be shown; an annotator may have typed it."""
    return shown_label(score.name, score.counts.support)


def _lines(report: Report) -> list[str]:
    """Intervals, leaks and documents left out, a sentence each."""
    seen = report.coverage
    lines = [
        f"F1 95 %: {report.units.intervals}; R 95 %: Wilson's interval, each PHI on its own",
        f"leak {report.leak.rate:.4f}: {report.leak.false_negatives} missed PHI in {report.leak.sentences} "
        f"{_SOURCES[report.leak.sentence_source]}",
        f"{seen.leaking_documents} of {seen.documents} documents with at least one missed PHI "
        f"({percent(seen.document_leak)} %), {seen.uncovered_documents} with at least one character of PHI uncovered",
        f"character recall {percent(seen.character_recall)} %: {seen.covered_characters} of {seen.phi_characters}",
    ]
    for ids, where in ((report.missing, "missing from the system's output"), (report.extra, "not in gold")):
        if ids:
            lines.append(f"NOT SCORED: {len(ids)} documents {where}, the first is {shown_id(ids[0])}")
    return lines


def _measures(score: Score) -> list[str]:
    return [percent(measure.value) for measure in score.measures.values()]


def _range(measure: Measure) -> str:
    return f"{100 * measure.low:.1f}-{100 * measure.high:.1f}"


def _spread(value: MeanAndDeviation) -> str:
    return f"{100 * value.mean:.2f} ({100 * value.sd:.2f})"
