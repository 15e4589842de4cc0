"""Gazetteers of names, places and dates, and their matches in notes.

    gazetteers = Gazetteers.of_language("es")
    gazetteers.column("city", Layout.of(["vive en San Sebastián"]))     codes of "", "", "B", "I"

Names, cities, regions and occupations come from Faker's providers; countries, months and weekdays from the Unicode CLDR
(by Babel); the words for relatives from our own table. A trained engine keeps its lists, so a newer Faker changes
nothing. Case and accents are ignored: `Jose` matches `José`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from phistack.features.columns.layout import Layout
from phistack.features.columns.vocabulary import Coded
from phistack.features.columns.word_columns import NONE
from phistack.features.errors import BundleError
from phistack.features.letters import without_accents
from phistack.features.registry import packaged_table
from phistack.features.tokens import Tokeniser

_SOURCES = packaged_table("phistack.features.columns", "gazetteers.toml")
LOCALES: Mapping[str, Sequence[str]] = _SOURCES["locales"]
"""Language -> Faker's locales; their lists are joined."""

GAZETTEER_COLUMNS = (*_SOURCES["faker"], "country", "month", "weekday", "relative")
"""The columns, in order."""

_SHORTEST = 3
_NOT_COUNTRIES = frozenset(("EU", "EZ", "UN", "QO", "XA", "XB", "ZZ"))

_BEGIN, _INSIDE = 1, 2
_ALONE, _FIRST, _SECOND = 1, 2, 4
_ROLE_BITS = 3
# The role of a word in an entry: all of it, or the first or second of several words.

Entry = tuple[str, ...]


@dataclass(frozen=True)
class Gazetteers:
    """Word lists that mark tokens.

    :param entries: column -> its entries, each a sequence of lower-case tokens without accents.
    """

    entries: Mapping[str, frozenset[Entry]] = field(default_factory=dict, repr=False)

    @cached_property
    def _longest(self) -> dict[str, int]:
        """Column -> the most tokens of an entry."""
        return {column: max(map(len, found), default=0) for column, found in self.entries.items()}

    @cached_property
    def _roles(self) -> dict[str, int]:
        """The roles of each word, `_ROLE_BITS` bits for each column."""
        roles: dict[str, int] = {}
        for number, column in enumerate(GAZETTEER_COLUMNS):
            for entry in self.entries.get(column, ()):
                for word, role in zip(entry, (_FIRST, _SECOND) if len(entry) > 1 else (_ALONE,), strict=False):
                    roles[word] = roles.get(word, 0) | role << number * _ROLE_BITS
        return roles

    @classmethod
    @cache
    def of_language(cls, language: str) -> Gazetteers:
        """The lists of a language, as an ISO 639-1 code; empty for an unknown language."""
        locales = LOCALES.get(language, ())
        names = {column: _from_faker(column, locales) for column in _SOURCES["faker"]}
        relatives = packaged_table("phistack.features.columns", "relatives.toml").get(language, "")
        found = names | _from_babel(language) | {"relative": str(relatives).split()}
        return cls({column: _entries(entries) for column, entries in found.items()})

    def column(self, name: str, layout: Layout) -> Coded:
        """The matches of one of `GAZETTEER_COLUMNS`: `B` where an entry begins, `I` where it continues, else empty.

        Matches are the longest from left to right, within each note.
        """
        roles = layout.of_words("gazetteers", lambda words: (self._roles.get(_folded(word), 0) for word in words))
        role = roles >> GAZETTEER_COLUMNS.index(name) * _ROLE_BITS
        codes = np.where(role & _ALONE, _BEGIN, 0)
        at = np.flatnonzero((role[:-1] & _FIRST > 0) & (role[1:] & _SECOND > 0))
        free = 0
        for i, end in zip(at.tolist(), layout.bounds[layout.note[at] + 1].tolist(), strict=True):
            ahead = tuple(map(_folded, layout.words[i : min(end, i + self._longest[name])])) if i >= free else ()
            length = next((n for n in range(len(ahead), 1, -1) if ahead[:n] in self.entries[name]), 0)
            if length:
                free = i + length
                codes[i:free] = _INSIDE
                codes[i] = _BEGIN
        return codes, [NONE, "B", "I"]

    def to_dict(self) -> dict[str, list[str]]:
        """The lists, JSON-ready: column -> sorted entries, their tokens joined by blanks."""
        return {column: sorted(map(" ".join, found)) for column, found in self.entries.items()}

    @classmethod
    def from_dict(cls, state: Mapping[str, list[str]]) -> Gazetteers:
        """Read the result of `to_dict`; :raises BundleError: for an unknown column or an empty entry."""
        for column, found in state.items():
            if column not in GAZETTEER_COLUMNS or not all(map(str.split, found)):
                raise BundleError(f"the gazetteer {column} of the trained engine is not a known list of entries")
        return cls({column: frozenset(tuple(entry.split(" ")) for entry in found) for column, found in state.items()})


def _folded(word: str) -> str:
    return without_accents(word.lower())


def _entries(names: Iterable[str]) -> frozenset[Entry]:
    """Names as token sequences, without those that are too short or too common."""
    tokenise = Tokeniser()
    too_common = frozenset(_SOURCES["function_words"].split())
    found: set[Entry] = set()
    for name in names:
        folded = without_accents(name.partition("(")[0].strip(" .").lower())
        entry = tuple(folded[a:b] for a, b in zip(*(ends.tolist() for ends in tokenise(folded)), strict=True))
        if len(folded) >= _SHORTEST and any(map(str.isalpha, folded)) and folded not in too_common:
            found.add(entry)
    return frozenset(found)


def _from_faker(column: str, locales: Iterable[str]) -> Iterator[str]:
    kind, *attributes = _SOURCES["faker"][column]
    for locale in locales:
        try:
            provider = import_module(f"faker.providers.{kind}.{locale}").Provider
        except ModuleNotFoundError:
            continue
        for attribute in attributes:
            table = getattr(provider, attribute, ())
            yield from () if isinstance(table, property) else _strings(table)
    if column == "city" and locales:
        yield from (place[2] for place in import_module("faker.providers.geo").Provider.land_coords)


def _strings(table: Any) -> Iterator[str]:
    """The names in a table of Faker: a list, code -> name, name -> weight, or rows of codes and names."""
    if isinstance(table, Mapping):
        named = all(isinstance(value, str) for value in table.values())
        table = table.values() if named else table.keys()
    for row in table:
        yield from (row,) if isinstance(row, str) else row[1:2]


def _from_babel(language: str) -> dict[str, list[str]]:
    if language not in LOCALES:
        return {}
    from babel import Locale

    locale = Locale.parse(language)
    countries = [name for code, name in locale.territories.items() if len(code) == 2 and code not in _NOT_COUNTRIES]
    return {
        "country": [name for name in countries if not name.isdigit()],
        "month": _calendar_names(locale.months),
        "weekday": _calendar_names(locale.days),
    }


def _calendar_names(table: Mapping[str, Mapping[str, Mapping[Any, str]]]) -> list[str]:
    """Names and abbreviations, in dates and alone."""
    uses_and_widths = product(("format", "stand-alone"), ("wide", "abbreviated"))
    return [name for use, width in uses_and_widths for name in table[use][width].values()]
