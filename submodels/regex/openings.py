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
from typing import Any

from submodels.regex.trees import ONE_CHARACTER, matcher, parsed

__all__ = ["ANYTHING", "CHARACTERS", "DEPTH", "Opening", "openings"]

CHARACTERS = 256
"""How many characters are told apart."""

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
    if tree.getwidth()[0] == 0:
        return ()
    for depth in range(DEPTH, 0, -1):
        heads = _heads(tree, depth, pattern.flags)
        if heads is not None and len(found := _merged({sets for sets, _ in heads}, depth)) <= _MOST:
            return _with_character_before(tree, found, pattern.flags) if all(found) else ()
    return ()


def _heads(nodes: Iterable[Any], depth: int, flags: int) -> set[_Head] | None:
    """How a sequence of nodes can begin: sets of characters, and whether these are the whole of it.

    `None` if there are far too many ways.
    """
    begun: set[Opening] = {()}
    done: set[_Head] = set()
    for node in nodes:
        following = _node_heads(node, depth, flags) if begun else set()
        if following is None or len(begun) * len(following) > _FAR_TOO_MANY:
            return None
        longer = {((sets + more)[:depth], whole) for sets in begun for more, whole in following}
        begun = {sets for sets, whole in longer if whole and len(sets) < depth}
        done |= {(sets, whole) for sets, whole in longer if not whole or len(sets) == depth}
    return done | {(sets, True) for sets in begun}


def _node_heads(node: Any, depth: int, flags: int) -> set[_Head] | None:
    name, argument = str(node[0]), node[1]
    if name in ONE_CHARACTER:
        return {((_characters(node, flags),), True)}
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return {((), True)}
    if name == "SUBPATTERN" and not argument[1] and not argument[2]:
        return _heads(argument[3], depth, flags)
    if name == "ATOMIC_GROUP":
        return _heads(argument, depth, flags)
    if name == "BRANCH":
        return _union(_heads(branch, depth, flags) for branch in argument[1])
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, repeated = argument
        counts = range(least, min(most, least + depth) + 1)
        return _union(_heads([*repeated] * count, depth, flags) for count in counts)
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


def _with_character_before(tree: Any, found: Sequence[Opening], flags: int) -> tuple[Opening, ...]:
    """The openings with what the assertions before the first character say of the character before it."""
    before, at_boundary = ANYTHING, False
    for node in _leading(tree):
        name, argument = str(node[0]), node[1]
        if name == "AT" and str(argument) == "AT_BEGINNING":
            before &= 1 << ord("\n") if flags & re.MULTILINE else 0
        elif name == "AT" and str(argument) == "AT_BOUNDARY":
            at_boundary = True
        elif name in ("ASSERT", "ASSERT_NOT") and argument[0] < 0 and _is_character(argument[1]):
            characters = _characters(argument[1][0], flags)
            before &= (characters if name == "ASSERT" else ANYTHING & ~characters) | _UNKNOWN
    if not at_boundary or any(sets[0] & ~_UNKNOWN & ~_WORD for sets in found):
        return tuple((before, *sets) for sets in found)
    # Before a character that is known to belong to a word stands none that does.
    known_first = [(before & (~_WORD | _UNKNOWN) & ANYTHING, sets[0] & ~_UNKNOWN, *sets[1:]) for sets in found]
    return (*known_first, (before, _UNKNOWN))


def _leading(nodes: Iterable[Any]) -> Iterator[Any]:
    """The assertions that hold before the first character of any match."""
    for node in nodes:
        name, argument = str(node[0]), node[1]
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            yield node
            continue
        if name == "ATOMIC_GROUP":
            yield from _leading(argument)
        elif name == "SUBPATTERN" and not argument[1] and not argument[2]:
            yield from _leading(argument[3])
        return


def _is_character(nodes: Sequence[Any]) -> bool:
    return len(nodes) == 1 and str(nodes[0][0]) in ONE_CHARACTER


def _characters(node: Any, flags: int) -> int:
    """The set of characters that a node of the parse tree matches, as its own regular expression says."""
    key = (repr(node), flags)
    if key not in _CHARACTERS:
        match = matcher(node, flags).fullmatch
        matched = (1 << code for code in range(CHARACTERS) if match(chr(code)))
        _CHARACTERS[key] = sum(matched) | _UNKNOWN
    return _CHARACTERS[key]


_CHARACTERS: dict[tuple[str, int], int] = {}
_WORD = sum(1 << code for code in range(CHARACTERS) if re.match(r"\w", chr(code)))
