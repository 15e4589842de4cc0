"""The submodels' proposals for a note, pooled, and the decisions on them.

    pools = pools_of(tables, {"crf": ..., "blstm": ...}, ("crf", "blstm"))       for many notes
    pool = pooled([crf_candidates, blstm_candidates])     one PooledCandidate for each distinct span and label
    pool[0].votes                                         who proposed it, each with score and evidence

A `Decision` is a pooled candidate with the stacker's judgement; `explain` shows decisions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Span
from phistack.features.plain_view import PlainView
from phistack.features.ranges import non_overlapping
from phistack.submodels.base import Candidate

_OVER_AND_OVER = 40


@dataclass(frozen=True, slots=True)
class PooledCandidate:
    """A span with its label, and the candidates for exactly that: one per source, in the order of the submodels."""

    span: Span
    votes: tuple[Candidate, ...]

    def in_note(self, view: PlainView) -> PooledCandidate:
        """The same on a span of the note as it was written; its own span is one of the plain view."""
        return self if view.is_note else PooledCandidate(view.in_note(self.span), _in_note(self.votes, view))


Tables = Sequence[FeatureTable]
CandidatesOf = Mapping[str, Sequence[Sequence[Candidate]]]
"""Submodel -> its candidates for each note."""
Pools = Sequence[Sequence[PooledCandidate]]
"""For each note the candidates of some submodels together."""
ByNote = Sequence[Floats]
"""For each note a number for each of its candidates, such as its probability: `(n_candidates,)`."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The stacker's judgement of a pooled candidate.

    :param probability: that the span is PHI of its label, in [0, 1].
    :param accepted: whether it is in the result; accepted decisions of a note never overlap.
    :param votes: who proposed it.
    """

    span: Span
    probability: float
    accepted: bool
    votes: tuple[Candidate, ...]

    def in_note(self, view: PlainView) -> Decision:
        """The same on a span of the note as it was written; its own span is one of the plain view."""
        if view.is_note:
            return self
        return replace(self, span=view.in_note(self.span), votes=_in_note(self.votes, view))


Decided = Sequence[Sequence[Decision]]
"""For each note the decisions on its candidates."""


def _in_note(votes: Iterable[Candidate], view: PlainView) -> tuple[Candidate, ...]:
    return tuple(replace(vote, span=view.in_note(vote.span)) for vote in votes)


def pooled(proposals: Iterable[Sequence[Candidate]]) -> list[PooledCandidate]:
    """Join the submodels' candidates for one note, sorted by span.

    If a submodel proposes the same span twice, its surer candidate counts.
    """
    votes: dict[Span, dict[str, Candidate]] = {}
    for candidates in proposals:
        for candidate in candidates:
            of_span = votes.setdefault(candidate.span, {})
            known = of_span.get(candidate.source)
            if known is None or (candidate.chosen, candidate.score) > (known.chosen, known.score):
                of_span[candidate.source] = candidate
    by_span = sorted(votes.items(), key=itemgetter(0))
    return [PooledCandidate(span, tuple(of_span.values())) for span, of_span in by_span]


def pools_of(tables: Tables, proposals: CandidatesOf, names: Sequence[str]) -> list[list[PooledCandidate]]:
    """The candidates of some submodels, in this order, pooled note by note; training and engine judge these.

    Repetitions such as a line of dashes, which sequence models label without end, are left out.
    """
    notes = zip(tables, zip(*(proposals[name] for name in names), strict=True), strict=True)
    return [
        [c for c in pooled(of_note) if not is_repetition(table.document.text[c.span.start : c.span.end])]
        for table, of_note in notes
    ]


def is_repetition(text: str) -> bool:
    """Whether a text repeats a short string forty times or more, as a line of dashes does."""
    longest = min(len(text) // _OVER_AND_OVER, _OVER_AND_OVER)
    return any(text[n:] == text[:-n] for n in range(1, longest + 1))


def chosen_spans(candidates: Iterable[Candidate], view: PlainView) -> list[Span]:
    """The spans that a submodel chose, in the note as it was written; the candidates are spans of its plain view."""
    return sorted({view.in_note(candidate.span) for candidate in candidates if candidate.chosen})


def decided(pool: Sequence[PooledCandidate], probabilities: Floats, threshold: float | Floats) -> list[Decision]:
    """A decision on each candidate: the set without overlap with the largest sum above the threshold is accepted.

    :param probabilities: of shape `(n_candidates,)`.
    :param threshold: one, or one for each candidate.
    """
    accepted = {*non_overlapping(pool, (probabilities - threshold).tolist())}
    return [
        Decision(candidate.span, probability, i in accepted, candidate.votes)
        for i, (candidate, probability) in enumerate(zip(pool, probabilities.tolist(), strict=True))
    ]


def which_are_phi(pools: Pools, gold: Iterable[Collection[Span]]) -> list[NDArray[np.bool_]]:
    """For each note which of its candidates are gold spans, of shape `(n_candidates,)`."""
    return [np.array([c.span in of_note for c in pool], dtype=bool) for pool, of_note in zip(pools, gold, strict=True)]
