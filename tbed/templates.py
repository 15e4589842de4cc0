"""Atoms and templates: what the conditions of a rule look at.

    Atom.parse("word[-1]")                                the previous word
    Atom.parse("tag[1..3]")                               any of the tags of the next three tokens
    read_templates("{word, lower}[{-1, 1}] & tag[-1]")    4 templates: braces multiply out
    named_templates("brill24")                            a set that phistack ships

Offsets count tokens within the sentence. A position beyond it has the value `edge`. A template file has one declaration
per line; `#` begins a comment. Shipped sets: `default`, and `brill24` and `fntbl37` (Brill 1995, and Ngai and Florian
2001, as in NLTK); installed packages add others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import product

from phistack.features.columns.settings import OWN_COLUMNS
from phistack.features.errors import SettingsError
from phistack.features.registry import FileRegistry

TEMPLATES = FileRegistry("templates", "template set", ".txt", "phistack.tbed:templates")
_BRACES = re.compile(r"\{([^{}]*)\}")

TAG = "tag"
"""The column of the current tags."""

ATOM = re.compile(r"(?P<column>[a-z]\w*)\[(?P<first>-?\d+)(?:\.\.(?P<last>-?\d+))?\]")
_FURTHEST = 20


@dataclass(frozen=True, slots=True, order=True)
class Atom:
    """One column (or `tag`) at an offset, or at any offset from `first` to `last`, in tokens.

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
        """The atom of a match of `ATOM`."""
        first = int(match["first"])
        return cls(match["column"], first, first if match["last"] is None else int(match["last"]))

    @property
    def offsets(self) -> range:
        """All offsets of the range."""
        return range(self.first, self.last + 1)

    def __str__(self) -> str:
        offsets = f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"
        return f"{self.column}[{offsets}]"

    def words(self) -> str:
        """The atom as the subject of a sentence: `the word before`, `a tag 1 to 3 tokens after`."""
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


@dataclass(frozen=True, slots=True)
class RuleTemplate:
    """A conjunction of atoms, in the order in which rules name them.

    :raises SettingsError: if there are none, or one occurs twice.
    """

    atoms: tuple[Atom, ...]

    def __post_init__(self) -> None:
        if not self.atoms:
            raise SettingsError("a template needs at least one atom")
        if len(set(self.atoms)) < len(self.atoms):
            raise SettingsError(f"the template {self} names an atom twice")

    @property
    def columns(self) -> frozenset[str]:
        """The feature columns that the template needs."""
        return frozenset(atom.column for atom in self.atoms) - {TAG}

    @property
    def reach(self) -> int:
        """The furthest offset, in tokens."""
        return max(max(abs(atom.first), abs(atom.last)) for atom in self.atoms)

    def __str__(self) -> str:
        return " & ".join(map(str, self.atoms))


def read_templates(text: str) -> tuple[RuleTemplate, ...]:
    """Read a template file.

    Each line gives a template once, so `{a, b}[0] & {a, b}[0]` gives only the pair; repetition on separate lines is
    kept, as in NLTK's `fntbl37`.

    :raises SettingsError: for a line that cannot be read, with its number.
    """
    templates: list[RuleTemplate] = []
    for number, line in enumerate(text.splitlines(), 1):
        declaration = line.partition("#")[0].strip()
        if declaration:
            try:
                templates.extend(_expanded(declaration))
            except SettingsError as error:
                raise SettingsError(f"line {number}: {error}") from None
    return tuple(templates)


def _expanded(declaration: str) -> list[RuleTemplate]:
    pieces = _BRACES.split(declaration)
    choices = [[p.strip() for p in piece.split(",")] if i % 2 else [piece] for i, piece in enumerate(pieces)]
    found: dict[frozenset[Atom], RuleTemplate] = {}
    for parts in product(*choices):
        atoms = [Atom.parse(atom.strip()) for atom in "".join(parts).split("&")]
        if len(set(atoms)) == len(atoms):
            found.setdefault(frozenset(atoms), RuleTemplate(tuple(atoms)))
    if not found:
        raise SettingsError("every alternative of this template names the same atom twice")
    return list(found.values())


def named_templates(name: str) -> tuple[RuleTemplate, ...]:
    """One of the sets `TEMPLATES`, or those of the file at a path; :raises SettingsError: if they cannot be read."""
    return TEMPLATES.read(name, read_templates)


def restricted(templates: Iterable[RuleTemplate], columns: Collection[str]) -> tuple[RuleTemplate, ...]:
    """The templates whose columns are all among the given ones.

    :raises SettingsError: if a template names a column that no feature setting provides.
    """
    templates = tuple(templates)
    known = OWN_COLUMNS.union(columns)
    for template in templates:
        if unknown := sorted(template.columns - known):
            raise SettingsError(f"the template {template} names {unknown[0]}, which is not a feature column")
    return tuple(template for template in templates if template.columns <= set(columns))
