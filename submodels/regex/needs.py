"""A sign that every match of a regular expression has, and how far from its start, read off its parse tree.

    need_of(re.compile(r"[\\w.]{1,64}@\\w+"))     Need("@", 1, 64): there is one 1 to 64 characters after the start

Where there is none, nothing need be searched for: a necessary condition and never a sufficient one. Letters, digits and
blanks are no signs, as they are everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import NamedTuple

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
    literal_of,
    parsed,
)

_FURTHEST = 128

_Width = tuple[int, float]
"""The least and the most characters that something reads."""


class Need(NamedTuple):
    """A sign, and the least and the most characters between it and the start of a match."""

    sign: str
    least: int
    most: int


def need_of(pattern: re.Pattern[str]) -> Need | None:
    """The first sign that all matches of a pattern have; nothing where there is none, or it may be too far away."""
    least, most = 0, 0.0
    for node in parsed(pattern).nodes:
        sign = literal_of(node) if isinstance(node, Character) else ""
        if sign and sign.isascii() and sign != "?" and not (sign.isalnum() or sign.isspace()):
            return Need(sign, least, int(most))
        of_node = _width(node)
        least, most = least + of_node[0], most + of_node[1]
        if most > _FURTHEST:
            return None
    return None


def _width(node: PatternNode) -> _Width:
    match node:
        case Character():
            return 1, 1
        case At() | LookAround():
            return 0, 0
        case Atomic(nodes):
            return _widths(nodes)
        case Alternatives(branches):
            of_each = [_widths(branch) for branch in branches]
            return min(least for least, _ in of_each), max(most for _, most in of_each)
        case Repetition(least, most, nodes):
            of_once = _widths(nodes)
            return least * of_once[0], of_once[1] and of_once[1] * (inf if most == UNBOUNDED else most)
        case Anything():
            return 0, inf


def _widths(nodes: Iterable[PatternNode]) -> _Width:
    of_each = [_width(node) for node in nodes]
    return sum(least for least, _ in of_each), sum(most for _, most in of_each)
