"""Atoms: where a rule looks.

    Atom.parse("word[-1]")       the word before
    Atom.parse("tag[1..3]")      any of the tags of the next three tokens
    Atom.parse("word[-1]").words()    "the word before"

Offsets count tokens within the sentence. What lies beyond it has the value `edge`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from phistack.features.errors import SettingsError

TAG = "tag"
"""The column of the tags as they are when a rule is applied."""

ATOM = re.compile(r"(?P<column>[a-z]\w*)\[(?P<first>-?\d+)(?:\.\.(?P<last>-?\d+))?\]")
_FURTHEST = 20


@dataclass(frozen=True, slots=True, order=True)
class Atom:
    """One column at an offset, or at any offset of a range.

    :param column: a feature column, or `tag`.
    :param first: the smallest offset, in tokens.
    :param last: the largest offset.
    :raises SettingsError: if the range is reversed or reaches further than 20 tokens.
    """

    column: str
    first: int
    last: int

    def __post_init__(self) -> None:
        if not -_FURTHEST <= self.first <= self.last <= _FURTHEST:
            raise SettingsError(
                f"the offsets {self.first}..{self.last} of the column {self.column} are not a range within "
                f"-{_FURTHEST}..{_FURTHEST}"
            )

    @classmethod
    def parse(cls, text: str) -> Atom:
        """Read `column[offset]` or `column[first..last]`; :raises SettingsError: if it is neither."""
        match = ATOM.fullmatch(text)
        if match is None:
            raise SettingsError("an atom is written column[offset] or column[first..last], as in word[-1] or tag[1..3]")
        return cls.of_match(match)

    @classmethod
    def of_match(cls, match: re.Match[str]) -> Atom:
        """The atom that the pattern `ATOM` found."""
        first = int(match["first"])
        return cls(match["column"], first, first if match["last"] is None else int(match["last"]))

    @property
    def offsets(self) -> range:
        """All offsets at which the atom looks."""
        return range(self.first, self.last + 1)

    def __str__(self) -> str:
        offsets = f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"
        return f"{self.column}[{offsets}]"

    def words(self) -> str:
        """The atom in words, as the subject of a sentence: `the word before`, `a tag 1 to 3 tokens after`."""
        name = self.column.replace("_", " ")
        if self.first == self.last:
            return f"the {name}{_place(self.first)}"
        if self.first > 0 or self.last < 0:
            near, far = sorted((abs(self.first), abs(self.last)))
            return f"a {name} {near} to {far} tokens {'after' if self.first > 0 else 'before'}"
        return f"a {name} from {-self.first} tokens before to {self.last} after"


def _place(offset: int) -> str:
    if offset == 0:
        return ""
    side = "before" if offset < 0 else "after"
    return f" {side}" if abs(offset) == 1 else f" {abs(offset)} tokens {side}"
