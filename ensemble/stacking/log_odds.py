"""Logistic regression over what the submodels say: a simple machine that a stack is compared with.

    regression = LogOddsRegression(("regex", "crf")).fit(pools, documents)
    regression.out_of_fold_         for each of these notes the spans accepted, by a machine that never saw its patient
    regression.choose(other_pools)  the same for other notes

A candidate is described by the log-odds of each submodel's score for it, by which of them chose it, and by its label;
neither its rivals nor its text are looked at. As in the stacker, the threshold is that of the best strict F1 to
be expected, and of candidates that overlap the set with the largest sum of (probability - threshold) stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.calibration_curve import logistic
from phistack.ensemble.stacking.candidates import Decision, PooledCandidate, decided, which_are_phi
from phistack.ensemble.stacking.choosers import Voted
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.meta_features import log_odds
from phistack.ensemble.stacking.thresholds import best_threshold
from phistack.features.arrays import Floats
from phistack.features.documents import Document, Span

_CERTAIN = 10.0
"""Log-odds where all candidates are right; its opposite where none is."""
_FOLDS = 5


class _Machine(NamedTuple):
    """:ivar weights: of the features, `(n_features,)`."""

    weights: Floats
    intercept: float

    def probabilities(self, rows: Floats) -> Floats:
        """How sure it is of each candidate, `(n_candidates,)`."""
        return logistic(rows @ self.weights + self.intercept)


class LogOddsRegression:
    """Judges candidates by a logistic regression.

    Learned by `fit`: `labels_`, `threshold_`, `probabilities_` (for each training note those of what was proposed,
    sorted by span, out of fold) and `out_of_fold_` (the spans accepted there).

    :param members: the names of the submodels.
    """

    def __init__(self, members: Sequence[str]) -> None:
        self.members = tuple(members)

    def fit(
        self, pools: Sequence[Sequence[Voted]], documents: Sequence[Document], *, seed: int = 0
    ) -> LogOddsRegression:
        """Learn from candidates that were proposed out of fold.

        :param pools: for each note its candidates; those that no submodel proposed are left out.
        :param documents: the notes with their gold spans, of two patients or more.
        :param seed: of the folds.
        """
        mine = list(map(self._proposed, pools))
        gold = [set(document.spans) for document in documents]
        self.labels_ = {label: i for i, label in enumerate(sorted({c.span.label for pool in mine for c in pool}))}
        rows = list(map(self._rows, mine))
        is_phi = which_are_phi(mine, gold)
        self.probabilities_: list[Floats] = [np.zeros(0)] * len(rows)
        for fold in at_most_folds(documents, n_folds=_FOLDS, seed=seed):
            rest = sorted({*range(len(rows))}.difference(fold))
            machine = _fitted([rows[i] for i in rest], [is_phi[i] for i in rest])
            for i in fold:
                self.probabilities_[i] = machine.probabilities(rows[i])
        self._machine = _fitted(rows, is_phi)
        self.threshold_, _ = best_threshold(mine, self.probabilities_, gold)
        decisions = (decided(*note, self.threshold_) for note in zip(mine, self.probabilities_, strict=True))
        self.out_of_fold_ = [[decision.span for decision in note if decision.accepted] for note in decisions]
        return self

    def choose(self, pools: Sequence[Sequence[Voted]]) -> list[list[Span]]:
        """For each note the spans that it accepts."""
        return [[decision.span for decision in note if decision.accepted] for note in self.decide(pools)]

    def decide(self, pools: Sequence[Sequence[Voted]]) -> list[list[Decision]]:
        """For each note what it makes of each candidate that submodels proposed, sorted by span."""
        mine = list(map(self._proposed, pools))
        return [decided(pool, self._machine.probabilities(self._rows(pool)), self.threshold_) for pool in mine]

    def _proposed(self, pool: Sequence[Voted]) -> list[PooledCandidate]:
        """What the submodels proposed, sorted by span, without what others did, such as the search for repeats."""
        known = ((c.span, tuple(vote for vote in c.votes if vote.source in self.members)) for c in pool)
        return sorted((PooledCandidate(span, votes) for span, votes in known if votes), key=lambda found: found.span)

    def _rows(self, pool: Sequence[PooledCandidate]) -> Floats:
        """The features, of shape `(n_candidates, 2 * n_members + n_labels)`; all 0 for a label not seen in training."""
        n_members = len(self.members)
        rows = np.zeros((len(pool), 2 * n_members + len(self.labels_)))
        scores = np.zeros((len(pool), n_members))
        for i, candidate in enumerate(pool):
            for vote in candidate.votes:
                member = self.members.index(vote.source)
                scores[i, member], rows[i, n_members + member] = vote.score, vote.chosen
            if candidate.span.label in self.labels_:
                rows[i, 2 * n_members + self.labels_[candidate.span.label]] = 1.0
        rows[:, :n_members] = log_odds(scores)
        return rows


def _fitted(rows: Sequence[Floats], is_phi: Sequence[NDArray[np.bool_]]) -> _Machine:
    """A machine of some notes; where there is nothing to distinguish, it says the same of all."""
    from sklearn.linear_model import LogisticRegression

    together, right = np.concatenate(rows), np.concatenate(is_phi)
    if right.all() or not right.any():
        return _Machine(np.zeros(together.shape[1]), _CERTAIN if right.any() else -_CERTAIN)
    model = LogisticRegression(max_iter=1000).fit(together, right)
    return _Machine(model.coef_[0], float(model.intercept_[0]))
