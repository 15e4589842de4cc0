"""The frequent names of a language, from the tables of Faker's person providers.

    names = name_tables("sv")
    names.female, names.male, names.last     names as written
    full_name("bob", "en")                   "robert"; short_forms("robert", "en") has it
    names.gender("karin")                    "female"; "neutral" where both tables have it; None where none has

Only the tables are used; Faker's own random choices play no part.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from phistack.ensemble.deidentification.word_lists import shipped
from phistack.features.letters import WORD, fold, is_latin

LOCALES = {"en": "en_US", "es": "es_ES", "nl": "nl_NL", "sv": "sv_SE", "de": "de_DE"}
"""Language -> the locale of its tables."""

_SHORTEST, _PER_LETTER = 3, 5
_MOST_FIRST, _MOST_LAST = 400, 800


@dataclass(frozen=True)
class NameTables:
    """Frequent names of women and men, and last names."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    last: tuple[str, ...]

    @cached_property
    def folded(self) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        """Female, male and last names, folded."""
        female, male, last = (frozenset(map(fold, names)) for names in (self.female, self.male, self.last))
        return female, male, last

    @cached_property
    def neutral(self) -> tuple[str, ...]:
        """The first names that women and men share."""
        return tuple(name for name in self.female if self.gender(fold(name)) == "neutral")

    @cached_property
    def letters(self) -> str:
        """The letters that begin enough female, enough male and enough last names."""
        counts = [Counter(fold(name)[0] for name in names) for names in (self.female, self.male, self.last)]
        return "".join(sorted(c for c in counts[0] if c.isascii() and all(count[c] >= _PER_LETTER for count in counts)))

    def gender(self, word: str) -> str | None:
        """`female`, `male` or `neutral` for a folded first name that the tables have."""
        female, male = (word in names for names in self.folded[:2])
        return "neutral" if female and male else "female" if female else "male" if male else None

    def is_last(self, word: str) -> bool:
        """Whether a folded word is a frequent last name."""
        return word in self.folded[2]

    def has(self, word: str) -> bool:
        """Whether a folded word is a frequent first or last name."""
        return any(word in names for names in self.folded)


@cache
def name_tables(language: str) -> NameTables:
    """The tables of a language; those of English where there are none."""
    locale = LOCALES.get(language, LOCALES["en"])
    person = importlib.import_module(f"faker.providers.person.{locale}").Provider
    return NameTables(
        _usual(person.first_names_female, _MOST_FIRST),
        _usual(person.first_names_male, _MOST_FIRST),
        _usual(person.last_names, _MOST_LAST),
    )


@lru_cache(maxsize=50_000)
def is_known_name(word: str) -> bool:
    """Whether a folded word is a frequent first or last name in any of the languages."""
    return word in _every_name()[0]


@lru_cache(maxsize=50_000)
def nearest_name(word: str) -> str | None:
    """The frequent name of any language that is one edit from a folded word and has the same first letter.

    :returns: None if there is none; of several the longest, then the first in the alphabet.
    """
    names, letters = _every_name()
    edited: set[str] = set()
    for head, tail in ((word[:i], word[i:]) for i in range(1, len(word) + 1)):
        edited |= {head + tail[1:], head + tail[1:2] + tail[:1] + tail[2:]}
        edited |= {head + letter + rest for letter in letters for rest in (tail, tail[1:])}
    return min(names & edited - {word}, key=lambda name: (-len(name), name), default=None)


def full_name(word: str, language: str) -> str | None:
    """The name that a folded word is a short form of (Bob: Robert), if there is only one.

    :returns: None for a word that is a name itself, or a frequent last name.
    """
    names = _short_forms(language)
    found = [name for name, short in names.items() if word in short]
    return found[0] if len(found) == 1 and word not in names and not name_tables(language).is_last(word) else None


def short_forms(name: str, language: str) -> Sequence[str]:
    """The folded short forms of a folded first name."""
    return _short_forms(language).get(name, ())


@cache
def _short_forms(language: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(short.split()) for name, short in shipped("nicknames").get(language, {}).items()}


@cache
def _every_name() -> tuple[frozenset[str], frozenset[str]]:
    """The folded frequent names of all languages, and their letters."""
    names = frozenset().union(*(names for tables in map(name_tables, LOCALES) for names in tables.folded))
    return names, frozenset("".join(names))


def _usual(names: Iterable[str], most: int) -> tuple[str, ...]:
    """The names of one word and Latin letters, the most frequent first where frequencies are given."""
    weights = dict(names) if isinstance(names, dict) else {}
    ordered = sorted(names, key=lambda name: -weights[name]) if weights else list(dict.fromkeys(names))
    usable = [n for n in ordered if WORD.fullmatch(n) and len(n) >= _SHORTEST and is_latin(n) and "'" not in n]
    return tuple(usable[:most] if weights else usable)
