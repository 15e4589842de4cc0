"""What an engine says about a note, and which notes a person should look at first.

    outlook = Outlook.of(reading)                      what it suggests, and how many of its decisions may be wrong
    in_order(outlooks, "uncertain", seed=0)            [7, 2, ...]: positions
    is_drawn(0, "aside", "patient 110", 0.2)           the same in each run, on each machine

`uncertain` begins with the notes in which a reader meets the most wrong decisions: the number expected from the
probabilities of the stack, per length of the note. (These already contain the disagreement of the submodels; adding it
made the order worse.) `diverse` begins with the notes in which a decision teaches most: a word counts by the wrong
decisions expected near it, and less in each further note. The choice is greedy, which reaches at least 1 - 1/e of the
optimum (Nemhauser et al. 1978). `random` is the baseline of both; `python -m benchmarks.review` compares them.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from math import inf

from phistack.ensemble.engine import Reading
from phistack.ensemble.review.decisions import Suggestion
from phistack.ensemble.stacking.candidates import Decision

ORDERS = ("uncertain", "diverse", "random")

_WORD = re.compile(r"[^\W\d_]+")
_NEAR = 25
_AGAIN = 0.3
"""What a word counts in a further note, relative to the note before."""
_OPENING = 100
"""What opening a note costs, in characters."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of a note before a person reads it.

    :param wrong: how many wrong decisions are expected; infinite for a note that the engine cannot read.
    :param length: the length of the note in characters.
    :param near: word in small letters -> how many wrong decisions are expected next to it.
    """

    suggestions: tuple[Suggestion, ...] = field(default=(), repr=False)
    wrong: float = 0.0
    length: int = 0
    near: Mapping[str, float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, reading: Reading) -> Outlook:
        """What an engine says about a note."""
        text, decisions = reading.document.text, reading.decisions
        near = Counter[str]()
        for decision in decisions:
            around = (
                (max(0, decision.span.start - _NEAR), decision.span.start),
                (decision.span.end, decision.span.end + _NEAR),
            )
            words = {word.lower() for start, end in around for word in _WORD.findall(text, start, end)}
            near.update(dict.fromkeys(words, _doubt(decision)))
        return cls(
            tuple(Suggestion(d.span.start, d.span.end, d.span.label, d.probability) for d in decisions if d.accepted),
            inf if reading.objection else sum(map(_doubt, decisions)),
            len(text),
            near,
        )


def _doubt(decision: Decision) -> float:
    """How likely the decision is wrong."""
    return 1 - decision.probability if decision.accepted else decision.probability


def in_order(outlooks: Sequence[Outlook], order: str, *, seed: int) -> list[int]:
    """The positions of the notes, in the order to look at them; ties are in random order.

    :param order: one of `ORDERS`.
    """
    positions = random.Random(seed).sample(range(len(outlooks)), len(outlooks))
    if order == "uncertain":
        return sorted(positions, key=lambda at: -outlooks[at].wrong / (outlooks[at].length + _OPENING))
    return _covering(outlooks, positions) if order == "diverse" else positions


def _covering(outlooks: Sequence[Outlook], positions: Sequence[int]) -> list[int]:
    """Greedy cover: what a note adds only shrinks, so a note that still leads when counted again is the best."""
    times, chosen = Counter[str](), []

    def adds(position: int) -> float:
        """What is new in a note, for each decision that it may take."""
        near, wrong = outlooks[position].near, outlooks[position].wrong
        return inf if wrong == inf else sum(n * _AGAIN ** times[word] for word, n in near.items()) / (1 + wrong)

    heap = [(-adds(position), rank, position) for rank, position in enumerate(positions)]
    heapify(heap)
    while heap:
        known, rank, position = heap[0]
        if (now := adds(position)) < -known:
            heapreplace(heap, (-now, rank, position))
        else:
            heappop(heap)
            times.update(outlooks[position].near.keys())
            chosen.append(position)
    return chosen


def mixed(most: Sequence[int], some: Sequence[int]) -> list[int]:
    """Both in their orders, evenly mixed."""
    places = [((n + 0.5) / len(part), item) for part in (most, some) for n, item in enumerate(part)]
    return [item for _, item in sorted(places, key=lambda placed: placed[0])]


def rank_of(seed: int, what: str, name: str) -> int:
    """A random number of 64 bits for a name, drawn for a purpose."""
    digest = hashlib.sha256(f"{seed}:{what}:{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


def is_drawn(seed: int, what: str, name: str, share: float) -> bool:
    """Whether a name is in a random share of all names, drawn for a purpose."""
    return rank_of(seed, what, name) < share * 2**64
