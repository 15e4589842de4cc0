"""What an engine says of a note, and which notes a person had best look at first.

    outlook = Outlook.of(reading)                      what it suggests, and how many of its decisions are likely wrong
    in_order(outlooks, "uncertain", seed=0)            [7, 2, ...]: positions
    is_drawn(0, "aside", "patient 110", 0.2)           the same in each run, on each machine

`uncertain` begins with the notes in which most wrong decisions are expected: the sum, over the candidates, of the
probability that the stack is wrong, and of how far the submodels disagree (query by committee; Settles and Craven
2008). `diverse` begins with the notes that have most words near candidates which no earlier note has, greedily, which
covers at least 1 - 1/e of what is possible (Nemhauser et al. 1978). `random` is the baseline of both.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from math import inf

from phistack.ensemble.engine import Reading
from phistack.ensemble.review.decisions import Suggestion
from phistack.ensemble.stacking.candidates import Decision

ORDERS = ("uncertain", "diverse", "random")

_WORD = re.compile(r"[^\W\d_]+")
_NEAR = 40


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of a note before a person reads it.

    :param wrong: how many wrong decisions of the engine are expected; infinite for a note that it cannot read.
    :param words: those near candidates, in small letters.
    """

    suggestions: tuple[Suggestion, ...] = field(default=(), repr=False)
    wrong: float = 0.0
    words: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, reading: Reading, n_submodels: int = 1) -> Outlook:
        """What an engine of some submodels says of a note."""
        text, decisions = reading.document.text, reading.decisions
        near = (_WORD.findall(text, max(0, d.span.start - _NEAR), d.span.end + _NEAR) for d in decisions)
        return cls(
            tuple(Suggestion(d.span.start, d.span.end, d.span.label, d.probability) for d in decisions if d.accepted),
            inf if reading.objection else sum(_doubt(decision, n_submodels) for decision in decisions),
            frozenset(word.lower() for words in near for word in words),
        )


def _doubt(decision: Decision, n_submodels: int) -> float:
    """How likely the decision is wrong, and how far the submodels are from speaking with one voice: each 0 to 1."""
    wrong = 1 - decision.probability if decision.accepted else decision.probability
    share = min(1.0, sum(vote.chosen for vote in decision.votes) / n_submodels)
    return wrong + 4 * share * (1 - share)


def in_order(outlooks: Sequence[Outlook], order: str, *, seed: int) -> list[int]:
    """The positions of the notes, those to look at first first; ties are in random order.

    :param order: one of `ORDERS`.
    """
    positions = random.Random(seed).sample(range(len(outlooks)), len(outlooks))
    if order == "uncertain":
        return sorted(positions, key=lambda position: -outlooks[position].wrong)
    return _covering(outlooks, positions) if order == "diverse" else positions


def _covering(outlooks: Sequence[Outlook], positions: Sequence[int]) -> list[int]:
    """Greedy cover: as what a note adds only shrinks, a note that is still the best when counted again is the best."""
    heap = [(-len(outlooks[position].words), rank, position) for rank, position in enumerate(positions)]
    heapify(heap)
    seen, chosen = set[str](), []
    while heap:
        known, rank, position = heap[0]
        adds = len(outlooks[position].words - seen)
        if adds < -known:
            heapreplace(heap, (-adds, rank, position))
        else:
            heappop(heap)
            seen |= outlooks[position].words
            chosen.append(position)
    return chosen


def mixed(most: Sequence[int], some: Sequence[int]) -> list[int]:
    """Both in their orders, evenly mixed."""
    places = [((n + 0.5) / len(part), item) for part in (most, some) for n, item in enumerate(part)]
    return [item for _, item in sorted(places, key=lambda placed: placed[0])]


def rank_of(seed: int, what: str, name: str) -> int:
    """A random number of 64 bits of a name, drawn for a purpose."""
    digest = hashlib.sha256(f"{seed}:{what}:{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


def is_drawn(seed: int, what: str, name: str, share: float) -> bool:
    """Whether a name is in a random share of all names, drawn for a purpose."""
    return rank_of(seed, what, name) < share * 2**64
