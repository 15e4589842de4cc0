"""Names of people of many origins, and the forms in which notes write them.

    name = invent_name("de", "F", rng)       LocalName(first="Ayşe", surnames=("Yıldız",), origin="tr_TR")
    name.parts("formal", rng)                [("last", "Yıldız"), ("", ", "), ("first", "Ayşe")]

The table `[origins]` of `templates/LANGUAGE/world.toml` says how frequent which origin is. An origin is `own` (the lists
`[names]` of the language), a locale of Faker, or one of `templates/origins.toml`, which has names of languages in other
scripts as they are written in Europe.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from ensemble.synthesis.grammar import expand
from ensemble.synthesis.templates import table

if TYPE_CHECKING:
    from faker import Faker

__all__ = ["LocalName", "faker_of_locale", "invent_name"]

_FORMS: Mapping[str, Sequence[str]] = {
    "full": ("first", " ", "last"),
    "formal": ("last", ", ", "first"),
    "upper": ("capitals", " ", "first"),
    "first": ("first",),
    "last": ("last",),
    "initialled": ("initial", " ", "last"),
    "letters": ("letters",),
    "genitive": ("first genitive",),
}
"""Form of a name -> its parts, and what stands between them."""


@dataclass(frozen=True, slots=True)
class LocalName:
    """A name.

    :param surnames: one, or as many as the language has.
    :param origin: the key of `[origins]` from which it comes.
    """

    first: str = field(repr=False)
    surnames: tuple[str, ...] = field(repr=False)
    origin: str

    def parts(self, form: str, rng: random.Random) -> list[tuple[str, str]]:
        """The name in one form, as parts `first`, `last` or `letters` with their text; a part without name stands between.

        :param form: `full`, `formal`, `upper`, `first`, `last`, `initialled`, `letters`, `genitive`, or empty for any
            of the usual ones.
        """
        last = " ".join(self.surnames)
        said = {
            "first": ("first", self.first),
            "last": ("last", last if form != "last" or rng.random() < 0.6 else self.surnames[0]),
            "initial": ("first", f"{self.first[0]}."),
            "capitals": ("last", last.upper()),
            "letters": ("letters", self.first[0] + last[0].upper()),
            "first genitive": ("first", self.first + ("" if self.first[-1] in "sxzß" else "s")),
        }
        return [said.get(part, ("", part)) for part in _FORMS[form or rng.choice(("full", "full", "last"))]]


def invent_name(language: str, sex: str, rng: random.Random) -> LocalName:
    """A name of a woman (`F`) or man (`M`), of an origin as frequent as the language says."""
    world = table(f"{language}/world")
    origins = world["origins"]
    origin = rng.choices(list(origins), list(origins.values()))[0]
    if "_" in origin:
        faker = faker_of_locale(origin, rng)
        first = faker.first_name_female() if sex == "F" else faker.first_name_male()
        return LocalName(first, tuple(_surname(faker) for _ in range(world.get("surnames", 1))), origin)
    lists = world["names"] if origin == "own" else table("origins")[origin]
    n_surnames = world.get("surnames", 1) if origin == "own" else 1
    return LocalName(
        _made(lists[sex], world, rng), tuple(_made(lists["last"], world, rng) for _ in range(n_surnames)), origin
    )


def _made(entries: Sequence[str], world: Mapping[str, Any], rng: random.Random) -> str:
    return "".join(map(str, expand(rng.choice(entries), world.get("inside", {}), rng)))


def _surname(faker: Faker) -> str:
    # Dutch lists have some particles after the name: "Hoog, de".
    return " ".join(reversed(faker.last_name().split(", ")))


def faker_of_locale(locale: str, rng: random.Random) -> Faker:
    """Faker of a locale, seeded by the next number of `rng`."""
    faker = _faker(locale)
    faker.seed_instance(rng.getrandbits(32))
    return faker


@cache
def _faker(locale: str) -> Faker:
    from faker import Faker

    return Faker(locale)
