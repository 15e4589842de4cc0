"""The characters with which the matches of a regular expression can begin.

    openings("(Dr|Prof) [A-Z]", re.NOFLAG)     any D r blank A-Z | any P r o f, and no sign

An opening is a set of characters for each of a few successive places: the one before the match, then the first ones of
the match. Every match begins with one of the openings of its expression, so text that has none of them need not be
searched. A sign is a character, such as the `@` of an address, that every match has at some distance from its start.
What is not understood in an expression allows everything.

A set is a number with a bit for each Latin-1 character. The bit of `?` is always set, as `?` represents all characters
beyond Latin-1 too: text is read as `text.encode("latin-1", "replace")`.

The parse tree is that of Python's own parser, a private module; no other file uses it. It is worth that: searched for
everywhere, the shipped patterns take 16 times as long, and an engine of regex and TBED two and a half times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

CHARACTERS = 256
"""How many characters are distinguished."""

ANYTHING = (1 << CHARACTERS) - 1
"""The set of all characters."""

DEPTH = 4
"""How many characters of a match are looked at."""

_FURTHEST = 128
_UNKNOWN = 1 << ord("?")
_LATIN = "".join(map(chr, range(CHARACTERS)))
_WORD = sum(1 << ord(character) for character in re.findall(r"\w", _LATIN))
_SETS: dict[tuple[str, int], int] = {}

# These names have been the same since Python 3.11.
_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")

Opening = tuple[int, ...]
"""Sets of characters: before the match, and at its first places, at most `DEPTH` of these."""

_Then = Callable[[int], set[Opening]]
"""How what follows can begin, in at most so many characters."""


class Sign(NamedTuple):
    """A character that all matches have, and the least and the most characters between it and their start."""

    character: str
    least: int
    most: int


def openings(expression: str, flags: int) -> tuple[tuple[Opening, ...], Sign | None]:
    """The openings of an expression, unless it can match the empty text, and the sign of its matches, if any."""
    tree = _parser.parse(expression, flags)
    flags = tree.state.flags
    found = _merged(_begun(tree, flags, DEPTH, lambda left: {()}))
    return _with_character_before(tree, flags, found) if all(found) else (), _sign(tree)


def _sign(tree: Any) -> Sign | None:
    """Letters, digits and blanks are no signs, as they are everywhere."""
    for i, (name, code) in enumerate(tree):
        least, most = tree[:i].getwidth()
        if most > _FURTHEST:
            break
        if str(name) == "LITERAL" and code < CHARACTERS and code != ord("?") and not re.match(r"\w|\s", chr(code)):
            return Sign(chr(code), least, most)
    return None


def _begun(nodes: Sequence[Any], flags: int, depth: int, then: _Then) -> set[Opening]:
    """How nodes can begin that `then` follows: sets for at most `depth` places."""
    if not depth:
        return {()}
    if not nodes:
        return then(depth)
    name, argument = str(nodes[0][0]), nodes[0][1]
    rest = cache(lambda left: _begun(nodes[1:], flags, left, then))
    match name:
        case _ if _is_set(nodes[0]):
            characters = _characters(nodes[0], flags)
            return {(characters, *more) for more in rest(depth - 1)}
        case "SUBPATTERN":
            _, added, removed, inner = argument
            return _begun(inner, (flags | added) & ~removed, depth, rest)
        case "ATOMIC_GROUP":
            return _begun(argument, flags, depth, rest)
        case "BRANCH":
            return set().union(*(_begun(branch, flags, depth, rest) for branch in argument[1]))
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = argument
            return _repeated(inner, flags, least, min(most, least + depth), rest)(depth)
        case "AT" | "ASSERT" | "ASSERT_NOT" | "FAILURE":
            return rest(depth)
        case _:
            return {()}


def _repeated(inner: Sequence[Any], flags: int, least: int, most: int, then: _Then) -> _Then:
    """How a repetition can begin: with one round and what follows that, or, once it may end, with `then`."""
    if not most:
        return then
    following = cache(_repeated(inner, flags, max(least - 1, 0), most - 1, then))
    return lambda left: _begun(inner, flags, left, following) | (set() if least else then(left))


def _merged(found: set[Opening]) -> list[Opening]:
    """The same with fewer openings: those that differ in one place only become one."""
    for place in range(DEPTH):
        shorter = {sets for sets in found if len(sets) <= place}
        joined: dict[tuple[Opening, Opening], int] = {}
        for sets in found - shorter:
            others = sets[:place], sets[place + 1 :]
            joined[others] = joined.get(others, 0) | sets[place]
        found = shorter | {(*before, union, *after) for (before, after), union in joined.items()}
    return sorted(found)


def _with_character_before(nodes: Iterable[Any], flags: int, found: Iterable[Opening]) -> tuple[Opening, ...]:
    """The openings with what the assertions at the start of an expression say of the character before a match."""
    before, at_boundary = ANYTHING, False
    for name, argument in nodes:
        match str(name), argument:
            case "AT", where if str(where) == "AT_BOUNDARY":
                at_boundary = True
            case "AT", where if str(where) == "AT_BEGINNING":
                before &= 1 << ord("\n") if flags & re.MULTILINE else 0
            case "ASSERT" | "ASSERT_NOT" as kind, (-1, behind) if len(behind) == 1 and _is_set(behind[0]):
                behind = _characters(behind[0], flags)
                before &= (behind if kind == "ASSERT" else ANYTHING & ~behind) | _UNKNOWN
            case "AT" | "ASSERT" | "ASSERT_NOT", _:
                pass
            case _:
                break
    if not at_boundary or any(sets[0] & ~_UNKNOWN & ~_WORD for sets in found):
        return tuple((before, *sets) for sets in found)
    # No character of a word precedes one that is known to begin a word.
    known_first = [(before & (~_WORD | _UNKNOWN) & ANYTHING, sets[0] & ~_UNKNOWN, *sets[1:]) for sets in found]
    return (*known_first, (before, _UNKNOWN))


def _is_set(node: tuple[Any, Any]) -> bool:
    return str(node[0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY")


def _characters(node: tuple[Any, Any], flags: int) -> int:
    """The set of a node that reads one character, as Python's own matcher reads it."""
    written = repr(node), flags
    if written not in _SETS:
        state = _parser.State()
        state.flags = flags
        matched = _compiler.compile(_parser.SubPattern(state, [node]), flags).findall(_LATIN)
        _SETS[written] = sum(1 << ord(character) for character in matched) | _UNKNOWN
    return _SETS[written]
