"""Invented patients, and the facts that stay the same in all notes of a patient.

    patient = invent_patient(110, seed=7, language="nl")    the same on every machine
    patient.people["DOCTOR"]                                (Name(...),)
    patient.fact("MEDICALRECORD"), patient.fact("PHONE", "home"), patient.fact("CITY", "home")

All facts come from the tables of the language (`templates/LANGUAGE/world.toml`): [shapes] of numbers, [things] made of
words, [inside] the words, [faker] what Faker gives.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from phistack.ensemble.synthesis.grammar import expand, write_date
from phistack.ensemble.synthesis.names import Name, faker_of, invent_name, plain
from phistack.ensemble.synthesis.templates import lists_of, table
from phistack.features.errors import SettingsError
from phistack.features.letters import fold

PEOPLE = {"PATIENT": 1, "RELATIVE": 1, "DOCTOR": 1, "PCP": 1, "COLLEAGUE": 3, "NURSE": 2}
"""Placeholder of a person -> the number of persons that it chooses from."""

# In the shapes of numbers `#` is a digit, `%` one above 1, `@` a capital and `?` a small letter.
_CHARACTERS = {"#": string.digits, "%": "23456789", "@": string.ascii_uppercase, "?": string.ascii_lowercase}
_GROUPS = ("##", "###", "####", "#####", "@", "@@", "@@@", "@#", "@##", "#@#", "@@##", "##@")
_FREE, _OF_A_NAME = 0.3, 0.4
"""How often a number has a shape that is in no list, and a user name is made from a name."""

_OWN = frozenset(("HOSPITAL", "HOME", "SSN", "HEALTHPLAN", "MEDICALRECORD", "PROFESSION"))
"""Kinds that a patient has one of, besides the kinds `own` of the language."""

_MAILBOXES = ("{f}.{last}", "{f}.{last}", "{first}.{last}", "{last}{f}", "{last}")
_YEARS = ((2005, 2024),)


@dataclass(frozen=True, slots=True)
class Patient:
    """The facts that stay the same in all notes of one patient.

    :param key: seeds what stays the same, such as an address.
    :param sex: `F` or `M`.
    :param people: placeholder -> the names of the persons that it may mean.
    :param relation: of the relative, in words.
    :param lexicon: the source of all names and words.
    """

    key: str
    language: str
    lexicon: str
    sex: str
    people: Mapping[str, tuple[Name, ...]] = field(repr=False)
    relation: str
    born: date = field(repr=False)
    first_visit: date

    @property
    def world(self) -> Mapping[str, Any]:
        """The tables of the language."""
        return table(f"{self.language}/world")

    @property
    def words(self) -> Mapping[str, Sequence[str]]:
        """Words that fit the patient."""
        return {"sexletter": (self.sex,), **self.world["by_sex"][self.sex], "relation": (self.relation,)}

    def fact(self, kind: str, role: str = "own") -> str:
        """A number, place or other thing of the patient, always the same; :raises SettingsError: as `invented`."""
        return self.invented(kind, random.Random(f"{self.key}/{kind}.{role}"))

    def has_one(self, kind: str) -> bool:
        """Whether the patient has one thing of this kind."""
        return kind in _OWN or kind in self.world.get("own", ())

    def invented(self, kind: str, rng: random.Random) -> str:
        """A number, place or other thing of this kind.

        :raises SettingsError: if the language has no such kind.
        """
        world = self.world
        kind, _, whose = kind.partition(".")
        if kind == "EMAIL":
            return self._email(whose.upper() or rng.choice(("DOCTOR", "DOCTOR", "NURSE", "PATIENT")), rng)
        if kind == "USERNAME" and rng.random() < _OF_A_NAME:
            name = rng.choice(self.people[rng.choice(("DOCTOR", "NURSE", "COLLEAGUE"))]).written("user", rng)
            return name + rng.choice(("", "", str(rng.randint(1, 99))))
        if kind in world["shapes"]:
            code = _code(world["shapes"][kind], rng, free=kind in world.get("free", ()))
            return write_date(self.born, code, world["dates"], rng)
        if kind in world["things"]:
            patterns = world["things"][kind]
            made = self._made(patterns.split(", ") if isinstance(patterns, str) else patterns, rng)
            return re.sub(r"[ ']", "", fold(made)) if kind == "URL" else made
        if kind.lower() in self.words:
            return str(rng.choice(self.words[kind.lower()]))
        raise SettingsError(f"a template names {kind}, for which there is no text")

    def _made(self, patterns: Sequence[str], rng: random.Random) -> str:
        world, faker = self.world, faker_of(self.world["locale"], rng)
        words = {name: (str(getattr(faker, method)()),) for name, method in world["faker"].items()}
        words |= {
            "domain": (self._domain(),),
            "family": (invent_name(self.language, "M", rng, self.lexicon).surnames[0],),
        }
        inside = lists_of(f"{self.language}/world", "inside", self.lexicon)
        return "".join(map(str, expand(rng.choice(patterns), {**words, **inside}, rng)))

    def _email(self, whose: str, rng: random.Random) -> str:
        person = rng.choice(self.people[whose])
        first, last = plain(person.first), plain(person.surnames[0])
        box = rng.choice((*_MAILBOXES, *self.world.get("mailboxes", ()))).format(first=first, last=last, f=first[0])
        return f"{''.join(map(str, expand(box, {}, rng)))}@{self._domain()}"

    def _domain(self) -> str:
        """A domain of the patterns of the language; one that has no dot is below `example.org`."""
        rng = random.Random(f"{self.key}/domain")
        inside = lists_of(f"{self.language}/world", "inside", self.lexicon)
        made = fold("".join(map(str, expand(rng.choice(self.world["domains"]), inside, rng))))
        name = "".join(sign for sign in made if sign.isalnum() or sign in ".-")
        return name if "." in name else f"{name}.example.org"


def invent_patient(number: int, *, seed: int, language: str = "en", lexicon: str = "whole") -> Patient:
    """The patient of a number; the same seed, number, language and lexicon give the same patient."""
    key = f"{seed}/patient/{language}/{lexicon}/{number}"
    rng, world = random.Random(key), table(f"{language}/world")
    sex, sex_of_relative = rng.choice("FM"), rng.choice("FM")
    known_sex = {"PATIENT": sex, "RELATIVE": sex_of_relative}
    people = {
        kind: tuple(invent_name(language, known_sex.get(kind) or rng.choice("FM"), rng, lexicon) for _ in range(n))
        for kind, n in PEOPLE.items()
    }
    if rng.random() < 0.6:
        surnames = people["PATIENT"][0].surnames
        people["RELATIVE"] = tuple(replace(name, surnames=surnames) for name in people["RELATIVE"])
    first_visit = date(rng.randint(*rng.choice(world.get("years", _YEARS))), 1, 1) + timedelta(rng.randrange(365))
    is_child = rng.random() < world.get("children", 0)
    years = rng.uniform(0, 18) if is_child else min(99, max(19, rng.gauss(63, 18)))
    born = first_visit - timedelta(int(365.25 * years) + rng.randrange(365))
    return Patient(
        key, language, lexicon, sex, people, rng.choice(world["relations"][sex_of_relative]), born, first_visit
    )


def _code(shapes: Sequence[str], rng: random.Random, *, free: bool) -> str:
    """A random code in a shape, or sometimes in a new one if `free`, as each institution has its own shapes."""
    if free and rng.random() < _FREE:
        groups = (*rng.choices(_GROUPS, k=rng.randint(1, 3)), rng.choice(("###", "####", "#####")))
        return _filled(rng.choice(("-", "-", "", "", "/", ".", " ")).join(groups), rng)
    return _filled(rng.choice(shapes), rng)


def _filled(shape: str, rng: random.Random) -> str:
    return "".join(rng.choice(_CHARACTERS.get(sign, sign)) for sign in shape)
