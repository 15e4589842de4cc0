"""Invented people with names of many origins, and how notes write them.

person = draw_person(names_of(FOLDER), {"english": 5, "korean": 1}, random.Random(0), sex="F")
person.written("formal"), domains)            [("Okafor", "last"), (", ", ""), ("Ngozi", "first")]
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from phistack.features.letters import without_accents

FORMS = {
    "": "{first} {last}",
    "middle": "{first} {m}. {last}",
    "m": "{first} {m} {last}",
    "formal": "{last}, {first}",
    "formalm": "{last}, {first} {m}",
    "comma": "{last},{first}",
    "caret": "{last}^{first}^{m}",
    "first": "{first}",
    "last": "{last}",
    "nick": "{nick}",
    "nicklast": "{nick} {last}",
    "short": "{f}. {last}",
    "shortbare": "{f} {last}",
    "lastf": "{last} {f}",
    "lastfdot": "{last} {f}.",
    "initials": "{f}{l}",
    "three": "{f}{m}{l}",
    "dotted": "{f}.{l}.",
    "small": "{fsmall}{lsmall}",
}
"""Form -> how the name is written; `user` and `email` are made of it."""
UNDIVIDED = ("initials", "three", "dotted", "small", "user", "email")
"""Forms that do not separate first and last name."""


@cache
def names_of(folder: Path) -> dict[str, Any]:
    """First and last names by origin, and nicknames, of a set of notes."""
    return tomllib.loads((folder / "names.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Person:
    """A person with a name; `number` makes user names differ."""

    first: str = field(repr=False)
    last: str = field(repr=False)
    middle: str = field(repr=False)
    sex: str
    origin: str
    number: int
    nick: str = field(default="", repr=False)

    def written(self, form: str, domains: Sequence[str]) -> list[tuple[str, str]]:
        """The name in a form, as pieces of text with their part: `first`, `last` or empty for what is between.

        :param form: a key of `FORMS`, or `user` or `email`, which are one piece.
        :param domains: of e-mail addresses.
        """
        plain = "".join(filter(str.isalpha, without_accents(self.last))).lower()
        user = f"{without_accents(self.first)[0].lower()}{plain[:9]}"
        if form == "email":
            return [(f"{user}@{domains[self.number % len(domains)]}", "email")]
        if form == "user":
            return [(f"{user}{self.number % 20 or ''}", "user")]
        values = {
            **{"first": self.first, "last": self.last, "m": self.middle, "nick": self.nick or self.first},
            **{"f": self.first[0], "l": self.last[0], "fsmall": self.first[0].lower(), "lsmall": self.last[0].lower()},
        }
        pieces: list[tuple[str, str]] = []
        for between, name, _, _ in Formatter().parse(FORMS[form]):
            if between:
                pieces.append((between, ""))
            if name:
                part = "first" if name in ("first", "nick", "f", "m") else "last"
                pieces.append((values[name], part))
        return pieces


def draw_person(
    names: Mapping[str, Any], origins: Mapping[str, float], rng: random.Random, *, sex: str = "",
    taken: Collection[str] = (), family: Person | None = None,
) -> Person:  # fmt: skip
    """Draw a person.

    :param names: of each origin, and nicknames.
    :param origins: origin -> how frequent it is.
    :param sex: `F` or `M`; either, if empty.
    :param taken: surnames of others.
    :param family: a person with the same surname.
    """
    sex = sex or rng.choice("FM")
    (origin,) = rng.choices([*origins], [*origins.values()]) if family is None else (family.origin,)
    table = names[origin]
    last = family.last if family else rng.choice([name for name in table["last"] if name not in taken])
    first, middle, number = rng.choice(table[sex]), rng.choice("ABCDEGHJKLMPRSTW"), rng.randrange(1, 400)
    return Person(first, last, middle, sex, origin, number, names["nicknames"].get(first, ""))
