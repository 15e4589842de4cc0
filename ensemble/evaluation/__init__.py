"""Scores as the shared tasks compute them, and how sure they are.

    report = evaluate(gold, system)                 every criterion, per category and per type
    compare(gold, {"a": system, "b": other})        differences between systems, with intervals and p-values

`pairing` matches documents, `criteria` says what counts as a hit, `measures` counts, `resampling` draws intervals and
p-values, `systems` has scores and differences, `leaks` shows what stays readable.
"""

from phistack.ensemble.evaluation.criteria import CRITERIA, Criterion, criterion_named
from phistack.ensemble.evaluation.leaks import read_sentence_counts
from phistack.ensemble.evaluation.report import Report, evaluate, evaluate_systems, print_report
from phistack.ensemble.evaluation.resampling import Measure, Resampling, holm, paired_randomisation
from phistack.ensemble.evaluation.systems import Comparison, Score, compare, comparison_latex, print_comparison

__all__ = [
    "CRITERIA",
    "Comparison",
    "Criterion",
    "Measure",
    "Report",
    "Resampling",
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
