"""A stack beside other choosers on held-out notes: one row of the table of `benchmarks.stacking`.

case = measured(corpus, ("regex", "tbed", "crf"), folds=5)
case.in_short["stack"].score.f1         beside "best member", "mean", "perfect chooser" and others
decided, by_regression = decide(training, unseen, settings)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.english import from_scratch
from benchmarks.stacking_corpora import INVENTED, StackingCorpus
from phistack.ensemble.evaluation import Resampling, criterion_named
from phistack.ensemble.evaluation.calibration import Calibration
from phistack.ensemble.experiments.choosers import (
    LOGISTIC,
    MAJORITY,
    PERFECT,
    ChooserRow,
    Choosers,
    LogOddsRegression,
    candidates_in_notes,
    choosers_of,
)
from phistack.ensemble.experiments.errors import calibrations_of
from phistack.ensemble.experiments.parts import STACK, stack_decisions
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus, Span

BEST, MEAN = "best member", "mean"
CHOOSERS = (BEST, MAJORITY, MEAN, LOGISTIC, STACK, PERFECT)
"""The columns of the table."""


@dataclass(frozen=True)
class StackingCase:
    """A row of the table.

    :param corpus: its name.
    :param members: the submodels.
    :param n_training: how many notes are trained on, in each round.
    :param n_held_out: how many notes are scored, in all rounds together.
    :param choosers: all of them, on the held-out notes.
    :param calibration: of the stack on these notes.
    """

    corpus: str
    members: tuple[str, ...]
    folds: int
    n_training: int
    n_held_out: int
    choosers: Choosers
    calibration: Calibration

    @property
    def in_short(self) -> dict[str, ChooserRow]:
        """The choosers of the table by column; the majority of one member is that member."""
        rows = {row.name: row for row in self.choosers.rows}
        best = {remark: row for row in self.choosers.rows for remark in (BEST, MEAN) if _is(row, remark)}
        return {name: best.get(name) or rows.get(name, best[BEST]) for name in CHOOSERS}

    def to_dict(self) -> dict[str, Any]:
        """The case, ready for JSON."""
        return {
            "corpus": self.corpus,
            "submodels": list(self.members),
            "folds": self.folds,
            "notes to learn from": self.n_training,
            "notes scored": self.n_held_out,
            **self.choosers.to_dict(),
            "calibration of the stack": self.calibration.to_dict(),
        }


def _is(row: ChooserRow, column: str) -> bool:
    """Whether the row belongs in a column: the best member, or the best mean."""
    return row.remark == BEST if column == BEST else bool(row.remark) and row.name.startswith(MEAN)


def measured(
    corpus: StackingCorpus,
    members: Sequence[str],
    folds: int,
    *,
    clusters: str = "",
    rounds: int = 1,
    shuffles: int = 9999,
    jobs: int = 1,
    cache: Path | None = None,
) -> StackingCase:
    """Train on some of the notes, and score all choosers on the others.

    :param members: names of submodels.
    :param clusters: Brown clusters, as in the settings.
    :param rounds: how many of the four parts are scored in turn.
    :param cache: a folder in which candidates are kept for the next run.
    """
    settings = settings_for(corpus.notes, members, folds, clusters)
    if corpus.name == INVENTED:
        settings = from_scratch(settings)
    decided: list[list[Decision]] = []
    by_regression: list[list[Decision]] = []
    splits = corpus.rounds(rounds)
    for training, held_out in splits:
        with stage(f"{corpus.name}, {len(members)} members, {folds} folds", total=1.0):
            found, regression = decide(training, held_out, settings, jobs=jobs, cache=cache)
        decided += found
        by_regression += regression
    documents = tuple(document for _, held_out in splits for document in held_out.documents)
    gold = Corpus(documents, corpus.notes.label_set)
    choosers = choosers_of(
        gold, decided, list(map(accepted, decided)), tuple(settings.submodels), gold.label_set,
        criterion_named("strict"), others={LOGISTIC: list(map(accepted, by_regression))},
        resampling=Resampling(shuffles=shuffles),
    )  # fmt: skip
    calibration = calibrations_of(documents, decided, settings.submodels)[STACK]
    return StackingCase(
        corpus.name, tuple(settings.submodels), folds, len(splits[0][0]), len(gold), choosers, calibration
    )  # fmt: skip


def settings_for(corpus: Corpus, members: Sequence[str], folds: int, clusters: str = "") -> EngineSettings:
    """The default settings, with the language of a corpus and some of the submodels."""
    features = FeatureSettings(language=corpus.label_set.language, clusters=clusters)
    return EngineSettings(features=features, folds=folds).only(tuple(members))


def decide(
    training: Corpus, unseen: Corpus, settings: EngineSettings, *, jobs: int = 1, cache: Path | None = None
) -> tuple[list[list[Decision]], list[list[Decision]]]:
    """What the stack decides on each candidate for the unseen notes, and what the regression decides."""
    proposed = propose(training, settings, unseen=unseen.documents, jobs=jobs, cache=cache)
    members = tuple(settings.submodels)
    learned_from = candidates_in_notes(proposed.tables, proposed.out_of_fold)
    regression = LogOddsRegression(members).fit(learned_from, training.documents, seed=settings.seed)
    decided = stack_decisions(proposed, members, Stacker(settings.stacker), seed=settings.seed)
    return decided, regression.decide(decided)


def accepted(note: Sequence[Decision]) -> list[Span]:
    """The spans that are accepted in a note."""
    return [decision.span for decision in note if decision.accepted]
