"""Persons of many origins, in all the ways in which notes write their names.

    person = invent_person("F", "train", rng)                  María José Peña-Núñez, or Trần Thị Lan, or Will Summers
    person.written("formal", rng)                              "PEÑA-NÚÑEZ, MARÍA JOSÉ"
    invent_person("M", "test", rng, origin="korean")           with names that no training note has

Beside the forms of `Person` there are `nick`, `quoted` (Robert "Bob" Smith), `lower`, `short` (Richard B.), `given`
(with middle name) and `dotted` (J.R. Smith). Where it is usual, some people are written family name first.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phistack.ensemble.synthesis.lexicon import is_held_out
from phistack.ensemble.synthesis.people import Person
from phistack.ensemble.synthesis.templates import table
from phistack.ensemble.synthesis.word_lists import FOLDER, ORIGINS, names
from phistack.features.letters import without_accents

_SMALL = "lower_"
"""Before the name of a form: the same in small letters."""
_WORDLIKE, _MIXED, _PLAIN, _SUFFIX, _CROSSED = 0.1, 0.12, 0.35, 0.04, 0.2
_QUOTES = (('"', '"'), ("\u201c", "\u201d"), ("'", "'"), ("(", ")"))
"""Around what friends say, between the given name and the family name."""
_SUFFIXES = ("Jr.", "Jr", "Sr.", "III", "II", "IV")


@dataclass(frozen=True, slots=True)
class NamedPerson(Person):
    """A person with an origin.

    :param origin: one of `ORIGINS`.
    :param nick: what friends say; the given name where nothing shorter is usual.
    :param suffix: such as `Jr.`, or empty.
    :param turned: whether the family name comes first.
    """

    origin: str = ""
    nick: str = ""
    suffix: str = ""
    turned: bool = False

    def written(self, form: str, rng: random.Random) -> str:
        """The name in one form, those of `Person` included."""
        match form:
            case "full" | "upper" | "lower":
                return {"upper": str.upper, "lower": str.lower}.get(form, str)(self._full(rng))
            case "nick":
                return self.nick
            case "quoted":
                before, after = rng.choice(_QUOTES)
                return f"{self.first} {before}{self.nick}{after} {self.last}"
            case "short":
                return f"{self.first} {self.last[0].upper()}{rng.choice(('.', '.', ''))}"
            case "given":
                return f"{self.first} {self.middle}" if self.middle else self.first
            case "dotted":
                second = self.middle[:1] or rng.choice("ABCDEGJLMPRST")
                return f"{self.first[0]}{rng.choice(('.{}. ', '{} ', '. {}. ')).format(second)}{self.last}"
            case "":
                usual = ("full", "full", "full", "full", "initialled", "formal", "dotted", "short")
                return self.written(rng.choice(usual), rng)
            case _ if form.startswith(_SMALL):
                return self.written(form.removeprefix(_SMALL), rng).lower()
            case _:
                return Person.written(self, form, rng)

    def _full(self, rng: random.Random) -> str:
        if self.turned:
            return f"{self.last} {self.first}"
        suffix = f"{rng.choice((', ', ' '))}{self.suffix}" if self.suffix and rng.random() < 0.6 else ""
        return f"{Person.written(self, 'full', rng)}{suffix}"


def invent_person(sex: str, lexicon: str, rng: random.Random, *, origin: str = "") -> NamedPerson:
    """A person.

    :param sex: `F` or `M`.
    :param lexicon: which names may be used, one of `ensemble.synthesis.lexicon.LEXICONS`.
    :param rng: makes every choice.
    :param origin: of both names, one of `ORIGINS`; drawn by the shares of the table where it is empty, and then some
        people have names of two origins or names that are words.
    """
    table_of_origins: Mapping[str, Any] = table(f"{FOLDER}/origins")
    of_family = origin or rng.choices(ORIGINS, [rows["share"] for rows in table_of_origins.values()])[0]
    of_given = of_family if origin or rng.random() > _MIXED else rng.choice(ORIGINS)
    rows = table_of_origins[of_family]
    given = _given(of_given, sex, lexicon, rng, wordlike=not origin)
    family = _family(of_family, sex, rows, lexicon, rng, wordlike=not origin)
    middle = f"{rng.choice('ABCDEFGHJKLMNPRSTVW')}." if rng.random() < 0.4 else ""
    if rng.random() < _PLAIN:
        given, family = without_accents(given), without_accents(family)
    nick = rng.choice(table(f"{FOLDER}/nicknames").get(given, [given]))
    suffix = rng.choice(_SUFFIXES) if sex == "M" and rng.random() < _SUFFIX else ""
    turned = rng.random() < rows.get("family_first", 0) and of_given == of_family
    return NamedPerson(given, middle, family, of_family, nick, suffix, turned)


def _drawn(pool: Sequence[str], lexicon: str, rng: random.Random) -> str:
    """A name of a list or, in training, now and then one crossed from two of it: no list of names is whole."""
    one = rng.choice(pool)
    if lexicon == "test" or rng.random() > _CROSSED:
        return one
    other = rng.choice(pool)
    crossed = one[: len(one) // 2 + 1] + other[len(other) // 2 + 1 :].lower()
    return crossed if crossed.isalpha() and len(crossed) > 3 and not is_held_out(crossed) else one


def _given(origin: str, sex: str, lexicon: str, rng: random.Random, *, wordlike: bool) -> str:
    lists, part = names(lexicon), "female" if sex == "F" else "male"
    if wordlike and rng.random() < _WORDLIKE:
        return rng.choice(lists[f"word.{part}"])
    return _drawn(lists[f"{origin}.{part}"], lexicon, rng)


def _family(origin: str, sex: str, rows: Mapping[str, Any], lexicon: str, rng: random.Random, *, wordlike: bool) -> str:
    lists = names(lexicon)
    if wordlike and rng.random() < _WORDLIKE:
        return rng.choice(lists["word.family"])
    pool = lists[f"{origin}.family"]
    one = _of_sex(_drawn(pool, lexicon, rng), sex, rows)
    if rng.random() < rows.get("double", 0):
        return f"{one}{rng.choice(rows['joints'])}{rng.choice(pool)}"
    return one


def _of_sex(family: str, sex: str, rows: Mapping[str, Any]) -> str:
    endings: Mapping[str, str] = rows.get("feminine", {}) if sex == "F" else {}
    for ending, of_woman in endings.items():
        if family.endswith(ending):
            return family.removesuffix(ending) + of_woman
    return family
