"""A report on screen, as tables of percentages.

    print_report(report, Console())

Rows of the first table that equal an official script's figures are marked. Two more tables have a row for each category
and type; below them is what leaks, and what was not scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    macros = [(score.name, score.macro) for score in report.criteria]
    for table in (
        Table(
            ("criterion", "P", "R", "F1", "F1 95 %", "F2"),
            [[(s.name + _MARK * bool(s.official), *_measures(s), percent(s.f2)) for s in report.criteria]],
            f"{len(report.documents)} documents, label set {report.label_set}, percent, summed over documents",
            _LEGEND,
        ),
        Table(
            ("criterion", "P (sd)", "R (sd)", "F1 of means"),
            [[(n, _spread(m.precision), _spread(m.recall), percent(m.f1_of_means)) for n, m in macros]],
            "Averaged over documents, with standard deviations",
        ),
        _breakdown("Strict by category", report.categories),
        _breakdown("Strict by type", report.types),
    ):
        console.print(table.rich())
    for line in _lines(report):
        console.print(line, markup=False, highlight=False)


def _breakdown(title: str, scores: Sequence[Score]) -> Table:
    rows = [(_shown(s), str(s.counts.support), *_measures(s), _range(s.recall_by_wilson)) for s in scores]
    return Table(("name", "support", "P", "R", "F1", "F1 95 %", "R 95 %"), [rows], title)


def _lines(report: Report) -> Iterator[str]:
    """Intervals, leaks, documents left out and hashed names, a sentence each."""
    seen = report.coverage
    yield f"F1 95 %: {report.units.intervals}; R 95 %: Wilson's interval, each PHI on its own"
    yield (
        f"leak {report.leak.rate:.4f}: {report.leak.false_negatives} missed PHI in {report.leak.sentences} "
        f"{_SOURCES[report.leak.sentence_source]}"
    )
    yield (
        f"{seen.leaking_documents} of {seen.documents} documents with at least one missed PHI "
        f"({percent(seen.document_leak)} %), {seen.uncovered_documents} with at least one character of PHI uncovered"
    )
    yield f"character recall {percent(seen.character_recall)} %: {seen.covered_characters} of {seen.phi_characters}"
    for ids, where in ((report.missing, "missing from the system's output"), (report.extra, "not in gold")):
        if ids:
            yield f"NOT SCORED: {len(ids)} documents {where}, the first is {shown_id(ids[0])}"
    if hashes := explained(" ".join(map(_shown, (*report.categories, *report.types)))).strip():
        yield hashes


def _shown(score: Score) -> str:
    """The name of a category or type as it may be shown; an annotator may have typed it."""
    return shown_label(score.name, score.counts.support)


def _measures(score: Score) -> list[str]:
    return [*(percent(measure.value) for measure in score.measures.values()), _range(score.f1)]


def _range(measure: Measure) -> str:
    return f"{100 * measure.low:.1f}-{100 * measure.high:.1f}"


def _spread(value: MeanAndDeviation) -> str:
    return f"{percent(value.mean)} ({percent(value.sd)})"
