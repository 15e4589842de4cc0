"""Scores, as the shared tasks compute them, and how sure one can be of them.

    report = evaluate(gold, system)                 every criterion, per category and per type
    report.score("i2b2 strict").f1                  micro F1, with its interval
    evaluate_systems(gold, {"a": system, "b": other})    a report for each
    print_report(report, Console())                 on screen
    report.to_dict()                                as JSON
    compare(gold, {"a": system, "b": other})        differences between systems, with intervals and p-values

One idea a module: `pairing` (which documents are compared), `criteria` (what counts as a hit, a table), `items` (PHI as
comparable sets), `counts` (counting only), `measures` (arithmetic only), `intervals`, `scores` (the figures of a row),
`significance`, `coverage` (leaks and characters), `sentence_counts` (what a leak is divided by), `report` and
`report_table` (JSON and screen), `scoring` (all of it together); `systems` (scores of several systems and their
differences), `comparison` (the same for corpora); `agreement` and `adjudication` (of two annotations); `calibration`
(whether what is said is so), `calibration_picture`; `contradictions` (of the labels of one corpus); `tables` (for the
terminal, Markdown and LaTeX).
"""

from phistack.ensemble.evaluation.comparison import Comparison, compare
from phistack.ensemble.evaluation.comparison_table import comparison_latex, print_comparison
from phistack.ensemble.evaluation.criteria import CRITERIA, Criterion, criterion_named
from phistack.ensemble.evaluation.intervals import Measure
from phistack.ensemble.evaluation.report import Report
from phistack.ensemble.evaluation.report_table import print_report
from phistack.ensemble.evaluation.scores import Score
from phistack.ensemble.evaluation.scoring import evaluate, evaluate_systems
from phistack.ensemble.evaluation.sentence_counts import read_sentence_counts
from phistack.ensemble.evaluation.significance import holm, paired_randomisation

__all__ = [
    "CRITERIA",
    "Comparison",
    "Criterion",
    "Measure",
    "Report",
    "Score",
    "compare",
    "comparison_latex",
    "criterion_named",
    "evaluate",
    "evaluate_systems",
    "holm",
    "paired_randomisation",
    "print_comparison",
    "print_report",
    "read_sentence_counts",
]
