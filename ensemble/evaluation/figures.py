"""The strict scores of several systems, as bundles keep them and as tables show them.

figures_of(scores)         {"stack": {"precision": ..., "recall": ..., "f1": ..., "interval": [...], ...}}
table_of("dev", scores)    a row a system
mean_table("folds", means) the same with means and standard deviations
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phistack.ensemble.evaluation.measures import MEASURES, Macro
from phistack.ensemble.evaluation.systems import Score
from phistack.ensemble.evaluation.tables import Table, percent


def figures_of(scores: Mapping[str, Score]) -> dict[str, dict[str, Any]]:
    """The scores as manifests and results files hold them.

    The interval of recall has the wider ends of two: Wilson's takes each PHI on its own, and a bootstrap sees nothing
    missed where nothing is.
    """
    return {name: _figures(score) for name, score in scores.items()}


def _figures(score: Score) -> dict[str, Any]:
    return {
        **{measure: figure.value for measure, figure in score.measures.items()},
        "interval": list(score.f1[1:]),
        "recall_interval": list(score.recall.widened(score.recall_by_wilson)[1:]),
    }


def table_of(title: str, scores: Mapping[str, Score], note: str = "") -> Table:
    """The scores as a table in percent, with the interval of F1."""
    rows = [
        (name, *(percent(measure.value) for measure in score.measures.values()), "-".join(map(percent, score.f1[1:])))
        for name, score in scores.items()
    ]
    return Table(("system", "precision", "recall", "F1", "95 % interval"), [rows], title, note)


def mean_figures(mean: Macro) -> dict[str, dict[str, float]]:
    """Measure -> mean and deviation, as manifests and results files hold them."""
    return {measure: getattr(mean, measure)._asdict() for measure in MEASURES}


def mean_table(over: str, means: Mapping[str, Macro]) -> Table:
    """Means in percent, with the standard deviation in brackets.

    :param over: what the means are of: folds, or seeds.
    """
    rows = [
        (name, *(f"{percent(found.mean)} ({percent(found.sd)})" for found in (getattr(mean, m) for m in MEASURES)))
        for name, mean in means.items()
    ]
    title = f"mean over {over}, standard deviation in brackets"
    return Table(("system", "precision", "recall", "F1"), [rows], title)
