"""Scores, as the shared tasks compute them, and how sure one can be of them.

    report = evaluate(gold, system)                 every criterion, per category and per type
    report.score("i2b2 strict").f1                  micro F1
    print_report(report, Console())                 on screen
    report.to_dict()                                as JSON
    compare(report, other, "i2b2 strict", seed=0)   p-value of the difference between two systems

One idea a module: `notes` (which documents are compared), `criteria` (what counts as a hit, a table), `items` (PHI as
comparable sets), `counts` (counting only), `measures` (arithmetic only), `intervals`, `significance`, `coverage` (leaks
and characters), `sentence_counts` (what a leak is divided by), `report` and `table` (JSON and screen), `scoring` (all
of it together).
"""

from ensemble.evaluation.criteria import CRITERIA, Criterion
from ensemble.evaluation.report import Report, Score
from ensemble.evaluation.scoring import evaluate
from ensemble.evaluation.sentence_counts import read_sentence_counts
from ensemble.evaluation.significance import compare, holm, paired_randomisation
from ensemble.evaluation.table import print_report

__all__ = [
    "CRITERIA",
    "Criterion",
    "Report",
    "Score",
    "compare",
    "evaluate",
    "holm",
    "paired_randomisation",
    "print_report",
    "read_sentence_counts",
]
