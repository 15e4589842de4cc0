"""Messages about a name that does not exist.

    no_such("policy", "safeharbor", ("mask", "safe-harbor", "tag"))
    "there is no policy named safeharbor (did you mean safe-harbor?); there are mask, safe-harbor, tag"

The suggestion is the name with the highest ratio of matching characters (Ratcliff and Obershelp, in `difflib`),
regardless of case.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 100
"""Comparison takes quadratic time, and a longer name is no typing error."""


def no_such(kind: str, name: object, known: Iterable[str]) -> str:
    """A message: there is no `kind` of that name, the nearest name, and all names."""
    names = tuple(known)
    return f"there is no {kind} named {name}{did_you_mean(name, names)}; there are {', '.join(names)}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The nearest known name as a remark in brackets after a blank; empty if none is near."""
    folded = {other.casefold(): other for other in known}
    given = str(name)
    found = get_close_matches(given.casefold(), folded, n=1) if len(given) <= _LONGEST else []
    return f" (did you mean {folded[found[0]]}?)" if found else ""
