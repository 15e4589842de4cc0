"""Persons, and the patient whose facts all records of one patient share.

    Person("Grace", "M.", "Young").written("formal", rng)    "Young, Grace M."
    invent_patient(110, seed=7)                              the same patient on every machine

The names come from Faker, and now and then from tables of names that are words or have unusual shapes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING

from phistack.ensemble.synthesis.identifiers import SHAPES, random_code
from phistack.ensemble.synthesis.places import Address, Hospital, invent_address, invent_hospital
from phistack.ensemble.synthesis.templates import table

if TYPE_CHECKING:
    from faker import Faker

_WORDLIKE, _COMPOUND = 0.22, 0.06
_CODES = ("MEDICALRECORD", "HEALTHPLAN", "DEVICE", "FAX", "social")
_PHONES = ("home", "work", "clinic", "cell", "relative")
_RELATIVES = {
    "F": ("wife", "daughter", "sister", "mother", "niece"),
    "M": ("husband", "son", "brother", "father", "nephew"),
}


@dataclass(frozen=True, slots=True)
class Person:
    """A name in three parts; `middle` is an initial with its full stop, or empty."""

    first: str = field(repr=False)
    middle: str = field(repr=False)
    last: str = field(repr=False)

    def written(self, form: str, rng: random.Random) -> str:
        """The name in one form.

        :param form: `full`, `formal`, `upper`, `initialled`, `letters`, `first`, `lastname`, `last` (now and then
            with the first name), or empty for any of the long ones.
        :param rng: decides on the middle initial and other variants.
        """
        middle = f"{self.middle} " if self.middle and rng.random() < 0.5 else ""
        forms = {
            "full": f"{self.first} {middle}{self.last}",
            "formal": rng.choice(
                (
                    f"{self.last}, {self.first} {middle}".strip(),
                    f"{self.last.upper()}, {self.first.upper()} {middle}".strip(),
                    f"{self.last.upper()},{self.first.upper()}",
                )
            ),
            "upper": f"{self.first} {middle}{self.last}".upper(),
            "initialled": f"{self.first[0]}. {middle}{self.last}",
            "letters": self.first[0] + self.middle[:1] + self.last[0].upper(),
            "first": self.first,
            "lastname": self.last,
            "last": self.last if rng.random() < 0.88 else f"{self.first} {self.last}",
        }
        return forms[form or rng.choice(("full", "full", "initialled", "formal"))]


@dataclass(frozen=True, slots=True)
class Patient:
    """What does not change between the records of one patient.

    :param number: the patient part of the record ids.
    :param sex: `F` or `M`.
    :param doctors: role (`attending`, `pcp`, `other`, `nurse`) -> the persons who may fill it.
    :param hospitals: role (`own`, `other`, `nursing`) -> the places that may fill it.
    :param facts: further strings that stay the same: record number, telephone numbers, profession and so on.
    :param first_visit: the date of the first record.
    """

    number: int
    sex: str
    name: Person
    relation: str
    relative: Person
    born: date = field(repr=False)
    first_visit: date
    home: Address
    doctors: Mapping[str, tuple[Person, ...]] = field(repr=False)
    hospitals: Mapping[str, tuple[Hospital, ...]] = field(repr=False)
    facts: Mapping[str, str] = field(repr=False)


def invent_patient(number: int, *, seed: int) -> Patient:
    """The patient of a number; the same seed and number give the same patient."""
    rng = random.Random(f"{seed}/patient/{number}")
    faker = faker_of(rng)
    sex, relative_sex = rng.choice("FM"), rng.choice("FM")
    name = _person(sex, faker, rng)
    relative = _person(relative_sex, faker, rng)
    first_year = rng.randint(2050, 2110) if rng.random() < 0.6 else rng.randint(1996, 2024)
    first_visit = date(first_year, 1, 1) + timedelta(days=rng.randrange(365))
    return Patient(
        number=number,
        sex=sex,
        name=name,
        relation=rng.choice(_RELATIVES[relative_sex]),
        relative=Person(relative.first, "", rng.choice((name.last, name.last, relative.last))),
        born=first_visit - timedelta(days=int(365.25 * min(96, max(19, rng.gauss(60, 17)))) + rng.randrange(365)),
        first_visit=first_visit,
        home=invent_address(faker, rng),
        doctors=_doctors(faker, rng),
        hospitals=_hospitals(rng),
        facts=_facts(faker, rng),
    )


def faker_of(rng: random.Random) -> Faker:
    """A generator of American names and addresses, seeded by the next number of `rng`."""
    faker = _faker()
    faker.seed_instance(rng.getrandbits(32))
    return faker


@cache
def _faker() -> Faker:
    from faker import Faker

    return Faker("en_US")


def _person(sex: str, faker: Faker, rng: random.Random) -> Person:
    names = table("names")
    wordlike = names["female" if sex == "F" else "male"]
    usual = faker.first_name_female() if sex == "F" else faker.first_name_male()
    first = rng.choice(wordlike) if rng.random() < _WORDLIKE else usual
    dice, last = rng.random(), faker.last_name()
    if dice < _WORDLIKE + _COMPOUND:
        last = rng.choice(names["last"] if dice < _WORDLIKE else names["compound"])
    middle = f"{rng.choice('ABCDEFGHJKLMNPRSTVW')}." if rng.random() < 0.6 else ""
    return Person(first, middle, last)


def _doctors(faker: Faker, rng: random.Random) -> dict[str, tuple[Person, ...]]:
    numbers = {"attending": 1, "pcp": 1, "other": 3, "nurse": 2}
    return {
        role: tuple(_person(rng.choice("FM"), faker, rng) for _ in range(number)) for role, number in numbers.items()
    }


def _hospitals(rng: random.Random) -> dict[str, tuple[Hospital, ...]]:
    places = table("places")
    kinds, nursing = places["hospital_kinds"], places["nursing_kinds"]
    return {
        "own": (invent_hospital(kinds, rng),),
        "other": (invent_hospital(kinds, rng), invent_hospital(kinds, rng)),
        "nursing": (invent_hospital(nursing, rng),),
    }


def _facts(faker: Faker, rng: random.Random) -> dict[str, str]:
    places = table("places")
    company = rng.choice(places["employers"]) if rng.random() < 0.6 else faker.company()
    codes = {kind: random_code(SHAPES[kind], rng) for kind in _CODES}
    phones = {f"phone {role}": random_code(SHAPES["PHONE"], rng) for role in _PHONES}
    users = {f"username {turn}": random_code(SHAPES["username"], rng) for turn in range(2)}
    work = {"profession": rng.choice(places["professions"]), "employer": company}
    return {**codes, **phones, **users, **work, "pager": random_code(SHAPES["pager"], rng)}
