"""The stack beside all other ways to choose from the same candidates, with tests of what it is ahead by.

    rows = chooser_scores(gold, pools, stack_answers, ("regex", "crf"), labels, criterion_named("strict"))
    chooser_table(rows, "Choosers").rich()
    in_short(rows)                     the best member, the best mean, and those that are neither a member nor a mean
    share_of_the_way(rows)             0.31: of the way from the best member to the perfect chooser
    the_way(rows)                      the same as a sentence

The members are the submodels, each by itself. Which of them is best, and which of three thresholds of the plain mean,
is chosen on the very notes on which they are scored, so these two are slightly too good; the stack gets no such help.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from phistack.ensemble.evaluation import Criterion, Score
from phistack.ensemble.evaluation.systems import Difference
from phistack.ensemble.evaluation.tables import Cell, Table, points, share, strong
from phistack.ensemble.experiments.parts import STACK, Answers, systems_of
from phistack.ensemble.stacking.choosers import Voted, chosen_by, majority_vote, perfect_choice, plain_mean
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet

PERFECT, MAJORITY, LOGISTIC = "perfect chooser", "majority vote", "logistic regression"
_MEAN = "mean over {:.2f}"
_THRESHOLD, _THRESHOLDS = 0.5, (0.35, 0.5, 0.65)
_BEST_MEMBER, _BEST_MEAN = "best member", f"best of {len(_THRESHOLDS)}"


@dataclass(frozen=True, slots=True)
class ChooserRow:
    """A way to choose, and its score.

    :param remark: why it is here, if that was decided by its score on these notes.
    :param difference: F1 of the stack less its F1, which the stack itself does not have.
    """

    name: str
    remark: str
    score: Score
    difference: Difference | None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON can hold it."""
        row = {"name": self.name, "chosen on these notes as": self.remark or None, **self.score.to_dict()}
        if self.difference:
            gap, p, p_holm = self.difference
            row["stack less it"] = {"f1": gap._asdict(), "p": p, "p after Holm": p_holm}
        return row


def chooser_scores(
    gold: Corpus,
    pools: Sequence[Sequence[Voted]],
    stack: Answers,
    members: Sequence[str],
    labels: LabelSet,
    criterion: Criterion,
    *,
    others: Mapping[str, Answers] = MappingProxyType({}),
    shuffles: int = 9999,
    seed: int = 0,
) -> tuple[ChooserRow, ...]:
    """Score all choosers: each member, majority vote, plain mean, the stack, and the perfect chooser.

    :param pools: the candidates for each note, with labels spelled as in gold.
    :param stack: what the stack accepts of them.
    :param members: the names of the submodels.
    :param labels: the label set of the candidates.
    :param others: further ways to choose from the candidates, by name, with what they accept.
    :param shuffles: of the paired randomisation of each against the stack, after which Holm's correction is over all.
    :param seed: of bootstrap and randomisation.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    means = {_MEAN.format(t): [plain_mean(pool, members, t) for pool in pools] for t in _THRESHOLDS}
    answers: dict[str, Answers] = {
        **{name: [chosen_by(pool, name) for pool in pools] for name in members},
        MAJORITY: [majority_vote(pool, members) for pool in pools],
        **means,
        **others,
        STACK: stack,
        PERFECT: list(map(_perfect, pools, stack, gold.documents)),
    }
    systems = systems_of(gold, answers, labels, criterion, seed=seed)
    best_mean = _best(means, systems.scores)
    remarks = {_best(members, systems.scores): _BEST_MEMBER, best_mean: _BEST_MEAN}
    names = [name for name in answers if name not in means or name in (_MEAN.format(_THRESHOLD), best_mean)]
    gaps = systems.differences([(STACK, name) for name in names if name != STACK], ["f1"], shuffles=shuffles)
    return tuple(
        ChooserRow(name, remarks.get(name, ""), systems.scores[name], gaps.get((STACK, name, "f1"))) for name in names
    )


def _perfect(pool: Sequence[Voted], stack: Sequence[Span], note: Document) -> list[Span]:
    """The perfect choice from the candidates for a note, to which those belong that the stack found by itself."""
    return sorted({*perfect_choice(pool, note.spans), *{*note.spans}.intersection(stack)})


def _best(names: Iterable[str], scores: Mapping[str, Score]) -> str:
    return max(names, key=lambda name: scores[name].f1.value)


def share_of_the_way(rows: Iterable[ChooserRow]) -> float | None:
    """How much of the way in F1 from the best member to the perfect chooser the stack goes; below 0 if it goes back.

    :returns: `None` where the best member is perfect.
    """
    f1 = {row.remark if row.remark == _BEST_MEMBER else row.name: row.score.f1.value for row in rows}
    way = f1[PERFECT] - f1[_BEST_MEMBER]
    return (f1[STACK] - f1[_BEST_MEMBER]) / way if way > 0 else None


def in_short(rows: Sequence[ChooserRow], members: Iterable[str]) -> list[ChooserRow]:
    """The rows without members and means but for the best of each."""
    left_out = {*members, *(row.name for row in rows if row.name.startswith(_MEAN.partition("{")[0]))}
    return [row for row in rows if row.remark or row.name not in left_out]


def the_way(rows: Iterable[ChooserRow]) -> str:
    """How far the stack is from the best that could be made of its candidates, in a sentence."""
    way = share_of_the_way(rows)
    if way is None:
        return "The best member is as good as any choice from these candidates can be."
    if way < 0:
        return "The stack is behind the best member."
    return f"The stack goes {100 * way:.0f} % of the way from the best member to the perfect chooser."


def chooser_table(rows: Iterable[ChooserRow], title: str) -> Table:
    """A row a chooser: scores with intervals, what the stack is ahead by in points of F1, and its corrected p-value."""
    columns = ("chooser", "precision", "recall", "F1", "stack less it", Cell("p (Holm)", "$p$"))
    note = (
        "Which member and which mean is best was seen on these notes; the perfect chooser knows the gold. p is of "
        "paired approximate randomisation of F1 by document against the stack, after Holm's correction over all rows."
    )
    return Table(columns, [list(map(_cells, rows))], title, note, is_wide=True)


def _cells(row: ChooserRow) -> Sequence[str | Cell]:
    name = f"{row.name} ({row.remark})" if row.remark else row.name
    compared = (points(row.difference.gap), f"{row.difference.p_holm:.4f}") if row.difference else ("", "")
    return (strong(name) if name == STACK else name, *map(share, row.score.measures.values()), *compared)
