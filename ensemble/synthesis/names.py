"""Names of people of many origins, and the forms in which notes write them.

    name = invent_name("de", "F", rng)       LocalName(first="Ayşe", surnames=("Yıldız",), origin="turkish")
    name.parts("formal", rng)                [("last", "Yıldız"), ("", ", "), ("first", "Ayşe")]

The table `[origins]` of `templates/LANGUAGE/world.toml` says how frequent which origin is. An origin is `own` (the
lists `[names]` of the language), a locale of Faker, one of `templates/origins.toml`, which has names of languages in
other scripts as they are written in Europe, or `abroad`: any of the origins of English notes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from phistack.ensemble.synthesis.grammar import expand
from phistack.ensemble.synthesis.lexicon import is_held_out, lists_of
from phistack.ensemble.synthesis.persons import invent_person
from phistack.ensemble.synthesis.templates import table

if TYPE_CHECKING:
    from faker import Faker

_FORMS: Mapping[str, Sequence[str]] = {
    "full": ("first", " ", "last"),
    "formal": ("last", ", ", "first"),
    "upper": ("capitals", " ", "first"),
    "filed": ("capitals", ", ", "initial"),
    "indexed": ("last", ", ", "initial"),
    "first": ("first",),
    "last": ("last",),
    "initialled": ("initial", " ", "last"),
    "letters": ("letters",),
    "dotted": ("dotted",),
    "genitive": ("first genitive",),
}
"""Form of a name -> its parts, and what stands between them."""

_SECOND = "ABCEFGHJKLMPRSTW"
"""Initials of second names."""


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
        """The name in one form: parts `first`, `last` or `letters` with their text; what stands between has no part.

        :param form: a key of `_FORMS`, or empty for any of the usual ones.
        """
        last = " ".join(self.surnames)
        said = {
            "first": ("first", self.first),
            "last": ("last", last if form != "last" or rng.random() < 0.6 else self.surnames[0]),
            "initial": (
                "first",
                rng.choice(("{}.", "{}.", "{}.{}.", "{}. {}.")).format(self.first[0], rng.choice(_SECOND)),
            ),
            "capitals": ("last", last.upper()),
            "dotted": ("last", f"{last[0].upper()}."),
            "letters": ("letters", self.first[0] + _initials(last)),
            "first genitive": ("first", self.first + ("" if self.first[-1] in "sxzß" else "s")),
        }
        return [said.get(part, ("", part)) for part in _FORMS[form or rng.choice(("full", "full", "last"))]]


def _initials(surname: str) -> str:
    """`vdB` of `van den Berg`, `B` of `Berg`."""
    particles, of_name = [], surname.split()
    while len(of_name) > 1 and of_name[0][0].islower():
        particles.append(of_name.pop(0)[0])
    return "".join(particles) + of_name[0][0].upper()


def invent_name(language: str, sex: str, rng: random.Random, lexicon: str = "whole") -> LocalName:
    """A name of a woman (`F`) or man (`M`), of an origin as frequent as the language says.

    :param lexicon: one of `ensemble.synthesis.lexicon.LEXICONS`.
    """
    world = table(f"{language}/world")
    origins = world["origins"]
    origin = rng.choices(list(origins), list(origins.values()))[0]
    n_surnames = world.get("surnames", 1) if origin == "own" or "_" in origin else 1
    if origin == "abroad":
        person = invent_person(sex, lexicon, rng)
        return LocalName(person.first, (person.last,), person.origin)
    if "_" in origin:
        faker = faker_of_locale(origin, rng)
        given = faker.first_name_female if sex == "F" else faker.first_name_male
        surnames = (_drawn(lambda: _surname(faker), lexicon) for _ in range(n_surnames))
        return LocalName(_drawn(given, lexicon), tuple(surnames), origin)
    lists = lists_of(*((f"{language}/world", "names") if origin == "own" else ("origins", origin)), lexicon)
    inside = lists_of(f"{language}/world", "inside", lexicon)
    first, *surnames_made = (
        "".join(map(str, expand(rng.choice(lists[key]), inside, rng))) for key in (sex, *("last",) * n_surnames)
    )
    return LocalName(first, tuple(surnames_made), origin)


def _drawn(draw: Callable[[], str], lexicon: str) -> str:
    """What is drawn first of what the lexicon has, or after many draws whatever comes."""
    drawn = [draw()]
    while lexicon != "whole" and is_held_out(drawn[-1]) != (lexicon == "test") and len(drawn) < 50:
        drawn.append(draw())
    return drawn[-1]


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
