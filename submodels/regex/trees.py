"""The parse tree of a regular expression, in types of our own.

    parsed(re.compile("(Dr|Prof)\\\\b")).nodes    (Alternatives((D, r), (P, r, o, f)), At(Position.WORD_BOUNDARY))
    bits_of(character, "abc")                   0b011 for the character [ab]

Python's own parser gives the tree. It is a private module, and this is the one place that knows of it and of its names.
Groups are no nodes: what is in them stands in their place, each character with the flags that hold there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = [
    "UNBOUNDED", "Alternatives", "Anything", "At", "Atomic", "Character", "LookAround", "PatternNode", "PatternTree",
    "Position", "Repetition", "bits_of", "literal_of", "parsed",
]  # fmt: skip

# They have had these names since Python 3.11.
_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")

UNBOUNDED = int(_parser.MAXREPEAT)
"""The count of a repetition without end."""


@dataclass(frozen=True, slots=True)
class Character:
    """Just one character out of a set, such as `[a-z]`; two that are written the same are equal.

    :param written: the node, as text.
    :param flags: that hold where it stands.
    """

    written: str
    flags: int
    node: Any = field(repr=False, compare=False)


Position = Enum("Position", ["TEXT_START", "LINE_START", "WORD_BOUNDARY", "OTHER"])
"""Where `At` holds."""


@dataclass(frozen=True, slots=True)
class At:
    """A place between two characters, such as the start of the text."""

    place: Position


@dataclass(frozen=True, slots=True)
class LookAround:
    """What stands, or does not stand, ahead or behind."""

    nodes: tuple[PatternNode, ...]
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several."""

    branches: tuple[tuple[PatternNode, ...], ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """Several times the same.

    :param varies: whether some text can be read by more or by fewer rounds.
    :param possessive: whether what it has read is never read otherwise.
    """

    least: int
    most: int
    nodes: tuple[PatternNode, ...]
    varies: bool
    possessive: bool


@dataclass(frozen=True, slots=True)
class Atomic:
    """What it has read is never read otherwise."""

    nodes: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any text: what a group has read, said again."""


PatternNode = Character | At | LookAround | Alternatives | Repetition | Atomic | Anything


@dataclass(frozen=True, slots=True)
class PatternTree:
    """A whole expression; `least` is the length of its shortest match."""

    nodes: tuple[PatternNode, ...]
    least: int


@lru_cache(maxsize=4096)
def parsed(pattern: re.Pattern[str]) -> PatternTree:
    """The tree of a pattern."""
    tree = _parser.parse(pattern.pattern, pattern.flags)
    return PatternTree(_nodes(tree, pattern.flags), tree.getwidth()[0])


def literal_of(character: Character) -> str:
    """The one character that it is; empty where several are allowed, be it for their case alone."""
    name, code = character.node
    sign = chr(code) if str(name) == "LITERAL" else ""
    return "" if character.flags & re.IGNORECASE and sign.lower() != sign.upper() else sign


@lru_cache(maxsize=65_536)
def bits_of(character: Character, sample: str) -> int:
    """Which characters of a sample it matches, as Python's own matcher says: a number with a bit for each."""
    state = _parser.State()
    state.flags = character.flags
    match = _compiler.compile(_parser.SubPattern(state, [character.node]), character.flags).fullmatch
    return sum(1 << place for place, one in enumerate(sample) if match(one))


def _nodes(tree: Iterable[tuple[Any, Any]] | None, flags: int) -> tuple[PatternNode, ...]:
    return tuple(converted for node in tree or () for converted in _converted(node, flags))


def _converted(node: tuple[Any, Any], flags: int) -> tuple[PatternNode, ...]:
    name, argument = str(node[0]), node[1]
    match name:
        case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY":
            return (Character(repr(node), flags, node),)
        case "SUBPATTERN":
            _, added, removed, inner = argument
            return _nodes(inner, (flags | added) & ~removed)
        case "BRANCH":
            return (Alternatives(tuple(_nodes(branch, flags) for branch in argument[1])),)
        case "GROUPREF_EXISTS":
            return (Alternatives(tuple(_nodes(branch, flags) for branch in argument[1:])),)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = argument
            shortest, longest = inner.getwidth()
            return (Repetition(least, most, _nodes(inner, flags), shortest != longest, name == "POSSESSIVE_REPEAT"),)
        case "ATOMIC_GROUP":
            return (Atomic(_nodes(argument, flags)),)
        case "ASSERT" | "ASSERT_NOT":
            return (LookAround(_nodes(argument[1], flags), argument[0] < 0, name == "ASSERT_NOT"),)
        case "AT":
            return (At(_place(str(argument), flags)),)
        case "FAILURE":
            return (LookAround((), behind=False, negative=True),)
        case _:
            return (Anything(),)


def _place(name: str, flags: int) -> Position:
    if name in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return Position.LINE_START if name == "AT_BEGINNING" and flags & re.MULTILINE else Position.TEXT_START
    return Position.WORD_BOUNDARY if name == "AT_BOUNDARY" else Position.OTHER
