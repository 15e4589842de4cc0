"""The learning curve of a paper: its systems alone, trained on growing parts of one's own notes.

    paper_curves(declared["curve"], training, test, settings)      {2: LearningCurve}: its figure 2
    write_paper_curve(curve, folder, "figure-2")                   figure-2.txt, .tex, .png and .svg

A paper declares it in `papers/NAME.toml`: the number of the figure, what grows (`by`), the shares, how many samples and
how many runs on each, and under `quick` what a quick run has in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phistack.ensemble.experiments.learning_curve import LearningCurve, learning_curve
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus


def paper_curves(
    declared: Mapping[str, Any],
    training: Corpus,
    test: Corpus,
    settings: EngineSettings,
    *,
    quick: bool = False,
    jobs: int = 1,
    cache: Path | None = None,
) -> dict[int, LearningCurve]:
    """The number of the figure and the curve, where a paper declares one; raises what `learning_curve` does.

    :param settings: of all its submodels, each of which is trained and scored alone.
    """
    if not declared:
        return {}
    size = {name: declared[name] for name in ("shares", "samples", "runs")} | (declared["quick"] if quick else {})
    curve = learning_curve(
        training, settings, test=test, by=declared["by"], stack=False, jobs=jobs, cache=cache, **size
    )  # fmt: skip
    return {declared["figure"]: curve}


def write_paper_curve(curve: LearningCurve, folder: Path, name: str) -> None:
    """Write the curve as a table, in text and for LaTeX, and as pictures of that name."""
    table = curve.table()
    lines = [table.title, "", *table.markdown(), "", table.note, "", curve.origin.protocol, ""]
    (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / f"{name}.tex").write_text(table.latex(curve.origin.comment, curve.caption), encoding="utf-8")
    curve.draw(folder, name=name)
