"""A text after edits, and where each of its characters is in the original.

read = rewrite("An<b>selm</b>", [(2, 5, ""), (9, 13, "")])
read.text                "Anselm"
read.place(0, 6)         (0, 9): a tag inside is part of the stretch, one at its end is not
read.then(other)         the places of a second rewriting, of `read.text`, in the original text
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phistack.features.documents import Span

ACCENTS = "\u0300-\u036f"
"""Combining accents, as the inside of a character class of a regular expression."""

_Offsets = NDArray[np.int64]


class Edit(NamedTuple):
    """A non-empty part of a text, and the character that replaces it, or none."""

    start: int
    end: int
    read: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after edits. All arrays have the shape `(n_characters,)`.

    :param places: where the character is in the original.
    :param starts: where its share of the original begins; shares are never empty, and do not overlap.
    :param ends: where its share ends.
    """

    text: str = field(repr=False)
    places: _Offsets = field(repr=False)
    starts: _Offsets = field(repr=False)
    ends: _Offsets = field(repr=False)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the original of a non-empty stretch."""
        return int(self.starts[start]), int(self.ends[end - 1])

    def span(self, span: Span) -> Span | None:
        """A span of the original as a span of `text`; `None` if none of its characters is left."""
        start, end = (int(place) for place in np.searchsorted(self.places, (span.start, span.end)))
        return Span(start, end, span.label) if start < end else None

    def then(self, other: Rewritten) -> Rewritten:
        """A rewriting of `text` as a rewriting of the original."""
        return Rewritten(other.text, self.places[other.places], self.starts[other.starts], self.ends[other.ends - 1])


def rewrite(text: str, edits: Iterable[Edit], *, shared: bool = False) -> Rewritten | None:
    """Apply edits, which are in order and do not overlap; `None` without edits.

    :param shared: whether what is left out belongs to the letter or digit before it, or else after it; otherwise it
        belongs to a stretch only if it is inside.
    """
    found = list(edits)
    if not found:
        return None
    # (n_edits,): begin, end, and how many characters are read.
    begins = np.array([edit.start for edit in found], dtype=np.int64)
    ends = np.array([edit.end for edit in found], dtype=np.int64)
    n_read = np.array([len(edit.read) for edit in found], dtype=np.int64)
    # (length + 1,): how many edits cover a character: 0 or 1.
    covered = np.zeros(len(text) + 1, dtype=np.int64)
    np.add.at(covered, begins, 1)
    np.add.at(covered, ends, -1)
    kept = np.flatnonzero(np.cumsum(covered[:-1]) == 0)
    places = np.concatenate([kept, np.repeat(begins, n_read)])
    order = np.argsort(places)
    places, after = places[order], np.concatenate([kept + 1, np.repeat(ends, n_read)])[order]
    pieces: list[str] = []
    position = 0
    for edit in found:
        pieces += (text[position : edit.start], edit.read)
        position = edit.end
    read = Rewritten("".join([*pieces, text[position:]]), places, places, after)
    return _shared(read, len(text)) if shared and read.text else read


def _shared(read: Rewritten, length: int) -> Rewritten:
    """Divide all of the original among the characters that are left."""
    starts, ends = read.starts.copy(), read.ends.copy()
    starts[0], ends[-1] = 0, length
    for i in (np.flatnonzero(ends[:-1] < starts[1:]) + 1).tolist():
        before, after = read.text[i - 1], read.text[i]
        if not before.isalnum() and (after.isalnum() or before.isspace()):
            starts[i] = ends[i - 1]
        else:
            ends[i - 1] = starts[i]
    return Rewritten(read.text, read.places, starts, ends)
