"""Places exchanged for others of the same county, said with the same preposition; and what is too large for it.

    surrogate_nearby("Sundsvall", context)       "Timrå", which is also in Västernorrlands län
    surrogate_nearby("Södermalm", context)       "Kungsholmen": an island of Stockholm, where one lives *på* and not *i*
    stays("ADDRESS", "Värmland", context)        True, where the options let counties stay

This is how Dalianis (2019) replaces places. The tables are in `places/LANGUAGE.toml`: the counties with their larger
cities, more `[towns]` of them, places that are `[alike]` (squares, parks, districts, islands), which of all these are
said with `[on]`, and what is `[general]`. What no table has is left to the other makers of places.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.patterns import names as date_names
from phistack.ensemble.deidentification.places.cities import another, counties, country_code, surrogate_country, table
from phistack.features.letters import fold

_OF_PLACES = ("CITY", "STATE", "PLACE", "ADDRESS", "COUNTRY", "STREET")
_COUNTY = re.compile(r"^(?:de )?(?:provincie|provinsen|landskapet) ")


class _Places(NamedTuple):
    """The places of a language.

    :param groups: places that may stand for one another: squares, parks and islands, then those of each county.
    :param on: folded names of those that are said with *on*, and codes of such countries.
    :param large: folded names of what is larger than a town.
    :param towns: folded names of all in the groups.
    """

    groups: tuple[tuple[str, ...], ...]
    on: frozenset[str]
    countries_on: frozenset[str]
    large: frozenset[str]
    towns: frozenset[str]


@cache
def _places(language: str) -> _Places:
    tables, towns = table(language), {county: list(cities) for county, cities in counties(language).items()}
    for county, more in tables.get("towns", {}).items():
        towns.setdefault(county, []).extend(more)
    groups = (*map(tuple, tables.get("alike", {}).values()), *map(tuple, towns.values()))
    on, large = tables.get("on", {}), (*towns, *tables.get("general", {}).get("names", ()))
    folded = (frozenset(map(fold, names)) for names in (large, (town for group in groups for town in group)))
    return _Places(groups, frozenset(map(fold, on.get("places", ()))), frozenset(on.get("countries", ())), *folded)


def stays(kind: str, mention: str, context: Context) -> bool:
    """Whether a mention is so general that the options let it stay.

    That is a county, province or continent, but no name that is also a town's, as Utrecht is, unless it says which;
    and a day of the week alone where dates are shifted by whole weeks.
    """
    if not context.options.keep_general:
        return False
    said = fold(mention.strip()).rstrip(".")
    if kind == "DATE":
        return context.options.keep_weekday and said in date_names(context.language).weekdays
    places, bare = _places(context.language), _COUNTY.sub("", said)
    return kind in _OF_PLACES and bare in places.large and (bare != said or said not in places.towns)


def surrogate_nearby(mention: str, context: Context) -> str | None:
    """Another place of the same county or kind, or another country; None for what no table has."""
    said, places = fold(mention), _places(context.language)
    if country_code(mention, context.language) is not None:
        return surrogate_country(mention, context, places.countries_on)
    for group in places.groups:
        if said in map(fold, group):
            alike = [place for place in group if (fold(place) in places.on) == (said in places.on)]
            return another(mention, alike, "near", context)
    return None
