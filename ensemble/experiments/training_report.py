"""What a training says of itself out of fold: scores, the stack beside other choosers, calibration; and of its notes.

report = report_on(training, corpus, settings)
report.figures()          for the bundle's manifest and model card
report.tables()           for the terminal
report.sentences          "The stack goes 31 % of the way from the best member to the perfect chooser.", ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phistack.ensemble.evaluation import Report, evaluate_systems
from phistack.ensemble.evaluation.calibration import Calibration
from phistack.ensemble.evaluation.contradictions import Contradictions, contradictions
from phistack.ensemble.evaluation.figures import figures_of, fold_figures, fold_table, table_of
from phistack.ensemble.evaluation.measures import Macro
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments.calibrations import calibration_table, calibrations_of
from phistack.ensemble.experiments.chooser_scores import ChooserRow, chooser_table, in_short, share_of_the_way, the_way
from phistack.ensemble.experiments.parts import STACK
from phistack.ensemble.experiments.training_choosers import choosers_out_of_fold
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training, out_of_fold_corpora
from phistack.features.documents import Corpus

_SHUFFLES = 9999
"""Of the paired randomisation; with all else here a second or two on 500 notes."""
_CONTEXTS = (1, 2)
"""Tokens on each side that are the same where labels contradict each other."""
_PROTOCOL = (
    "Strict micro F1 on the training notes, out of fold by {unsplit}, {folds} folds, seed {seed}. "
    "The stack's kernel and threshold were chosen on the same notes, so its score is slightly too good."
)


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """All of it, on the training notes and out of fold.

    :param unsplit: what no fold splits.
    :param protocol: how the scores came about, in sentences.
    :param scores: of each submodel and the stack, all folds together.
    :param of_folds: the same scored fold by fold, and averaged.
    :param choosers: all ways to choose from the same candidates.
    :param calibrations: of each submodel and the stack: whether it is as often right as it says.
    :param contradictions: how often the labels of the notes contradict each other, by how far one looks.
    """

    unsplit: str
    protocol: str
    scores: Mapping[str, Report]
    of_folds: Mapping[str, Macro]
    choosers: tuple[ChooserRow, ...]
    calibrations: Mapping[str, Calibration]
    contradictions: tuple[Contradictions, ...]

    @property
    def sentences(self) -> list[str]:
        """How far the stack is from the best that could be made of its candidates, and what the labels are worth."""
        return [the_way(self.choosers), *(found.sentence for found in self.contradictions)]

    def tables(self) -> list[Table]:
        """The scores, the choosers in short, and how far what each says can be relied on."""
        title = f"choosers from the same candidates, strict, out of fold, {_SHUFFLES} shuffles"
        scores = table_of(f"strict, out of fold by {self.unsplit}", self.scores)
        by_fold = fold_table("mean over the folds, standard deviation in brackets", self.of_folds)
        calibrated = calibration_table(self.calibrations, "calibration, out of fold")
        return [scores, by_fold, chooser_table(self._in_short(), title), calibrated]

    def figures(self) -> dict[str, Any]:
        """What the manifest holds of it, JSON-ready."""
        return {
            "protocol": self.protocol,
            "strict": figures_of(self.scores),
            "mean of folds": fold_figures(self.of_folds),
            "choosers": {
                "shuffles": _SHUFFLES,
                "in short": the_way(self.choosers),
                "share of the way from best member to perfect chooser": share_of_the_way(self.choosers),
                "rows": [row.to_dict() for row in self._in_short()],
            },
            "contradictions": [{**found.to_dict(), "in short": found.sentence} for found in self.contradictions],
            "calibration": {name: found.to_dict() for name, found in self.calibrations.items()},
        }

    def _in_short(self) -> list[ChooserRow]:
        return in_short(self.choosers, [name for name in self.scores if name != STACK])


def report_on(training: Training, corpus: Corpus, settings: EngineSettings, *, remark: str = "") -> TrainingReport:
    """Score a training.

    :param corpus: what was trained on.
    :param settings: with which.
    :param remark: what else there is to say of how the scores came about.
    """
    protocol = _PROTOCOL.format(unsplit=settings.unsplit, folds=settings.folds, seed=settings.seed)
    scores = evaluate_systems(corpus, out_of_fold_corpora(training, corpus))
    folds = at_most_folds(corpus.documents, n_folds=settings.folds, seed=settings.seed)
    return TrainingReport(
        settings.unsplit,
        f"{protocol} {remark}".rstrip(),
        scores,
        {name: report.strict.over_folds(folds) for name, report in scores.items()},
        choosers_out_of_fold(training, corpus, shuffles=_SHUFFLES, seed=settings.seed),
        calibrations_of(corpus.documents, training.engine.stacker.decided_, training.engine.names),
        tuple(contradictions(corpus.documents, context=context) for context in _CONTEXTS),
    )
