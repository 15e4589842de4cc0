"""What kind of wrong each wrong decision of a stack is: every missed gold span and every false span has exactly one.

    wrong = wrong_decisions(note, decisions)      the note has gold spans, the decisions are those of an engine
    wrong[0].kind.name                            "proposed and beaten"
    wrong[0].chosen_by                            ("crf",): who would have marked it

A missed span is a gold span that is not accepted; a false one is accepted and not in the gold: offsets and label must
all agree. So where a wrong extent or label was accepted, there is a false span and a missed one, as in strict scores.

What comes closest decides on the kind: of the candidates for a missed span, and of the gold spans for a false one. The
same offsets and label come before the same offsets with another label, and these before what shares a character. All
candidates that come equally close count as having said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from phistack.ensemble.stacking.candidates import Decision
from phistack.features.documents import Document, Span


class KindOfWrong(NamedTuple):
    """One kind.

    :param side: `missed` or `false`.
    :param short: its name at the head of a column.
    :param means: the kind in words.
    """

    side: str
    name: str
    short: str
    means: str


MISSED = (
    KindOfWrong("missed", "proposed and beaten", "beaten", "a candidate was just that, and was refused"),
    KindOfWrong("missed", "only other label", "label", "candidates have its start and end, all with another label"),
    KindOfWrong("missed", "only overlapping", "overlap", "candidates overlap it, all with another start or end"),
    KindOfWrong("missed", "nothing proposed", "nothing", "no candidate shares a character with it"),
)
"""From the closest candidate to none."""

FALSE = (
    KindOfWrong("false", "other label", "label", "a gold span has the same start and end with another label"),
    KindOfWrong("false", "overlaps", "overlap", "it overlaps a gold span that has another start or end"),
    KindOfWrong("false", "nothing there", "nothing", "no gold span shares a character with it"),
)
"""From the closest gold span to none."""

KINDS_OF_WRONG = (*MISSED, *FALSE)


@dataclass(frozen=True, slots=True)
class WrongDecision:
    """A gold span that the stack missed, or a span that it should not have accepted.

    :param document: the id of the note.
    :param span: the missed or the false one.
    :param chosen_by: the sources that would have marked the false span itself, or what decides on the kind of a missed
        one; each submodel, and the search for repeated mentions.
    :param offered_by: those that proposed it to the stacker, but would not have marked it.
    :param instead: what overlaps it on the other side: accepted spans for a missed one, gold spans for a false one.
    :param probability: how sure the stacker was of just this span; `None` where nobody proposed just this.
    """

    document: str
    span: Span
    kind: KindOfWrong
    chosen_by: tuple[str, ...] = ()
    offered_by: tuple[str, ...] = ()
    instead: tuple[Span, ...] = ()
    probability: float | None = None


def wrong_decisions(note: Document, decisions: Sequence[Decision]) -> list[WrongDecision]:
    """All wrong decisions on one note, sorted by span.

    :param note: with its gold spans, of which equal ones count once.
    :param decisions: on all candidates for it.
    """
    return sorted((*_missed(note, decisions), *_false(note, decisions)), key=lambda wrong: wrong.span)


def _missed(note: Document, decisions: Sequence[Decision]) -> Iterator[WrongDecision]:
    accepted = [decision.span for decision in decisions if decision.accepted]
    proposed = [decision.span for decision in decisions]
    for span in sorted({*note.spans}.difference(accepted)):
        closeness, closest = _closest(span, proposed)
        said = [decisions[i] for i in closest]
        probability = said[0].probability if closeness == 0 else None
        instead = tuple(filter(span.overlaps, accepted))
        yield WrongDecision(note.id, span, MISSED[closeness], *_sources(said), instead, probability)


def _false(note: Document, decisions: Sequence[Decision]) -> Iterator[WrongDecision]:
    gold = {*note.spans}
    for decision in decisions:
        span = decision.span
        if decision.accepted and span not in gold:
            closeness, _ = _closest(span, [*gold])
            instead = tuple(sorted(filter(span.overlaps, gold)))
            kind = FALSE[closeness - 1]
            yield WrongDecision(note.id, span, kind, *_sources([decision]), instead, decision.probability)


_CLOSENESS: tuple[Callable[[Span, Span], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: (one.start, one.end) == (other.start, other.end),
    Span.overlaps,
)


def _closest(span: Span, others: Sequence[Span]) -> tuple[int, list[int]]:
    """How close the closest of some spans come, as an index of `MISSED`, and which these are."""
    for closeness, is_so in enumerate(_CLOSENESS):
        found = [i for i, other in enumerate(others) if is_so(span, other)]
        if found:
            return closeness, found
    return len(_CLOSENESS), []


def _sources(said: Iterable[Decision]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who chose any of some candidates, and who only offered some, each in the order of the alphabet."""
    votes = [vote for decision in said for vote in decision.votes]
    chosen = {vote.source for vote in votes if vote.chosen}
    return tuple(sorted(chosen)), tuple(sorted({vote.source for vote in votes} - chosen))
