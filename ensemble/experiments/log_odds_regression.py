"""A simple machine that the stacker is compared with: logistic regression over the submodels' votes.

regression = LogOddsRegression(("regex", "crf")).fit(pools, documents)
regression.choose(other_pools)      for each note the spans that it accepts
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.candidates import Decision, PooledCandidate, decided, which_are_phi
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.meta_features import log_odds
from phistack.ensemble.stacking.thresholds import best_threshold, logistic
from phistack.features.arrays import Floats
from phistack.features.documents import Document, Span

_CERTAIN = 10.0
"""Log-odds where all candidates are right; its opposite where all are wrong."""
_FOLDS = 5

Voted = PooledCandidate | Decision
"""A span, and who proposed it."""


class LogOddsRegression:
    """Logistic regression over log-odds.

    A candidate is described by the log-odds of each submodel's score for it, by which of them chose it, and by its
    label, but not by its rivals or its text. As in the stacker, the threshold is that of the best expected strict F1,
    and of candidates that overlap the set with the largest sum of (probability - threshold) stays.

    Learned by `fit`: `labels_`, `threshold_`, `probabilities_` (for each training note those of the proposed
    candidates, sorted by span, out of fold) and `out_of_fold_` (the spans accepted there).

    """

    def __init__(self, members: Sequence[str]) -> None:
        self.members = tuple(members)

    def fit(
        self, pools: Sequence[Sequence[Voted]], documents: Sequence[Document], *, seed: int = 0
    ) -> LogOddsRegression:
        """Learn from candidates that were proposed out of fold.

        :param pools: for each note its candidates; those that no submodel proposed are left out.
        :param documents: the notes with their gold spans, of two patients or more.
        """
        mine = list(map(self._proposed, pools))
        gold = [set(document.spans) for document in documents]
        self.labels_ = {label: i for i, label in enumerate(sorted({c.span.label for pool in mine for c in pool}))}
        rows, is_phi = list(map(self._rows, mine)), which_are_phi(mine, gold)
        self.probabilities_: list[Floats] = [np.zeros(0)] * len(rows)
        for fold in at_most_folds(documents, n_folds=_FOLDS, seed=seed):
            rest = sorted({*range(len(rows))}.difference(fold))
            weights, intercept = _fitted([rows[i] for i in rest], [is_phi[i] for i in rest])
            for i in fold:
                self.probabilities_[i] = logistic(rows[i] @ weights + intercept)
        self._weights, self._intercept = _fitted(rows, is_phi)
        self.threshold_, _ = best_threshold(mine, self.probabilities_, gold)
        notes = zip(mine, self.probabilities_, strict=True)
        self.out_of_fold_ = _accepted(decided(*note, self.threshold_) for note in notes)
        return self

    def choose(self, pools: Sequence[Sequence[Voted]]) -> list[list[Span]]:
        """For each note the spans that it accepts."""
        return _accepted(self.decide(pools))

    def decide(self, pools: Sequence[Sequence[Voted]]) -> list[list[Decision]]:
        """For each note a decision on each candidate that submodels proposed, sorted by span."""
        mine = list(map(self._proposed, pools))
        judged = [logistic(self._rows(pool) @ self._weights + self._intercept) for pool in mine]
        return [decided(pool, found, self.threshold_) for pool, found in zip(mine, judged, strict=True)]

    def _proposed(self, pool: Sequence[Voted]) -> list[PooledCandidate]:
        """The submodels' proposals, sorted by span, without those of others, such as the search for repeats."""
        known = ((c.span, tuple(vote for vote in c.votes if vote.source in self.members)) for c in pool)
        return sorted((PooledCandidate(span, votes) for span, votes in known if votes), key=lambda found: found.span)

    def _rows(self, pool: Sequence[PooledCandidate]) -> Floats:
        """The features, of shape `(n_candidates, 2 * n_members + n_labels)`; all 0 for a label not seen in training."""
        n_members = len(self.members)
        rows = np.zeros((len(pool), 2 * n_members + len(self.labels_)))
        for i, candidate in enumerate(pool):
            for vote in candidate.votes:
                member = self.members.index(vote.source)
                rows[i, member], rows[i, n_members + member] = vote.score, vote.chosen
            if candidate.span.label in self.labels_:
                rows[i, 2 * n_members + self.labels_[candidate.span.label]] = 1.0
        rows[:, :n_members] = log_odds(rows[:, :n_members])
        return rows


def _fitted(rows: Sequence[Floats], is_phi: Sequence[NDArray[np.bool_]]) -> tuple[Floats, float]:
    """Weights `(n_features,)` and intercept; with one class only, what always gives that class."""
    from sklearn.linear_model import LogisticRegression

    together, right = np.concatenate(rows), np.concatenate(is_phi)
    if right.all() or not right.any():
        return np.zeros(together.shape[1]), _CERTAIN if right.any() else -_CERTAIN
    model = LogisticRegression(max_iter=1000).fit(together, right)
    return model.coef_[0], float(model.intercept_[0])


def _accepted(notes: Iterable[Iterable[Decision]]) -> list[list[Span]]:
    return [[decision.span for decision in note if decision.accepted] for note in notes]
