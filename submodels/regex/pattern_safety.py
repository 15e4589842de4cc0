"""Whether a regular expression can take time without end: found from its parse tree, before it sees a text.

    refuse_blow_up(re.compile(r"(?:\\w+ )+\\d"), "my-pattern")       raises nothing
    refuse_blow_up(re.compile(r"(?:\\w+ ?)+\\d"), "my-pattern")      UnsafePatternError: `aaaa` is read in 2^n ways

Python tries all ways in which a repetition can read a text. Where a stretch that leads from a place in the repetition
back to this place can be read in two ways, n such stretches are read in 2^n. This is just what is looked for, in the
automaton of the expression's characters (Glushkov 1961), by going through it along two ways at once (exponential degree
of ambiguity: Weber and Seidl 1991; Weideman 2016). A long count of something that itself has no fixed length is taken
for a repetition without end. What an atomic group or a possessive repetition has read is never read otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product

from phistack.features.errors import UnsafePatternError
from phistack.submodels.regex.trees import (
    UNBOUNDED,
    Alternatives,
    Anything,
    At,
    Atomic,
    Character,
    LookAround,
    PatternNode,
    Repetition,
    bits_of,
    parsed,
)

LONGEST = 20_000
"""In characters, with its parts filled in."""

_ENOUGH = 2
"""More ways are not distinguished."""

_MANY = 8
_COPIES = 32
_MOST_PLACES = 20_000
_MOST_PAIRS = 200_000
_DEEPEST = 12
_SAMPLE = "".join(map(chr, range(256))) + "İŁłőŞșαΩжЯאعक中あア한٣३１ａＡẞ–—‘’“”•€\u200b\u2009\u2028\u3000🙂"
"""The characters by which sets of characters are compared."""


@lru_cache(maxsize=4096)
def refuse_blow_up(pattern: re.Pattern[str], name: str) -> None:
    """See that a pattern needs no more than a power of the text's length.

    :param name: of the pattern, for the message.
    :raises UnsafePatternError: if it is too long, too deep, or has a repetition that can read one text in many ways.
    """
    if len(pattern.pattern) > LONGEST:
        raise UnsafePatternError(f"the pattern {name} has more than {LONGEST} characters; make two of it")
    sample = _SAMPLE + "".join(sorted(set(pattern.pattern) - set(_SAMPLE)))
    try:
        is_safe = not any(map(_is_ambiguous, _automata(parsed(pattern).nodes, sample)))
    except (UnsafePatternError, RecursionError):
        raise UnsafePatternError(f"the pattern {name} is nested too deep or too large; make two of it") from None
    if not is_safe:
        raise UnsafePatternError(
            f"the pattern {name} repeats something that can read the same text in several ways, such as (a+)+ or "
            f"(a|a)*, so that matching may never end; make its parts begin with different characters, or use (?>...)"
        )


@dataclass(frozen=True)
class _Part:
    """A stretch of the expression.

    :param empty: in how many ways it can match nothing; 0 if it cannot.
    :param first: the places at which it can begin, and in how many ways.
    :param last: the places at which it can end, and in how many ways.
    """

    empty: int = 1
    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)


class _Automaton:
    """The places of an expression at which a character is read.

    `sets` are the characters of each place, as bits; `follow` says which places can come next, and in how many ways.
    """

    def __init__(self, sample: str) -> None:
        self.sample = sample
        self.sets: list[int] = []
        self.follow: list[Counter[int]] = []
        self.inner: list[tuple[PatternNode, ...]] = []
        self.ambiguous = False

    def place(self, characters: int) -> _Part:
        """One more place."""
        if len(self.sets) >= _MOST_PLACES:
            raise UnsafePatternError
        self.sets.append(characters)
        self.follow.append(Counter())
        here = len(self.sets) - 1
        return _Part(0, Counter([here]), Counter([here]))

    def joined(self, one: _Part, other: _Part) -> _Part:
        """One part, and then the other."""
        for end, begin in product(one.last, other.first):
            self.follow[end][begin] += min(one.last[end] * other.first[begin], _ENOUGH)
        return _Part(
            min(one.empty * other.empty, _ENOUGH),
            one.first + _times(other.first, one.empty),
            other.last + _times(one.last, other.empty),
        )

    def sequence(self, nodes: Iterable[PatternNode], depth: int = 0) -> _Part:
        """The part of some nodes."""
        part = _Part()
        for node in nodes:
            part = self.joined(part, self._node(node, depth))
        return part

    def _node(self, node: PatternNode, depth: int) -> _Part:
        if depth > _DEEPEST:
            raise UnsafePatternError
        match node:
            case Character():
                return self.place(bits_of(node, self.sample))
            case Alternatives(branches):
                return _either(self.sequence(branch, depth) for branch in branches)
            case Repetition(possessive=False):
                return self._repeated(node, depth + 1)
            case Atomic(nodes) | Repetition(nodes=nodes):
                return self._atomic(nodes, depth)
            case LookAround(nodes):
                self.inner.append(nodes)
                return _Part()
            case Anything():
                return self._any_text()
            case At():
                return _Part()

    def _repeated(self, node: Repetition, depth: int) -> _Part:
        endless = _is_endless(node)
        copies = max(min(node.least, _COPIES), 1) if endless else node.most
        part = _Part()
        for number in range(copies, 0, -1):
            copy = self.sequence(node.nodes, depth)
            # Which rounds of a counted repetition read nothing can be chosen.
            self.ambiguous |= endless and copy.empty > 0 and node.most < UNBOUNDED
            if endless and number == copies:
                self.joined(copy, copy)
            part = self.joined(copy, part)
            part = _Part(part.empty + (number > node.least), part.first, part.last)
        return part

    def _atomic(self, nodes: tuple[PatternNode, ...], depth: int) -> _Part:
        """One place for all, as it is read in one way only."""
        self.inner.append(nodes)
        alone = _Automaton(self.sample)
        part = alone.sequence(nodes, depth + 1)
        characters = 0
        for first in part.first:
            characters |= alone.sets[first]
        here = self.place(characters)
        return _Part(part.empty, here.first, here.last)

    def _any_text(self) -> _Part:
        here = self.place((1 << len(self.sample)) - 1)
        self.joined(here, here)
        return _Part(1, here.first, here.last)


def _either(parts: Iterable[_Part]) -> _Part:
    empty, first, last = 0, Counter[int](), Counter[int]()
    for part in parts:
        empty += part.empty
        first += part.first
        last += part.last
    return _Part(empty, first, last)


def _times(places: Counter[int], ways: int) -> Counter[int]:
    return Counter({place: min(count * ways, _ENOUGH) for place, count in places.items() if ways})


def _automata(nodes: Iterable[PatternNode], sample: str) -> Iterator[_Automaton]:
    """Those of the endless repetitions of an expression, and of what is in their assertions and atomic groups."""
    waiting = list(_endless(nodes))
    while waiting:
        automaton = _Automaton(sample)
        automaton.sequence([waiting.pop()])
        waiting += [found for inner in automaton.inner for found in _endless(inner)]
        yield automaton


def _endless(nodes: Iterable[PatternNode], depth: int = 0) -> Iterator[Repetition]:
    """The outermost repetitions without end in which there is something to choose."""
    if depth > _DEEPEST:
        raise UnsafePatternError
    for node in nodes:
        match node:
            case Repetition(possessive=False) if _is_endless(node):
                if any(not isinstance(inner, Character) for inner in node.nodes):
                    yield node
            case Repetition(nodes=inner):
                yield from _endless(inner, depth + 1)
            case Alternatives(branches):
                for branch in branches:
                    yield from _endless(branch, depth)
            case LookAround(inner) | Atomic(inner):
                yield from _endless(inner, depth)


def _is_endless(node: Repetition) -> bool:
    """Whether a repetition has no end, or one that is as good as none."""
    return node.most > (_MANY if node.varies else _COPIES)


def _is_ambiguous(automaton: _Automaton) -> bool:
    """Whether a text that leads from a place back to it can be read in two ways."""
    return automaton.ambiguous or any(_splits(automaton, set(circle)) for circle in _circles(automaton.follow))


def _splits(automaton: _Automaton, circle: set[int]) -> bool:
    """Whether two ways part within a circle and meet again, reading the same characters."""
    sets = automaton.sets
    follow = {place: [n for n in automaton.follow[place] if n in circle] for place in circle}
    if any(automaton.follow[place][n] > 1 and sets[n] for place in circle for n in follow[place]):
        return True
    waiting = [(a, b) for place in circle for a, b in combinations(sorted(follow[place]), 2) if sets[a] & sets[b]]
    seen = set(waiting)
    while waiting:
        one, other = waiting.pop()
        for a, b in product(follow[one], follow[other]):
            if not sets[a] & sets[b]:
                continue
            if a == b:
                return True
            pair = (a, b) if a < b else (b, a)
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
        if len(seen) > _MOST_PAIRS:
            raise UnsafePatternError
    return False


def _circles(follow: Sequence[Iterable[int]]) -> Iterator[list[int]]:
    """The strongly connected places (Kosaraju); SciPy has this too, but its import is a good part of a load."""
    before: list[list[int]] = [[] for _ in follow]
    for place, following in enumerate(follow):
        for n in following:
            before[n].append(place)
    seen: set[int] = set()
    done = [place for start in range(len(follow)) for place in _reached(start, follow, seen)]
    seen = set()
    for start in reversed(done):
        circle = list(_reached(start, before, seen))
        if len(circle) > 1 or (circle and start in before[start]):
            yield circle


def _reached(start: int, follow: Sequence[Iterable[int]], seen: set[int]) -> Iterator[int]:
    """The places to which a way leads over places not yet seen, each behind those to which it leads itself."""
    way = [] if start in seen else [(start, iter(follow[start]))]
    seen.add(start)
    while way:
        place, following = way[-1]
        n = next((n for n in following if n not in seen), None)
        if n is None:
            way.pop()
            yield place
        else:
            seen.add(n)
            way.append((n, iter(follow[n])))
