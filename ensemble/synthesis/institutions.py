"""Hospitals, clinics, schools, firms and addresses of English notes of all registers, made of patterns and names.

    invent_institution("hospital", "train", rng).written("letters", rng)    "UWH", for University of Wyoming Hospital
    invent_home("whole", rng)                                               a street, city, state and postcode

Patterns and lists lie in `templates/en/places.toml`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from phistack.ensemble.synthesis.identifiers import random_code
from phistack.ensemble.synthesis.places import Address, Hospital
from phistack.ensemble.synthesis.templates import table
from phistack.ensemble.synthesis.word_lists import FOLDER, ORIGINS, names

_SLOT = re.compile(r"\{(\w+)\}")
_KINDS = re.compile(
    r"(?<=\w) (?:Hospital|Medical Cent(?:er|re)|Medical Group|Health(?: System| Cent(?:er|re))?|Memorial Hospital|"
    r"Nursing Home|Care (?:Home|Center)|Rehabilitation(?: Hospital)?|Regional(?: Hospital| Medical Center)?|Infirmary)$"
)
_POSTCODES_ABROAD = ("@@# #@@", "@## #@@", "@@## #@@", "@# #@@", "@#@ #@#")


@dataclass(frozen=True, slots=True)
class Institution(Hospital):
    """An institution with one name, which stands in `founder`."""

    def written(self, form: str, rng: random.Random) -> str:
        """The name in one form: `full`, `upper`, `lower`, `short`, `letters`, or empty for mostly the full name."""
        name = self.founder
        form = form or rng.choice(("full", "full", "full", "full", "short", "letters"))
        if form == "letters":
            capitals = "".join(re.findall(r"\b[A-Z]", name.replace("'", "").replace("The ", "")))
            return capitals if len(capitals) > 2 else name
        return {"upper": name.upper(), "lower": name.lower(), "short": _KINDS.sub("", name)}.get(form, name)


def invent_institution(kind: str, lexicon: str, rng: random.Random) -> Institution:
    """An institution.

    :param kind: `hospital`, `nursing`, `clinic`, `pharmacy`, `school`, `employer` or `agency`.
    :param lexicon: which names may be used.
    """
    lists = names(lexicon)
    if kind == "hospital" and rng.random() < 0.15:
        return Institution(rng.choice(lists["hospital_known"]), "")
    return Institution(_SLOT.sub(lambda slot: _word(slot[1], lexicon, rng), rng.choice(lists[kind])), "")


def _word(slot: str, lexicon: str, rng: random.Random) -> str:
    lists = names(lexicon)
    makers: Mapping[str, Callable[[], str]] = {
        "family": lambda: rng.choice(lists[f"{rng.choice(ORIGINS)}.family"]),
        "given": lambda: rng.choice(lists["anglo.female"]),
        "state": lambda: rng.choice(list(table(f"{FOLDER}/places")["state"].values())),
        "city": lambda: invent_city(lexicon, rng),
    }
    return makers[slot]() if slot in makers else rng.choice(lists[slot])


def invent_city(lexicon: str, rng: random.Random) -> str:
    """A city: of the United States, of elsewhere, or nowhere."""
    lists, dice = names(lexicon), rng.random()
    if dice < 0.5:
        return rng.choice(lists["city_abroad" if dice < 0.13 else "city"]).removeprefix("the ")
    first, family = rng.choice(lists["city_start"]), rng.choice(lists[f"{rng.choice(ORIGINS)}.family"])
    end, second, title = (rng.choice(lists[part]) for part in ("city_end", "city_second", "city_title"))
    made = (first + end, first + end, f"{first} {second}", f"{first} {second}", f"{family} {second}", f"{family}{end}")
    return rng.choice((*made, f"{title} {family}", f"{title} {first}{end}"))


def invent_home(lexicon: str, rng: random.Random) -> Address:
    """An address; its parts do not belong together anywhere on earth, save by chance."""
    lists = names(lexicon)
    letters, state = rng.choice(list(table(f"{FOLDER}/places")["state"].items()))
    number = rng.choice(
        (str(rng.randint(1, 999)), str(rng.randint(1000, 19999)), f"{rng.randint(1, 90)}{rng.choice('AB')}")
    )
    way = f"{number} {rng.choice(('', '', '', 'N ', 'S. ', 'West ', 'NE '))}{rng.choice(lists['street'])} "
    way += rng.choice(lists["street_end"])
    if rng.random() < 0.2:
        way += rng.choice((", Apt {}", " Apt. {}", " #{}", ", Unit {}", ", Suite {}", " Flat {}")).format(
            rng.randint(1, 40)
        )
    postcodes = (*("#####",) * 12, "#####-####", "#####-####", *_POSTCODES_ABROAD)
    return Address(way, invent_city(lexicon, rng), state, letters, random_code(postcodes, rng))
