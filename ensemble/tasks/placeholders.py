"""Styles of placeholders, which say where PHI was taken out of notes, and what was there.

    Style.of("mimic-iii").find("Dr. [**Last Name (STitle) 12**]", "en")
    [Placed(4, 31, "Last Name (STitle)", "12", ("[[DOCTOR:lastname]]",))]

A style is a TOML file. Its `pattern` is a regular expression: the group `kind` says what was there, the group `which`
says which one. Its table `[kinds]` has regular expressions for whole kinds, or for a kind, a blank and which; the first
that fits counts. Each has what is written there, in the notation of `ensemble.synthesis.grammar`, or a list: then the
surrounding words decide. Groups `year`, `month` and `day` of a kind give a date. What a name, place or date leaves
open, above all its form, is drawn as templates have it between such words (`ensemble.synthesis.habits`). Without
`[kinds]`, the kinds are the labels of the language's label set; without a group `kind`, the surrounding words decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from phistack.ensemble.synthesis.grammar import Placeholder, placeholders
from phistack.ensemble.synthesis.patients import PEOPLE
from phistack.ensemble.synthesis.scene import PARTS
from phistack.ensemble.synthesis.templates import table
from phistack.features.errors import SettingsError
from phistack.features.files import file_named, read_toml
from phistack.features.limited_regex import LimitedRegex
from phistack.features.registry import FileRegistry

STYLES = FileRegistry("placeholders", "style of placeholders", ".toml", "phistack.ensemble.tasks:styles")
_ENTRIES = {"language": str, "pattern": str, "kinds": dict}
_DATED = ("year", "month", "day")
_NUMBER = re.compile(r"[0-9]{1,4}")


@dataclass(frozen=True, slots=True)
class Placed:
    """A placeholder in a text.

    :param kind: what it says was there; empty if it says nothing.
    :param which: which one it says it was.
    :param write: what replaces it, as a template or a label; of several, the context decides; none if it is not known.
    :param on: those of year, month and day that it gives.
    """

    start: int
    end: int
    kind: str = field(repr=False)
    which: str = field(repr=False)
    write: tuple[str, ...] = ()
    on: Mapping[str, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Style:
    """How notes were scrubbed.

    :param kinds: what fits a kind, and what is written there; none where the kinds are labels.
    """

    name: str
    language: str
    pattern: LimitedRegex
    kinds: tuple[tuple[LimitedRegex, tuple[str, ...]], ...]

    @classmethod
    def of(cls, named: str) -> Style:
        """A style that ships, or one in a TOML file; :raises SettingsError: naming it and what is wrong in it."""
        if named in STYLES.names:
            return cls._from_table(named, STYLES.table(named))
        path = Path(named)
        if path.suffix != ".toml":
            STYLES.text(named)
        with file_named("the style file", path):
            return cls._from_table(path.stem, read_toml(path))

    @classmethod
    def _from_table(cls, name: str, given: Mapping[str, Any]) -> Style:
        for entry, value in given.items():
            if not isinstance(value, _ENTRIES.get(entry, ())):
                raise SettingsError(
                    f"it has an entry {entry} that cannot be read; it may have pattern and language, which are "
                    "strings, and a table [kinds]"
                )
        if not given.get("pattern"):
            raise SettingsError("it has no pattern, the regular expression of a placeholder")
        language, pattern = given.get("language", ""), LimitedRegex(given["pattern"], "", "its pattern")
        pattern.try_out()
        if given.get("kinds") and "kind" not in pattern.groupindex:
            raise SettingsError("it has [kinds], but its pattern has no group (?P<kind>...) that says which")
        kinds = []
        for number, (fits, write) in enumerate(given.get("kinds", {}).items(), 1):
            where = f"kind {number} of [kinds]"
            ways = (write,) if isinstance(write, str) else tuple(write) if isinstance(write, list) else ()
            slots = [placeholders(way) if isinstance(way, str) else () for way in ways]
            unknown = [
                slot.kind for of_way in slots for slot in of_way if slot.kind not in known_kinds(language or "en")
            ]
            if unknown or not slots or not all(slots):
                what = f"names {unknown[0]}, for which" if unknown else "has nothing such as [[DOCTOR:last]], so that"
                raise SettingsError(f"{where} {what} there is no text")
            kinds.append((LimitedRegex(rf"\A(?:{fits})\Z", "i", where), ways))
        return cls(name, language, pattern, tuple(kinds))

    @property
    def by_context(self) -> bool:
        """Whether a placeholder does not say what was there."""
        return "kind" not in self.pattern.groupindex

    def find(self, text: str, language: str) -> list[Placed]:
        """The placeholders of a text, unknown ones too; if kinds are labels, only labels of a set are placeholders."""
        found = []
        for _, match in self.pattern.find_all([text]):
            group = match.groupdict()
            kind, which = (" ".join((group.get(name) or "").split()) for name in ("kind", "which"))
            placed = Placed(match.start(), match.end(), kind, which)
            if self.kinds:
                found.append(self._of_kind(placed))
            elif self.by_context or kind in slots_of_labels(language):
                found.append(placed if self.by_context else replace(placed, write=(kind,)))
        return [placed for placed in found if placed.start < placed.end]

    def _of_kind(self, placed: Placed) -> Placed:
        for fits, write in self.kinds:
            if match := fits.search(placed.kind) or fits.search(f"{placed.kind} {placed.which}"):
                on = {
                    name: int(match[name])
                    for name in _DATED
                    if name in fits.groupindex and _NUMBER.fullmatch(match[name] or "")
                }
                return replace(placed, write=write, on=on)
        return placed


@cache
def known_kinds(language: str) -> frozenset[str]:
    """The kinds of person, place, number or day for which a language has text."""
    world = table(f"{language}/world")
    return frozenset(
        {*PEOPLE, "KIN", "DATE", "AGE", "EMAIL", "ADDRESS", "USERNAME", *world["shapes"], *world["things"]}
    )


def label_of(way: str, language: str) -> str:
    """The label of what a template, or label, writes first, in the label set of the language."""
    if way in slots_of_labels(language):
        return way
    labels: Mapping[str, str] = table(f"{language}/world")["labels"]
    kind = placeholders(way)[0].kind
    return labels.get(kind, labels.get("PATIENT", ""))


@cache
def slots_of_labels(language: str) -> Mapping[str, tuple[Placeholder, ...]]:
    """Label of the language's label set -> what has it; the kind of that name comes first."""
    found: dict[str, list[Placeholder]] = {}
    for kind, label in table(f"{language}/world")["labels"].items():
        if kind in PARTS or kind in known_kinds(language):
            found.setdefault(label, []).append(PARTS.get(kind) or Placeholder(kind))
    return {label: tuple(slots) for label, slots in found.items()}
