"""Hospitals and addresses.

    invent_hospital(("General Hospital",), rng).written("letters", rng)    "OGH", for Oakfield General Hospital

Hospitals are made of the words in `templates/places.toml`; streets, cities and states come from Faker.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from phistack.ensemble.synthesis.templates import table

if TYPE_CHECKING:
    from faker import Faker


@dataclass(frozen=True, slots=True)
class Hospital:
    """The two halves of a hospital's name, as in `Oakfield` and `General Hospital`."""

    founder: str
    kind: str

    def written(self, form: str, rng: random.Random) -> str:
        """The name in one form.

        :param form: `full`, `upper`, `short` (`Oakfield`, `Oakfield General`), `letters` (the initials), or empty
            for mostly the full name.
        :param rng: chooses between variants.
        """
        full = f"{self.founder} {self.kind}"
        capitals = re.findall(r"\b[A-Z]", full.replace("'", ""))
        forms = {
            "full": full,
            "upper": full.upper(),
            "short": rng.choice((self.founder, f"{self.founder} {self.kind.split()[0]}")),
            "letters": "".join(capitals) if len(capitals) > 2 else self.founder,
        }
        return forms[form or rng.choice(("full", "full", "short", "letters"))]


@dataclass(frozen=True, slots=True)
class Address:
    """A postal address in the United States; `state_letters` is the two-letter code."""

    street: str = field(repr=False)
    city: str = field(repr=False)
    state: str
    state_letters: str
    postcode: str = field(repr=False)


def invent_hospital(kinds: Sequence[str], rng: random.Random) -> Hospital:
    """A hospital or home of one of the kinds."""
    return Hospital(rng.choice(table("places")["founders"]), rng.choice(kinds))


def invent_address(faker: Faker, rng: random.Random) -> Address:
    """An address; the street, city and state do not belong together anywhere on earth, save by chance."""
    city = rng.choice(table("places")["cities"]) if rng.random() < 0.25 else faker.city()
    ending = f"-{rng.randrange(10000):04d}" if rng.random() < 0.12 else ""
    return Address(
        street=faker.street_address(),
        city=city,
        state=faker.state(),
        state_letters=faker.state_abbr(include_territories=False, include_freely_associated_states=False),
        postcode=f"{rng.randrange(1000, 99999):05d}{ending}",
    )
