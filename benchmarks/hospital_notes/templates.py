"""Notes made from the templates of a language, with exact spans.

    = discharge F 20-45                      the kind of note; perhaps the patient's sex and ages
    {patient.formal} MRN {mrn}               an identifier: who or what, perhaps in a form
    seen {date-3.short} by Dr. {doctor2.LAST}    days from that of the note; a form in capitals writes capitals
    [no|mild] {drug} {5-20} mg, {He} ate     alternatives, words, numbers in a range, words that fit the sex

A name with a label in the TOML of the language is an identifier; a name without one is a plain word. The same name is
the same person, place or number within a note; `{doctor}` and `{doctor2}` are two people. A form of a date may have
its own label: `{dob.pnr}` is the patient's Swedish personal number. `\f` is a form feed.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from stdnum import luhn

from benchmarks.hospital_notes.people import UNDIVIDED, Person, draw_person, names_of
from phistack.features.documents import Span
from phistack.features.errors import SettingsError, no_such

FOLDER = Path(__file__).parent
SETS = {"second": FOLDER, "third": FOLDER / "third"}
"""Set -> the folder of its templates, values and names; in each language by one author."""
_HEAD = re.compile(r"^= (?P<kind>[a-z]+)(?: (?P<sex>[FM]))?(?: (?P<low>\d+)-(?P<high>\d+))?\n", re.M)
_ALTERNATIVES = re.compile(r"\[([^\[\]\n]*\|[^\[\]\n]*)\]")
_SLOT = re.compile(
    r"\{(?:(?P<least>\d+(?:\.\d+)?)-(?P<most>\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z]+\d?)(?P<days>[+-]\d+)?(?:\.(?P<form>\w+))?)\}"
)
_DAYS = date(2009, 1, 5), 5_800
"""The first possible day of a note, and how many follow."""


@dataclass(frozen=True, slots=True)
class Template:
    """A note with slots; `sex` is empty if either fits."""

    kind: str
    text: str = field(repr=False)
    sex: str
    ages: tuple[int, int]

    @property
    def slots(self) -> set[str]:
        """Names of all slots, without days and forms."""
        return {slot["name"] for slot in _SLOT.finditer(self.text) if slot["name"]}


@dataclass(frozen=True, slots=True)
class Mention:
    """An identifier in a note: which slot it filled, and the origin of the name, empty if it is no name."""

    span: Span
    slot: str
    origin: str


@cache
def languages(hand: str = "second") -> tuple[str, ...]:
    """The languages that have templates in a set."""
    return tuple(sorted(path.stem for path in SETS[hand].glob("*.txt")))


@cache
def world(language: str, hand: str = "second") -> dict[str, Any]:
    """Labels, values, dates, words and names of a language in a set."""
    table: dict[str, Any] = tomllib.loads((SETS[hand] / f"{language}.toml").read_text(encoding="utf-8"))
    return table | {"names": names_of(SETS[hand])}


@cache
def templates(language: str, hand: str = "second") -> tuple[Template, ...]:
    """All templates of a language in a set, in the order of its file; :raises SettingsError: if it has none."""
    if language not in languages(hand):
        raise SettingsError(no_such("language with hospital notes", language, languages(hand)))
    _, *parts = re.split(r"(?m)^(?== )", (SETS[hand] / f"{language}.txt").read_text(encoding="utf-8"))
    return tuple(map(_template, parts))


def _template(part: str) -> Template:
    head = _HEAD.match(part)
    if head is None:
        raise SettingsError(
            f"a template begins with a line such as '= discharge F 20-45', not {part.splitlines()[0]!r}"
        )
    ages = int(head["low"] or 19), int(head["high"] or 97)
    return Template(head["kind"], part[head.end() :].strip("\n").replace(r"\f", "\f"), head["sex"] or "", ages)


def filled(template: Template, language: str, rng: random.Random, hand: str = "second") -> tuple[str, list[Mention]]:
    """A note from a template of a set; its mentions are in the order of the text."""
    writer = _Writer(template, world(language, hand), rng)
    pieces: list[str] = []
    mentions: list[Mention] = []
    at = 0
    for text, label, slot, origin in writer.pieces():
        if label:
            mentions.append(Mention(Span(at, at + len(text), label), slot, origin))
        pieces.append(text)
        at += len(text)
    return "".join(pieces), mentions


_Piece = tuple[str, Any, str, str]
"""Text, label, slot and origin; the last three are empty for plain text."""


class _Writer:
    """Fills one note and remembers what each slot got."""

    def __init__(self, template: Template, world: Mapping[str, Any], rng: random.Random) -> None:
        self.text, self.world, self.rng = template.text, world, rng
        self.labels: Mapping[str, str | Sequence[str]] = world["labels"]
        self.day = _DAYS[0] + timedelta(days=rng.randrange(_DAYS[1]))
        self.age = rng.randint(*template.ages)
        self.born = date(self.day.year - self.age, 1, 1) + timedelta(days=rng.randrange((self.day.month - 1) * 30 + 1))
        self.usual = rng.choice(world["dates"]["usual"])
        self.values: dict[str, str] = {}
        self.people = {"patient": draw_person(world["names"], world["origins"], rng, sex=template.sex)}

    def pieces(self) -> Iterator[_Piece]:
        text = _ALTERNATIVES.sub(lambda found: self.rng.choice(found[1].split("|")), self.text)
        at = 0
        for slot in _SLOT.finditer(text):
            yield text[at : slot.start()], "", "", ""
            yield from self._slot(slot)
            at = slot.end()
        yield text[at:], "", "", ""

    def _slot(self, slot: re.Match[str]) -> Iterator[_Piece]:
        name, form = slot["name"], slot["form"] or ""
        in_case: Callable[[str], str] = str.upper if form.isupper() else str
        form = "" if form == "UPPER" else form.lower()
        kind = (name or "").rstrip("0123456789")
        if name is None:
            yield self._number(slot["least"], slot["most"]), "", "", ""
        elif kind in self.world["people"]:
            yield from self._name(self._person(name), kind, form, in_case)
        elif kind in ("date", "dob"):
            day = self.born if kind == "dob" else self.day + timedelta(days=int(slot["days"] or 0))
            label = self.labels.get(form, self.labels["date"])
            yield in_case(self._date(day, form)), label, form if form in self.labels else kind, ""
        elif kind == "age":
            yield str(self.age), self.labels["age"], "age", ""
        elif kind.lower() in self.world["words"]:
            word = self.world["words"][kind.lower()][self.people["patient"].sex == "F"]
            yield word.capitalize() if kind[0].isupper() else word, "", "", ""
        else:
            label = self.labels.get(kind, "")
            yield in_case(self._value(name, kind)), label, kind if label else "", ""

    def _name(self, person: Person, kind: str, form: str, in_case: Callable[[str], str]) -> Iterator[_Piece]:
        """A name as one piece, or in pieces if first and last names have their own labels."""
        pieces = person.written(form, self.world["domains"])
        slot = form if form in ("user", "email") else kind
        label = self.labels[slot]
        if isinstance(label, str) or form in UNDIVIDED:
            whole = "".join(text for text, _ in pieces)
            yield in_case(whole), label if isinstance(label, str) else label[1], slot, person.origin
            return
        for text, part in pieces:
            yield in_case(text), label[part != "first"] if part else "", slot, person.origin

    def _person(self, name: str) -> Person:
        if name not in self.people:
            taken = {person.last for person in self.people.values()}
            family = self.people["patient"] if name == "relative" and self.rng.random() < 0.6 else None
            sex = {"F": "M", "M": "F"}[self.people["patient"].sex] if name == "relative" else ""
            origins = self.world["names"], self.world["origins"]
            self.people[name] = draw_person(*origins, self.rng, sex=sex, taken=taken, family=family)
        return self.people[name]

    def _number(self, least: str, most: str) -> str:
        decimals = len(least.partition(".")[2])
        return f"{self.rng.uniform(float(least), float(most)):.{decimals}f}"

    def _date(self, day: date, form: str) -> str:
        dates = self.world["dates"]
        pattern = self.rng.choice(dates[form]) if form else self.usual
        for code, names in (("%B", "months"), ("%b", "short_months")):
            pattern = pattern.replace(code, dates[names][day.month - 1])
        written = day.strftime(pattern)
        return written.replace("####", self._serial(day)) if "####" in written else written

    def _serial(self, day: date) -> str:
        """What follows the day in the patient's personal number: two digits, one for the sex, and a check digit."""
        if "serial" not in self.values:
            of_sex = self.rng.choice("02468" if self.people["patient"].sex == "F" else "13579")
            self.values["serial"] = f"{self.rng.randrange(100):02}{of_sex}"
        return self.values["serial"] + luhn.calc_check_digit(f"{day:%y%m%d}{self.values['serial']}")

    def _value(self, name: str, kind: str) -> str:
        if name not in self.values:
            others = [value for other, value in self.values.items() if other.rstrip("0123456789") == kind]
            free = [value for value in self.world["values"][kind] if value not in others]
            self.values[name] = re.sub("[#%?]", self._character, self.rng.choice(free))
        return self.values[name]

    def _character(self, place: re.Match[str]) -> str:
        return self.rng.choice({"#": "0123456789", "%": "123456789", "?": "ABCDEFGHJKLMNPRSTVWXYZ"}[place[0]])
