"""Other ways to choose from the candidates that a stacker has: what it must be better than, and the best that can be.

    chosen_by(decisions, "crf")                             what one submodel would mark
    majority_vote(decisions, ("regex", "tbed", "crf"))      what more than half of them would mark
    plain_mean(decisions, ("regex", "crf"), 0.5)            where the mean of their scores is above a threshold
    perfect_choice(decisions, gold)                         each gold span that anybody proposed, and nothing else

All are for one note, and take pooled candidates as well as decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from phistack.features.documents import Span
from phistack.features.ranges import non_overlapping
from phistack.submodels.base import Candidate


class Voted(Protocol):
    """A span, and who proposed it."""

    @property
    def span(self) -> Span:
        """Where and what."""

    @property
    def votes(self) -> tuple[Candidate, ...]:
        """At most one of each source."""


def chosen_by(candidates: Iterable[Voted], source: str) -> list[Span]:
    """What a submodel would mark by itself."""
    return [c.span for c in candidates if any(vote.chosen and vote.source == source for vote in c.votes)]


def majority_vote(candidates: Iterable[Voted], members: Sequence[str]) -> list[Span]:
    """What more than half of the submodels would mark, with the same start, end and label.

    Such spans never overlap: two of them are chosen by one submodel, whose own choices do not.
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
    """Each gold span that is among the candidates, and nothing else: no chooser can find more of them.

    Gold spans that overlap are all taken, though a stacker accepts one of them only.
    """
    return sorted({*gold}.intersection(candidate.span for candidate in candidates))
