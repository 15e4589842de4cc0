"""How well an engine does on its training notes, out of fold, and where it is weak.

report = report_on(training, corpus, settings)
report.summary()          a table of scores, for the terminal
report.weak               "Weakest: HOSPITAL (12 of 40 missed), ..."
report.details()          means over folds and seeds, other choosers, calibration
report.figures()          everything, for the bundle's manifest and model card
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from phistack.ensemble.evaluation import Report, criterion_named, evaluate_systems
from phistack.ensemble.evaluation.calibration import Calibration
from phistack.ensemble.evaluation.contradictions import Contradictions, contradictions
from phistack.ensemble.evaluation.measures import Macro
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.systems import figures_of, mean_figures, mean_table, table_of
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments.choosers import LOGISTIC, Choosers, LogOddsRegression, choosers_of
from phistack.ensemble.experiments.errors import calibration_table, calibrations_of
from phistack.ensemble.experiments.parts import STACK, Answers, over_seeds, plain, systems_of
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training, out_of_fold_corpora
from phistack.features.documents import Corpus
from phistack.features.shown import shown_label

_WEAKEST = 3
_CONTEXTS = (1, 2)  # tokens on each side that must be equal for labels to contradict each other
_PROTOCOL = (
    "Strict micro F1 on the training notes, out of fold by {unsplit}, {folds} folds, seed {seed}; {intervals}. "
    "The stack's kernel and threshold were chosen on the same notes, so its score is slightly too good."
)


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """All figures of a training, on the training notes out of fold.

    :param unsplit: the unit that no fold splits, such as `patient`.
    :param protocol: how the scores were measured, in sentences.
    :param of_folds: the scores averaged over folds; `of_seeds` over seeds, empty for one seed.
    """

    unsplit: str
    protocol: str
    scores: Mapping[str, Report]
    of_folds: Mapping[str, Macro]
    of_seeds: Mapping[str, Macro]
    n_seeds: int
    choosers: Choosers
    calibrations: Mapping[str, Calibration]
    contradictions: tuple[Contradictions, ...]

    def summary(self) -> Table:
        """The scores of each system."""
        scores = {name: report.strict for name, report in self.scores.items()}
        return table_of(f"strict, out of fold by {self.unsplit}", scores, self.choosers.units.intervals)

    @property
    def weak(self) -> str:
        """The labels that the stack misses most often, in words; empty if it misses nothing."""
        most = sorted(self.scores[STACK].types, key=lambda score: -score.counts.fn)[:_WEAKEST]
        missed = [(score.name, score.counts.fn, score.counts.support) for score in most if score.counts.fn]
        rows = [f"{shown_label(name, support)} ({fn} of {support} missed)" for name, fn, support in missed]
        return f"Weakest: {', '.join(rows)}." if rows else ""

    @property
    def sentences(self) -> list[str]:
        """How far the stack is from the perfect chooser, and how consistent the labels are."""
        return [self.choosers.sentence, *(found.sentence for found in self.contradictions)]

    def details(self) -> list[Table]:
        """Means over folds and seeds, the main choosers, and calibration."""
        seeds = [mean_table(f"{self.n_seeds} seeds", self.of_seeds)] if self.of_seeds else []
        choosers = self.choosers.short.table("choosers from the same candidates, strict, out of fold")
        calibrated = calibration_table(self.calibrations, "calibration, out of fold")
        return [mean_table("the folds", self.of_folds), *seeds, choosers, calibrated]

    def figures(self) -> dict[str, Any]:
        """The figures for the manifest, JSON-ready."""
        units = self.choosers.units
        seeds = {name: mean_figures(mean) for name, mean in self.of_seeds.items()}
        return {
            "protocol": self.protocol,
            "strict": figures_of({name: report.strict for name, report in self.scores.items()}),
            "mean of folds": {name: mean_figures(mean) for name, mean in self.of_folds.items()},
            **({"seeds": self.n_seeds, "mean of seeds": seeds} if seeds else {}),
            "choosers": {
                "unit": units.name, "shuffles": units.resampling.shuffles, "in short": self.choosers.sentence,
                "share of the way from best member to perfect chooser": self.choosers.share,
                "rows": plain(self.choosers.short.rows),
            },
            "contradictions": [{**asdict(found), "in short": found.sentence} for found in self.contradictions],
            "calibration": plain(self.calibrations),
        }  # fmt: skip


def report_on(
    training: Training,
    corpus: Corpus,
    settings: EngineSettings,
    *,
    others: Sequence[Mapping[str, Answers]] = (),
    remark: str = "",
    resampling: Resampling = BY_PATIENT,
) -> TrainingReport:
    """Score a training on its own corpus, out of fold.

    :param others: the answers of the systems, out of fold, from trainings with other seeds.
    :param remark: a sentence to add to the protocol.
    """
    scores = evaluate_systems(corpus, out_of_fold_corpora(training, corpus), resampling=resampling)
    stacker, members = training.engine.stacker, training.engine.names
    rule, chance = criterion_named("strict"), replace(resampling, seed=settings.seed)
    regression = LogOddsRegression(members).fit(stacker.decided_, corpus.documents, seed=chance.seed)
    choosers = choosers_of(
        corpus, stacker.decided_, stacker.out_of_fold_, members, corpus.label_set, rule,
        others={LOGISTIC: regression.out_of_fold_}, resampling=chance,
    )  # fmt: skip
    protocol = _PROTOCOL.format(
        unsplit=settings.unsplit, folds=settings.folds, seed=settings.seed, intervals=choosers.units.intervals
    )
    folds = at_most_folds(corpus.documents, n_folds=settings.folds, seed=settings.seed)
    first = {name: report.strict for name, report in scores.items()}
    again = [systems_of(corpus, found, corpus.label_set, rule).scores for found in others]
    return TrainingReport(
        settings.unsplit,
        f"{protocol} {remark}".rstrip(),
        scores,
        {name: score.over_folds(folds) for name, score in first.items()},
        over_seeds([first, *again]) if again else {},
        1 + len(again),
        choosers,
        calibrations_of(corpus.documents, stacker.decided_, members),
        tuple(contradictions(corpus.documents, context=context) for context in _CONTEXTS),
    )
