"""A text with other stretches in the place of some.

spliced("room 12", [(5, 7, "47")])    "room 47"
"""

from __future__ import annotations

from collections.abc import Iterable


def spliced(text: str, changes: Iterable[tuple[int, int, str | None]]) -> str | None:
    """The text with each stretch, by start and end in order, changed; None as soon as one has no new text."""
    pieces: list[str] = []
    position = 0
    for start, end, new in changes:
        if new is None:
            return None
        pieces += (text[position:start], new)
        position = end
    return "".join([*pieces, text[position:]])
