"""With which characters the matches of a regular expression can begin, read off its parse tree.

    openings(re.compile("(Dr|Prof) [A-Z]"))     any D r blank A-Z | any P r o f blank A-Z

An opening is what is allowed at a few successive places: the character before the match, then its first characters.
Every match begins with one of the openings of its pattern, so text that shows none of them need not be searched: a
necessary condition and never a sufficient one. What is not understood in a pattern allows everything.

A set is a number with a bit for each Latin-1 character. The bit of `?` is always set, as `?` stands for all characters
beyond Latin-1 too: text is looked at as `text.encode("latin-1", "replace")`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

from phistack.submodels.regex.trees import (
    Alternatives,
    Anything,
    At,
    Atomic,
    Character,
    LookAround,
    PatternNode,
    Position,
    Repetition,
    bits_of,
    parsed,
)

CHARACTERS = 256
"""How many characters are distinguished."""

ANYTHING = (1 << CHARACTERS) - 1
"""The set of all characters."""

DEPTH = 6
"""How many characters of a match are looked at."""

_MOST = 24
_FAR_TOO_MANY = 4000
_UNKNOWN = 1 << ord("?")

Opening = tuple[int, ...]
"""Sets of characters: before the match, and at its first places, at most `DEPTH` of these."""

_Head = tuple[Opening, bool]


@lru_cache(maxsize=4096)
def openings(pattern: re.Pattern[str]) -> tuple[Opening, ...]:
    """The openings of a pattern; none if nothing can be said, or if the pattern can match nothing at all.

    The sharpest that are not too many: with fewer places if the pattern begins in too many ways.
    """
    tree = parsed(pattern)
    if tree.least == 0:
        return ()
    for depth in range(DEPTH, 0, -1):
        heads = _heads(tree.nodes, depth)
        if heads is not None and len(found := _merged({sets for sets, _ in heads}, depth)) <= _MOST:
            return _with_character_before(tree.nodes, found) if all(found) else ()
    return ()


def _heads(nodes: Iterable[PatternNode], depth: int) -> set[_Head] | None:
    """How a sequence of nodes can begin: sets of characters, and whether these are the whole of it.

    `None` if there are far too many ways.
    """
    begun: set[Opening] = {()}
    done: set[_Head] = set()
    for node in nodes:
        following = _node_heads(node, depth) if begun else set()
        if following is None or len(begun) * len(following) > _FAR_TOO_MANY:
            return None
        begun = _longer(begun, following, depth, done)
    return done | {(sets, True) for sets in begun}


def _longer(begun: set[Opening], following: set[_Head], depth: int, done: set[_Head]) -> set[Opening]:
    """What is begun with what can follow it; heads to which nothing can be added go to `done`."""
    still: set[Opening] = set()
    for sets, (more, whole) in product(begun, following):
        longer = (sets + more)[:depth]
        if whole and len(longer) < depth:
            still.add(longer)
        else:
            done.add((longer, whole))
    return still


def _repeated(node: Repetition, depth: int) -> set[_Head] | None:
    once = _heads(node.nodes, depth)
    begun: set[Opening] = {()}
    found: set[Opening] = set() if node.least else {()}
    done: set[_Head] = set()
    for count in range(1, min(node.most, node.least + depth) + 1):
        if once is None or len(begun) * len(once) > _FAR_TOO_MANY:
            return None
        begun = _longer(begun, once, depth, done)
        if count >= node.least:
            found |= begun
    return done | {(sets, True) for sets in found}


def _node_heads(node: PatternNode, depth: int) -> set[_Head] | None:
    match node:
        case Character():
            return {((_characters(node),), True)}
        case At() | LookAround():
            return {((), True)}
        case Atomic(nodes):
            return _heads(nodes, depth)
        case Alternatives(branches):
            return _union(_heads(branch, depth) for branch in branches)
        case Repetition():
            return _repeated(node, depth)
        case Anything():
            return {((), False)}


def _union(parts: Iterable[set[_Head] | None]) -> set[_Head] | None:
    found: set[_Head] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _merged(found: set[Opening], depth: int) -> list[Opening]:
    """The same with fewer openings: those that differ in one place only are joined there."""
    for place in range(depth):
        joined: dict[tuple[Opening, Opening], int] = {}
        rest: set[Opening] = set()
        for sets in found:
            if place < len(sets):
                others = sets[:place], sets[place + 1 :]
                joined[others] = joined.get(others, 0) | sets[place]
            else:
                rest.add(sets)
        found = rest | {(*before, union, *after) for (before, after), union in joined.items()}
    return sorted(found)


def _with_character_before(nodes: Sequence[PatternNode], found: Sequence[Opening]) -> tuple[Opening, ...]:
    """The openings with what the assertions before the first character say of the character before it."""
    before, at_boundary = ANYTHING, False
    for node in _leading(nodes):
        match node:
            case At(Position.TEXT_START):
                before = 0
            case At(Position.LINE_START):
                before &= 1 << ord("\n")
            case At(Position.WORD_BOUNDARY):
                at_boundary = True
            case LookAround((Character() as character,), True, negative):
                behind = _characters(character)
                before &= (ANYTHING & ~behind if negative else behind) | _UNKNOWN
    if not at_boundary or any(sets[0] & ~_UNKNOWN & ~_WORD for sets in found):
        return tuple((before, *sets) for sets in found)
    # Before a character that is known to belong to a word stands none that does.
    known_first = [(before & (~_WORD | _UNKNOWN) & ANYTHING, sets[0] & ~_UNKNOWN, *sets[1:]) for sets in found]
    return (*known_first, (before, _UNKNOWN))


def _leading(nodes: Iterable[PatternNode]) -> Iterator[At | LookAround]:
    """The assertions that hold before the first character of any match."""
    for node in nodes:
        if not isinstance(node, At | LookAround):
            if isinstance(node, Atomic):
                yield from _leading(node.nodes)
            return
        yield node


def _characters(character: Character) -> int:
    return bits_of(character, _LATIN) | _UNKNOWN


_LATIN = "".join(map(chr, range(CHARACTERS)))
_WORD = sum(1 << code for code in range(CHARACTERS) if re.match(r"\w", chr(code)))
