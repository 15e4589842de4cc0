"""Other ways to choose from the candidates of a stacker: what it must beat, and the best possible choice.

    chosen_by(decisions, "crf")                             what one submodel marks
    majority_vote(decisions, ("regex", "tbed", "crf"))      what more than half of them mark
    plain_mean(decisions, ("regex", "crf"), 0.5)            where the mean of their scores is above a threshold
    perfect_choice(decisions, gold)                         each gold span that any submodel proposed
    LogOddsRegression(("regex", "crf")).fit(pools, documents).choose(other_pools)

The functions are for one note, the regression for many; all take pooled candidates as well as decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.calibration_curve import logistic
from phistack.ensemble.stacking.candidates import Decision, PooledCandidate, decided, which_are_phi
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.meta_features import log_odds
from phistack.ensemble.stacking.thresholds import best_threshold
from phistack.features.arrays import Floats
from phistack.features.documents import Document, Span
from phistack.features.ranges import non_overlapping
from phistack.submodels.base import Candidate

_CERTAIN = 10.0
"""Log-odds where all candidates are right; its opposite where all are wrong."""
_FOLDS = 5


class Voted(Protocol):
    """A span, and who proposed it."""

    @property
    def span(self) -> Span:
        """Where and what."""

    @property
    def votes(self) -> tuple[Candidate, ...]:
        """At most one of each source."""


def chosen_by(candidates: Iterable[Voted], source: str) -> list[Span]:
    """What a submodel marks by itself."""
    return [c.span for c in candidates if any(vote.chosen and vote.source == source for vote in c.votes)]


def majority_vote(candidates: Iterable[Voted], members: Sequence[str]) -> list[Span]:
    """What more than half of the submodels mark, with the same start, end and label.

    Such spans never overlap: any two of them are chosen by one submodel, whose own choices do not overlap.
    """
    return [c.span for c in candidates if 2 * sum(v.chosen and v.source in members for v in c.votes) > len(members)]


def plain_mean(candidates: Sequence[Voted], members: Sequence[str], threshold: float) -> list[Span]:
    """Where the mean of the submodels' scores is above a threshold.

    A submodel that does not propose a candidate has a score of 0 for it. Of those that overlap, the set with the
    largest sum of (mean - threshold) stays, as in the stacker.
    """
    means = [sum(v.score for v in c.votes if v.source in members) / len(members) for c in candidates]
    return [candidates[i].span for i in non_overlapping(candidates, [mean - threshold for mean in means])]


def perfect_choice(candidates: Iterable[Voted], gold: Iterable[Span]) -> list[Span]:
    """Each gold span that is among the candidates: no chooser can find more of them.

    Overlapping gold spans are all taken, though a stacker accepts only one of them.
    """
    return sorted({*gold}.intersection(candidate.span for candidate in candidates))


class _Machine(NamedTuple):
    """:ivar weights: of the features, `(n_features,)`."""

    weights: Floats
    intercept: float

    @classmethod
    def fit(cls, rows: Sequence[Floats], is_phi: Sequence[NDArray[np.bool_]]) -> _Machine:
        """A machine of some notes; with one class only, it predicts that class."""
        from sklearn.linear_model import LogisticRegression

        together, right = np.concatenate(rows), np.concatenate(is_phi)
        if right.all() or not right.any():
            return cls(np.zeros(together.shape[1]), _CERTAIN if right.any() else -_CERTAIN)
        model = LogisticRegression(max_iter=1000).fit(together, right)
        return cls(model.coef_[0], float(model.intercept_[0]))

    def probabilities(self, rows: Floats) -> Floats:
        return logistic(rows @ self.weights + self.intercept)


class LogOddsRegression:
    """Logistic regression over the submodels' votes: a simple machine that the stacker is compared with.

    A candidate is described by the log-odds of each submodel's score for it, by which of them chose it, and by its
    label, but not by its rivals or its text. As in the stacker, the threshold is that of the best expected strict F1,
    and of candidates that overlap the set with the largest sum of (probability - threshold) stays.

    Learned by `fit`: `labels_`, `threshold_`, `probabilities_` (for each training note those of the proposed
    candidates, sorted by span, out of fold) and `out_of_fold_` (the spans accepted there).

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
            machine = _Machine.fit([rows[i] for i in rest], [is_phi[i] for i in rest])
            for i in fold:
                self.probabilities_[i] = machine.probabilities(rows[i])
        self._machine = _Machine.fit(rows, is_phi)
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
        return [decided(pool, self._machine.probabilities(self._rows(pool)), self.threshold_) for pool in mine]

    def _proposed(self, pool: Sequence[Voted]) -> list[PooledCandidate]:
        """The submodels' proposals, sorted by span, without those of others, such as the search for repeats."""
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


def _accepted(notes: Iterable[Iterable[Decision]]) -> list[list[Span]]:
    return [[decision.span for decision in note if decision.accepted] for note in notes]
