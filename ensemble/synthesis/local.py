"""Dutch and Swedish notes: patients, and the words of what templates name, by the tables of a language.

    patient = invent_local_patient(110, seed=7, language="nl")
    write_local_note(patient, "report", patient.first_visit, rng)      (text, spans)
    scene.pieces(Placeholder("PATIENT", "", "full"))                   [("Karin", "First_Name"), (" ", ""),
                                                                        ("Berg", "Last_Name")]

`templates/LANGUAGE/world.toml` has the label of each kind of PHI (a kind without one is no PHI in that label set), how
dates, telephone numbers and names of institutions are written, and the words. Placeholders name the kind of a person or
place and not a label, so that languages with other label sets share the notation:

    [[PATIENT]] [[RELATIVE]] [[DOCTOR]] [[COLLEAGUE]] [[NURSE]]     forms full, formal, first, last, initialled, letters
    [[DATE.recent]]     roles note, soon, recent, past, next, birth; forms full, part, weekday, month, year
    [[AGE]] [[AGE.relative]] [[PHONE.clinic]] [[HOSPITAL.other]] [[HOME]] [[WARD]]
    [[CITY.home]] [[STREET.home]] [[ADDRESS.home]] [[COUNTRY]] [[COMPANY]] [[PROFESSION]]
    [[EMAIL]] [[URL]] [[SSN]] [[ID]] [[OTHER]]

Names, streets and towns come from Faker's locale of the language; institutions are made of words.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from ensemble.synthesis.builder import TextBuilder
from ensemble.synthesis.grammar import Placeholder
from ensemble.synthesis.identifiers import random_code
from ensemble.synthesis.notes import Telling, compose, style
from ensemble.synthesis.templates import table, templates
from features.documents import Span
from features.errors import SettingsError
from features.letters import fold

if TYPE_CHECKING:
    from faker import Faker

__all__ = ["LocalPatient", "LocalScene", "invent_local_patient", "write_local_note"]

_DAYS = {"note": (0, 0), "soon": (0, 3), "recent": (-20, -1), "past": (-3500, -30), "next": (3, 150)}
"""Role of a date -> between how many days from the note it lies."""

_FORMS = {
    "full": ("first", " ", "last"),
    "formal": ("last", ", ", "first"),
    "first": ("first",),
    "last": ("last",),
    "initialled": ("initial", " ", "last"),
    "letters": ("letters",),
}
"""Form of a name -> its parts, and what stands between them."""

_LISTS = {
    **{"WARD": "wards", "COUNTRY": "countries", "COMPANY": "companies", "OTHER": "others"},
    **{"HOSPITAL": "hospitals", "HOME": "homes"},
}
"""Placeholder -> where its names are in the tables of the language."""

_PERSONS = {"PATIENT": 1, "RELATIVE": 1, "DOCTOR": 1, "COLLEAGUE": 3, "NURSE": 2}
"""Placeholder -> of how many persons it means one."""


@dataclass(frozen=True, slots=True)
class LocalPatient:
    """What does not change between the notes of one patient.

    :param sex: `F` or `M`.
    :param people: placeholder -> first and last name of each person that it may mean.
    :param relation: of the relative, in words.
    :param facts: placeholder and role -> what stays the same, such as an address.
    """

    number: int
    language: str
    sex: str
    people: Mapping[str, tuple[tuple[str, str], ...]] = field(repr=False)
    relation: str
    born: date = field(repr=False)
    first_visit: date
    facts: Mapping[str, str] = field(repr=False)


def invent_local_patient(number: int, *, seed: int, language: str) -> LocalPatient:
    """The patient of a number; the same seed, number and language give the same patient."""
    rng = random.Random(f"{seed}/patient/{language}/{number}")
    faker, world = _faker(language), table(f"{language}/world")
    faker.seed_instance(rng.getrandbits(32))
    sex, sex_of_relative = rng.choice("FM"), rng.choice("FM")
    people = {
        kind: tuple(
            _person({"PATIENT": sex, "RELATIVE": sex_of_relative}.get(kind) or rng.choice("FM"), faker)
            for _ in range(n)
        )
        for kind, n in _PERSONS.items()
    }
    first_visit = date(rng.randint(2005, 2024), 1, 1) + timedelta(days=rng.randrange(365))
    born = first_visit - timedelta(days=int(365.25 * min(97, max(19, rng.gauss(68, 17)))) + rng.randrange(365))
    relation = rng.choice(world["relations"][sex_of_relative])
    return LocalPatient(number, language, sex, people, relation, born, first_visit, _facts(faker, world, rng))


def _person(sex: str, faker: Faker) -> tuple[str, str]:
    first = faker.first_name_female() if sex == "F" else faker.first_name_male()
    # Dutch lists have some particles after the name: "Hoog, de".
    return first, " ".join(reversed(faker.last_name().split(", ")))


@cache
def _faker(language: str) -> Faker:
    from faker import Faker

    return Faker(table(f"{language}/world")["locale"])


def _facts(faker: Faker, world: Mapping[str, Any], rng: random.Random) -> dict[str, str]:
    street, city = f"{faker.street_name()} {rng.randint(1, 240)}", rng.choice((faker.city(), *world["towns"]))
    made = {
        "STREET.home": street,
        "CITY.home": city,
        "ADDRESS.home": world["address"].format(
            street=street, city=city, postcode=random_code(world["postcodes"], rng)
        ),
        "HOSPITAL.own": _institution("hospitals", world, rng),
        "HOME.own": _institution("homes", world, rng),
    }
    if "codes" in world:
        made |= {"SSN": faker.ssn(), "ID.record": random_code(world["codes"], rng)}
    if "professions" in world:
        made["PROFESSION"] = rng.choice(world["professions"])
    return made | {f"PHONE.{role}": random_code(world["phones"], rng) for role in ("home", "clinic", "relative")}


def _institution(kind: str, world: Mapping[str, Any], rng: random.Random) -> str:
    pattern: str = rng.choice(world[kind])
    return pattern.format(founder=rng.choice(world["founders"]))


@dataclass(frozen=True, slots=True)
class LocalScene:
    """All that the PHI of one note depends on."""

    patient: LocalPatient
    note_date: date
    rng: random.Random = field(repr=False)
    date_format: str

    def pieces(self, placeholder: Placeholder) -> list[tuple[str, str]]:
        """The text of a placeholder in pieces with labels, those of one label together.

        :raises SettingsError: for a placeholder that has no words.
        """
        if placeholder.label in _PERSONS:
            return self._name(placeholder)
        if placeholder.label == "DATE":
            return [self._date(placeholder)]
        return [(self._thing(placeholder), self._label(placeholder.label))]

    @property
    def world(self) -> Mapping[str, Any]:
        """The tables of the language."""
        return table(f"{self.patient.language}/world")

    def _label(self, kind: str) -> str:
        return str(self.world["labels"].get(kind, ""))

    def _name(self, slot: Placeholder) -> list[tuple[str, str]]:
        first, last = self.rng.choice(self.patient.people[slot.label])
        said = {"first": first, "last": last, "initial": f"{first[0]}.", "letters": first[0] + last[0].upper()}
        label = {part: self._label(part) for part in said}
        parts = _FORMS[slot.form or self.rng.choice(("full", "full", "last"))]
        if len({label[part] for part in parts if part in said}) == 1:
            return [("".join(said.get(part, part) for part in parts), label[parts[0]])]
        return [(said.get(part, part), label.get(part, "")) for part in parts]

    def _date(self, slot: Placeholder) -> tuple[str, str]:
        formats = self.world["dates"]
        if slot.role == "birth":
            day = self.patient.born
        else:
            first, last = _DAYS[slot.role or "past"]
            day = self.note_date + timedelta(days=self.rng.randint(first, last))
        form = slot.form or self.rng.choice(("full", "full", "full", "part"))
        pattern = self.rng.choice(formats[form])
        if form == "full" and self.rng.random() < 0.6:
            pattern = self.date_format
        return pattern.format(**_fields(day, formats)), self._label("date" if form == "full" else "date part")

    def _thing(self, slot: Placeholder) -> str:
        known = self.patient.facts.get(f"{slot.label}.{slot.role}" if slot.role else slot.label)
        if known is not None:
            return known
        world, faker = self.world, _faker(self.patient.language)
        match slot.label:
            case "AGE":
                return str(self.rng.randint(25, 96) if slot.role else self._age())
            case "PHONE":
                return random_code(world["phones"], self.rng)
            case "ID":
                return random_code(world["codes"], self.rng)
            case "HOSPITAL" | "HOME" if slot.role:
                return _institution(_LISTS[slot.label], world, self.rng)
            case "HOSPITAL" | "HOME":
                return self.patient.facts[f"{slot.label}.own"]
            case "CITY" | "STREET":
                faker.seed_instance(self.rng.getrandbits(32))
                return (
                    str(faker.city()) if slot.label == "CITY" else f"{faker.street_name()} {self.rng.randint(1, 240)}"
                )
            case "EMAIL":
                first, last = self.rng.choice(self.patient.people["DOCTOR"])
                return f"{fold(first)[0]}.{''.join(filter(str.isalpha, fold(last)))}@{self._domain()}"
            case "URL":
                return f"www.{self._domain()}"
            case "WARD" | "COUNTRY" | "COMPANY" | "OTHER":
                return str(self.rng.choice(world[_LISTS[slot.label]]))
            case _:
                raise SettingsError(f"a template names {slot.label}, for which there is no text")

    def _domain(self) -> str:
        return "".join(filter(str.isalnum, fold(self.patient.facts["HOME.own"]))) + ".example.org"

    def _age(self) -> int:
        born, now = self.patient.born, self.note_date
        return now.year - born.year - ((now.month, now.day) < (born.month, born.day))


def _fields(day: date, names: Mapping[str, Any]) -> dict[str, object]:
    return {
        "y": day.year, "yy": f"{day.year % 100:02d}", "m": day.month, "mm": f"{day.month:02d}", "d": day.day,
        "dd": f"{day.day:02d}", "month_name": names["months"][day.month - 1],
        "mon": names["short_months"][day.month - 1], "weekday_name": names["weekdays"][day.weekday()],
    }  # fmt: skip


def write_local_note(
    patient: LocalPatient, note_type: str, note_date: date, rng: random.Random
) -> tuple[str, tuple[Span, ...]]:
    """A note of one of the types of the language; :returns: the text and its spans, sorted and without overlap."""
    language = patient.language
    world = table(f"{language}/world")
    scene = LocalScene(patient, note_date, rng, rng.choice(world["dates"]["full"]))
    labels = {world["labels"][part] for part in ("first", "last")}
    recipe = world["note_types"][note_type]
    builder = TextBuilder(style(recipe["informal"], rng), rng, labels, labels)
    words = {**world["words"], **world["by_sex"][patient.sex], "relation": (patient.relation,)}
    return compose(recipe, Telling(builder, scene, words, lambda part: templates(part, note_type, language)))
