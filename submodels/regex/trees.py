"""The parse tree of a regular expression, as Python's own parser gives it.

    tree = parsed(re.compile("(Dr|Prof) [A-Z]"))
    [(str(name), argument) for name, argument in tree]
    matcher(tree[-1], 0).fullmatch("B")                what one node matches, alone

The parser is a private module of Python; this is the one place that knows of it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = ["ONE_CHARACTER", "UNBOUNDED", "matcher", "parsed"]

ONE_CHARACTER = ("LITERAL", "NOT_LITERAL", "IN", "ANY")
"""The nodes that match just one character."""

# It has had this name since Python 3.11.
_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")

UNBOUNDED = int(_parser.MAXREPEAT)
"""The count of a repetition without end."""


@lru_cache(maxsize=4096)
def parsed(pattern: re.Pattern[str]) -> Any:
    """The nodes of a pattern: pairs of a name and its argument."""
    return _parser.parse(pattern.pattern, pattern.flags)


def matcher(node: Any, flags: int) -> re.Pattern[str]:
    """A regular expression of one node."""
    state = _parser.State()
    state.flags = flags
    compiled: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [node]), flags)
    return compiled
