"""Choosers on notes of another domain, ignoring its labels.

    found = other_domain("asq-phi-dev", invented, queries, ("regex", "tbed", "crf"), folds=5)
    found.points["stack"]              Reach(reach=0.93, precision=0.895)
    found.at["stack"]                  its precision at each reach of REACHES

`engine_on` does the same with an existing engine; `benchmarks.engines --choosers` prints it.
A gold span is reached if any marked span touches it, and a marked span is right if it touches a gold span.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stacking_cases import MEAN, accepted, decide, settings_for
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.measures import Reach, reach_of
from phistack.ensemble.evaluation.tables import Table, percent
from phistack.ensemble.experiments.choosers import (
    LOGISTIC,
    MAJORITY,
    PERFECT,
    Voted,
    chosen_by,
    majority_vote,
    plain_mean,
)
from phistack.ensemble.experiments.parts import STACK
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.tools.progress import stage
from phistack.features.documents import Corpus, Document, Span
from phistack.features.ranges import non_overlapping, ranges_of, touching

REACHES = (0.70, 0.80, 0.90, 0.93, 0.95, 0.97, 0.98)
"""Shares of the identifiers reached, at which the precision of all choosers is compared."""
_THRESHOLDS = np.round(np.arange(0.01, 1.0, 0.01), 2).tolist()
_Scored = Sequence[Sequence[tuple[Voted, float]]]
"""For each note its candidates, each with a chooser's confidence in it."""


@dataclass(frozen=True)
class OtherDomain:
    """Choosers on notes of another domain, ignoring its labels.

    :param points: chooser -> what it reaches at its own threshold.
    :param at: chooser -> its precision at each reach of `REACHES`.
    """

    corpus: str
    members: tuple[str, ...]
    folds: int
    points: dict[str, Reach]
    at: dict[str, list[float | None]]

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        choosers = {
            name: {**point._asdict(), "precision at": dict(zip(map(str, REACHES), self.at[name], strict=True))}
            for name, point in self.points.items()
        }
        return {"corpus": self.corpus, "submodels": list(self.members), "folds": self.folds, "choosers": choosers}

    def table(self) -> Table:
        """A row for each chooser, in percent."""
        columns = ("chooser", "touched", "precision", *(f"at {100 * reach:.0f}" for reach in REACHES))
        rows = [
            (name, *map(percent, point), *("" if p is None else percent(p) for p in self.at[name]))
            for name, point in self.points.items()
        ]
        title = f"Identifiers of {self.corpus} touched, whatever their labels; {self.folds} folds"
        note = "At 90: the best precision of the thresholds with which a chooser touches 90 % or more, if any does."
        return Table(columns, [rows], title, note)


def other_domain(
    name: str,
    training: Corpus,
    gold: Corpus,
    members: Sequence[str],
    folds: int,
    *,
    jobs: int = 1,
    cache: Path | None = None,
) -> OtherDomain:
    """Train on notes of one domain, and measure all choosers on those of another.

    :param name: of the other domain.
    :param gold: its notes, with PHI of whatever labels.
    :param members: names of submodels.
    """
    settings = settings_for(training, members, folds)
    with stage(f"{name}, {len(members)} members, {folds} folds", total=1.0):
        decided, by_regression = decide(training, gold, settings, jobs=jobs, cache=cache)
    return _compared(name, gold, members, folds, decided, by_regression)


def engine_on(name: str, gold: Corpus, engine: Engine) -> OtherDomain:
    """The same with an existing engine, without the logistic regression.

    :param engine: without a cascade, so that all members read everything.
    """
    return _compared(name, gold, engine.names, engine.stacker.settings.folds, list(engine.decide(gold.documents)))


def _compared(
    name: str,
    gold: Corpus,
    members: Sequence[str],
    folds: int,
    decided: Sequence[Sequence[Decision]],
    by_regression: Sequence[Sequence[Decision]] | None = None,
) -> OtherDomain:
    notes = gold.documents
    answers = {
        **{member: [chosen_by(note, member) for note in decided] for member in members},
        MAJORITY: [majority_vote(note, members) for note in decided],
        MEAN: [plain_mean(note, members, 0.5) for note in decided],
        STACK: list(map(accepted, decided)),
        PERFECT: list(map(_touching_gold, notes, decided)),
    }
    scored: dict[str, _Scored] = {
        **{member: _scored(decided, [member]) for member in members},
        MEAN: _scored(decided, members),
        STACK: _judged(decided),
    }
    if by_regression is not None:
        answers[LOGISTIC], scored[LOGISTIC] = list(map(accepted, by_regression)), _judged(by_regression)
    points = {chooser: reach_of(notes, spans) for chooser, spans in answers.items()}
    curves = {chooser: [point] for chooser, point in points.items()}
    curves |= {chooser: curve_of(notes, some) for chooser, some in scored.items()}
    at = {chooser: [precision_at(curve, reach) for reach in REACHES] for chooser, curve in curves.items()}
    return OtherDomain(name, tuple(members), folds, points, at)


def _scored(decided: Sequence[Sequence[Decision]], members: Sequence[str]) -> _Scored:
    """Each candidate with the mean of some members' scores for it."""
    return [
        [(d, sum(vote.score for vote in d.votes if vote.source in members) / len(members)) for d in note]
        for note in decided
    ]


def _judged(decided: Sequence[Sequence[Decision]]) -> _Scored:
    return [[(d, d.probability) for d in note] for note in decided]


def _touching_gold(document: Document, note: Sequence[Decision]) -> list[Span]:
    is_gold = touching(ranges_of(document.spans))
    return [d.span for d in note if is_gold(d.span.start, d.span.end)]


def curve_of(documents: Sequence[Document], notes: _Scored) -> list[Reach]:
    """What a chooser reaches at each threshold; of overlapping candidates above it, it takes the best set."""
    return [reach_of(documents, [_above(note, threshold) for note in notes]) for threshold in _THRESHOLDS]


def _above(note: Sequence[tuple[Voted, float]], threshold: float) -> list[Span]:
    candidates = [candidate for candidate, _ in note]
    return [candidates[i].span for i in non_overlapping(candidates, [score - threshold for _, score in note])]


def precision_at(curve: Iterable[Reach], reach: float) -> float | None:
    """The best precision among the points with at least this reach; `None` if there are none."""
    return max((point.precision for point in curve if point.reach >= reach), default=None)
