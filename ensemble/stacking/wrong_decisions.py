"""The wrong decisions of a stack by kind: every missed gold span and every false span has exactly one kind.

    wrong = wrong_decisions(note, decisions)      the note has gold spans, the decisions are those of an engine
    wrong[0].kind.name                            "proposed and beaten"

A missed span is a gold span that is not accepted; a false one is accepted and not in the gold. As in strict scores,
offsets and label must agree. The kind depends on the closest candidate for a missed span, and on the closest gold span
for a false one: with the same offsets and label, then with the same offsets, then with any overlap. All candidates that
are equally close count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from phistack.ensemble.stacking.candidates import Decision
from phistack.features.documents import Document, Span


class KindOfWrong(NamedTuple):
    """One kind; its `side` is `missed` or `false`, `short` is the head of its column."""

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

    :param chosen_by: the sources (submodels, and the search for repeats) that chose the false span, or the closest
        candidates for the missed one.
    :param offered_by: the sources that proposed these without choosing them.
    :param instead: accepted spans that overlap a missed one, or gold spans that overlap a false one.
    :param probability: of exactly this span; `None` if no submodel proposed it.
    """

    document: str
    span: Span
    kind: KindOfWrong
    chosen_by: tuple[str, ...] = ()
    offered_by: tuple[str, ...] = ()
    instead: tuple[Span, ...] = ()
    probability: float | None = None


def wrong_decisions(note: Document, decisions: Sequence[Decision]) -> list[WrongDecision]:
    """All wrong decisions on a note with gold spans, equal ones once, sorted by span.

    :param decisions: on all candidates for it.
    """
    return sorted((*_missed(note, decisions), *_false(note, decisions)), key=lambda wrong: wrong.span)


def _missed(note: Document, decisions: Sequence[Decision]) -> Iterator[WrongDecision]:
    accepted = [decision.span for decision in decisions if decision.accepted]
    proposed = [decision.span for decision in decisions]
    for span in sorted({*note.spans}.difference(accepted)):
        closeness, closest = _closest(span, proposed)
        found = [decisions[i] for i in closest]
        probability = found[0].probability if closeness == 0 else None
        instead = tuple(filter(span.overlaps, accepted))
        yield WrongDecision(note.id, span, MISSED[closeness], *_sources(found), instead, probability)


def _false(note: Document, decisions: Sequence[Decision]) -> Iterator[WrongDecision]:
    gold = sorted({*note.spans})
    for decision in decisions:
        span = decision.span
        if decision.accepted and span not in gold:
            kind = FALSE[_closest(span, gold)[0] - 1]
            instead = tuple(filter(span.overlaps, gold))
            yield WrongDecision(note.id, span, kind, *_sources([decision]), instead, decision.probability)


_CLOSENESS: tuple[Callable[[Span, Span], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: (one.start, one.end) == (other.start, other.end),
    Span.overlaps,
)


def _closest(span: Span, others: Sequence[Span]) -> tuple[int, list[int]]:
    """The closeness of the closest spans, as an index of `MISSED`, and their indices."""
    for closeness, is_so in enumerate(_CLOSENESS):
        found = [i for i, other in enumerate(others) if is_so(span, other)]
        if found:
            return closeness, found
    return len(_CLOSENESS), []


def _sources(decisions: Iterable[Decision]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sources that chose any of some candidates, and those that only proposed one, each sorted."""
    votes = [vote for decision in decisions for vote in decision.votes]
    chosen = {vote.source for vote in votes if vote.chosen}
    return tuple(sorted(chosen)), tuple(sorted({vote.source for vote in votes} - chosen))
