"""What to say of a name that does not exist.

    no_such("policy", "safeharbor", ("mask", "safe-harbor", "tag"))
    "no policy is named safeharbor (did you mean safe-harbor?); there are mask, safe-harbor, tag"

The nearest name has the highest ratio of matching characters (Ratcliff and Obershelp, in `difflib`), where small and
capital letters are one; a name that is like none gets no suggestion.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 100
"""Comparing takes the square of the length, and a longer name is no slip of the pen."""


def no_such(kind: str, name: object, known: Iterable[str]) -> str:
    """That no `kind` of thing has the name, the nearest that one has, and all names that there are."""
    names = tuple(known)
    return f"there is no {kind} named {name}{did_you_mean(name, names)}; there are {', '.join(names)}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The nearest of the known names as a remark in brackets after a blank; empty if none is near."""
    folded = {other.casefold(): other for other in known}
    given = str(name)
    found = get_close_matches(given.casefold(), folded, n=1) if len(given) <= _LONGEST else []
    return f" (did you mean {folded[found[0]]}?)" if found else ""
