"""The stack compared with other ways to choose from the same candidates, with significance tests.

    choosers = choosers_of(gold, pools, stack_answers, ("regex", "crf"), labels, criterion_named("strict"))
    choosers.share, choosers.sentence  0.31: of the way from the best member to the perfect chooser
    LogOddsRegression(("regex", "crf")).fit(pools, documents).choose(other_pools)

The members are the single submodels. The best member and the best of three thresholds of the plain mean are chosen on
the notes on which they are scored, so these two are slightly too good; the stack has no such advantage. If the training
candidates are known, a logistic regression over log-odds is compared too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.evaluation import Criterion, Score
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling, Units
from phistack.ensemble.evaluation.systems import Difference
from phistack.ensemble.evaluation.tables import Table, TableRow, points, share
from phistack.ensemble.experiments.parts import STACK, Answers, plain, system_cell, systems_of
from phistack.ensemble.stacking.candidates import (
    Decision,
    PooledCandidate,
    Tables,
    decided,
    pools_of,
    which_are_phi,
)
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.meta_features import log_odds
from phistack.ensemble.stacking.thresholds import best_threshold, logistic
from phistack.ensemble.training.fit_runs import Proposals
from phistack.ensemble.training.trainer import Proposed
from phistack.features.arrays import Floats
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet
from phistack.features.ranges import non_overlapping

PERFECT, MAJORITY, LOGISTIC = "perfect chooser", "majority vote", "logistic regression"
LESS_STACK = "less stack"
"""The column of differences: F1 of the row minus that of the stack, in points."""
_MEAN = "mean over {:.2f}"
_THRESHOLD, _THRESHOLDS = 0.5, (0.35, 0.5, 0.65)
_BEST_MEMBER, _BEST_MEAN = "best member", f"best of {len(_THRESHOLDS)}"

_CERTAIN = 10.0
"""Log-odds where all candidates are right; its opposite where all are wrong."""
_FOLDS = 5

Voted = PooledCandidate | Decision
"""A span, and who proposed it."""


def chosen_by(candidates: Iterable[Voted], source: str) -> list[Span]:
    """What a submodel alone marks in a note."""
    return [c.span for c in candidates if any(vote.chosen and vote.source == source for vote in c.votes)]


def majority_vote(candidates: Iterable[Voted], members: Sequence[str]) -> list[Span]:
    """What more than half of the submodels mark in a note, with the same start, end and label.

    Such spans never overlap: any two of them are chosen by one submodel, whose own choices do not overlap.
    """
    return [c.span for c in candidates if 2 * sum(v.chosen and v.source in members for v in c.votes) > len(members)]


def plain_mean(candidates: Sequence[Voted], members: Sequence[str], threshold: float) -> list[Span]:
    """Where in a note the mean of the submodels' scores is above a threshold.

    A submodel that does not propose a candidate has a score of 0 for it. Of overlapping candidates, the set with the
    largest sum of (mean - threshold) stays, as in the stacker.
    """
    means = [sum(v.score for v in c.votes if v.source in members) / len(members) for c in candidates]
    return [candidates[i].span for i in non_overlapping(candidates, [mean - threshold for mean in means])]


def stack_table(
    title: str, sections: Iterable[Iterable[tuple[str, Score, Difference | None]]], units: Units, remark: str = ""
) -> Table:
    """Systems with their scores and intervals, F1 minus that of the stack, and the corrected p-value."""
    rows: list[list[TableRow]] = [
        [
            (
                system_cell(name), *map(share, score.measures.values()),
                *((points(gap.gap), f"{gap.p_holm:.4f}") if gap else ("", "")),
            )
            for name, score, gap in section
        ]
        for section in sections
    ]  # fmt: skip
    note = f"{units.intervals}; {LESS_STACK}: F1 of the row less that of the stack, in points{remark}"
    caption = (
        f"{title[0].upper()}{title[1:]}, in percent; {note}. p of {units.p_values}, after Holm's correction over "
        f"{sum(map(len, rows)) - 1} differences."
    )
    return Table(("system", "precision", "recall", "F1", LESS_STACK, "p (Holm)"), rows, title, note, 1, caption)


def difference_facts(difference: Difference) -> dict[str, Any]:
    """A difference in F1, for JSON."""
    return {"f1": difference.gap._asdict(), "p": difference.p, "p after Holm": difference.p_holm}


@dataclass(frozen=True, slots=True)
class ChooserRow:
    """A way to choose, its score, and F1 minus that of the stack.

    :param remark: `best member`, for example, if it was chosen by its score on these notes.
    """

    name: str
    remark: str
    score: Score
    difference: Difference | None

    def to_dict(self) -> dict[str, Any]:
        row = {"name": self.name, "chosen on these notes as": self.remark or None, **self.score.to_dict()}
        return {**row, LESS_STACK: difference_facts(self.difference)} if self.difference else row


@dataclass(frozen=True, slots=True)
class Choosers:
    """All ways to choose from the same candidates, the stack among them; :param members: the submodels."""

    rows: tuple[ChooserRow, ...]
    members: tuple[str, ...]
    units: Units

    @property
    def share(self) -> float | None:
        """F1 of the stack on a scale from best member, 0, to perfect chooser, 1; None if they are equal."""
        f1 = {row.remark if row.remark == _BEST_MEMBER else row.name: row.score.f1.value for row in self.rows}
        way = f1[PERFECT] - f1[_BEST_MEMBER]
        return (f1[STACK] - f1[_BEST_MEMBER]) / way if way > 0 else None

    @property
    def sentence(self) -> str:
        if self.share is None:
            return "The best member is as good as any choice from these candidates can be."
        if self.share < 0:
            return "The stack is behind the best member."
        return f"The stack goes {100 * self.share:.0f} % of the way from the best member to the perfect chooser."

    @property
    def short(self) -> Choosers:
        """The same with only the best member and the best mean."""
        left_out = {*self.members, *(row.name for row in self.rows if row.name.startswith(_MEAN.partition("{")[0]))}
        return replace(self, rows=tuple(row for row in self.rows if row.remark or row.name not in left_out))

    def table(self, title: str) -> Table:
        """One row per chooser."""
        rows = ((f"{r.name} ({r.remark})" if r.remark else r.name, r.score, r.difference) for r in self.rows)
        remark = "; which member and which mean is best was seen on these notes; the perfect chooser knows the gold"
        return stack_table(title, [rows], self.units, remark)

    def to_dict(self) -> dict[str, Any]:
        way = {"share of the way from best member to perfect chooser": self.share}
        return {"choosers": plain(self.rows), **way}


def choosers_of(
    gold: Corpus,
    pools: Sequence[Sequence[Voted]],
    stack: Answers,
    members: Sequence[str],
    labels: LabelSet,
    criterion: Criterion,
    *,
    others: Mapping[str, Answers] | None = None,
    resampling: Resampling = BY_PATIENT,
) -> Choosers:
    """Score all choosers: each member, majority vote of several, plain mean, the stack, and the perfect chooser.

    :param pools: the candidates for each note, with labels spelled as in gold; `labels` is their label set.
    :param stack: the spans that the stack accepts.
    :param others: name of another chooser -> the spans that it accepts.
    :raises LabelError: for a label that is in neither label set.
    """

    def perfect(pool: Sequence[Voted], accepted: Sequence[Span], note: Document) -> list[Span]:
        """The gold spans that a member proposed or only the stack found; no chooser can find more of them."""
        proposed = {c.span for c in pool if any(vote.source in members for vote in c.votes)}
        return sorted({*note.spans}.intersection(proposed.union(accepted)))

    means = {_MEAN.format(t): [plain_mean(pool, members, t) for pool in pools] for t in _THRESHOLDS}
    majority = {MAJORITY: [majority_vote(pool, members) for pool in pools]} if len(members) > 1 else {}
    answers: dict[str, Answers] = {
        **{name: [chosen_by(pool, name) for pool in pools] for name in members},
        **majority,
        **means,
        **(others or {}),
        STACK: stack,
        PERFECT: list(map(perfect, pools, stack, gold.documents)),
    }
    systems = systems_of(gold, answers, labels, criterion, resampling=resampling)

    def best(names: Iterable[str]) -> str:
        return max(names, key=lambda name: systems.scores[name].f1.value)

    remarks = {best(members): _BEST_MEMBER, best(means): _BEST_MEAN}
    names = [name for name in answers if name not in means or name in (_MEAN.format(_THRESHOLD), best(means))]
    gaps = systems.differences([(name, STACK) for name in names if name != STACK], ["f1"])
    rows = (ChooserRow(n, remarks.get(n, ""), systems.scores[n], gaps.get((n, STACK, "f1"))) for n in names)
    return Choosers(tuple(rows), tuple(members), systems.units)


def choosers_of_proposed(
    proposed: Proposed, training: Corpus, gold: Corpus, stack: Answers, criterion: Criterion, resampling: Resampling
) -> Choosers:
    """Score all choosers on the unseen notes or, if there are none, on the training notes out of fold.

    :param stack: the spans that the stack accepts in the notes of `gold`.
    """
    members = tuple(proposed.out_of_fold)
    pools = candidates_in_notes(proposed.tables, proposed.out_of_fold)
    regression = LogOddsRegression(members).fit(pools, training.documents, seed=resampling.seed)
    answers: Answers = regression.out_of_fold_
    if proposed.unseen:
        pools = candidates_in_notes(proposed.unseen, proposed.on_unseen)
        answers = regression.choose(pools)
    others, labels = {LOGISTIC: answers}, training.label_set
    return choosers_of(gold, pools, stack, members, labels, criterion, others=others, resampling=resampling)


def candidates_in_notes(tables: Tables, proposals: Mapping[str, Proposals]) -> list[list[PooledCandidate]]:
    """The candidates for each note, by offsets in the note as written."""
    pools = pools_of(tables, proposals, tuple(proposals))
    return [[c.in_note(table.view) for c in pool] for table, pool in zip(tables, pools, strict=True)]


class LogOddsRegression:
    """Logistic regression over log-odds.

    A candidate is described by the log-odds of each submodel's score for it, by which of them chose it, and by its
    label, but not by its rivals or its text. As in the stacker, the threshold is that of the best expected strict F1,
    and of overlapping candidates the set with the largest sum of (probability - threshold) stays.

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
    """Weights `(n_features,)` and intercept; with only one class, those that always predict it."""
    from sklearn.linear_model import LogisticRegression

    together, right = np.concatenate(rows), np.concatenate(is_phi)
    if right.all() or not right.any():
        return np.zeros(together.shape[1]), _CERTAIN if right.any() else -_CERTAIN
    model = LogisticRegression(max_iter=1000).fit(together, right)
    return model.coef_[0], float(model.intercept_[0])


def _accepted(notes: Iterable[Iterable[Decision]]) -> list[list[Span]]:
    return [[decision.span for decision in note if decision.accepted] for note in notes]
