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

from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.patterns import names as date_names
from phistack.ensemble.deidentification.places.cities import another, counties, country_code, surrogate_country, table
from phistack.features.letters import fold

_OF_PLACES = ("CITY", "STATE", "PLACE", "ADDRESS", "COUNTRY", "STREET")
_COUNTY = re.compile(r"^(?:de )?(?:provincie|provinsen|landskapet) ")


def stays(kind: str, mention: str, context: Context) -> bool:
    """Whether a mention is so general that the options let it stay.

    That is a county, province or continent, but no name that is also a town's, as Utrecht is, unless it says which;
    and a day of the week alone where whole weeks are shifted.
    """
    if not context.options.keep_general:
        return False
    said = fold(mention.strip()).rstrip(".")
    if kind == "DATE":
        return context.options.keep_weekday and said in date_names(context.language).weekdays
    large, towns = _general(context.language)
    bare = _COUNTY.sub("", said)
    return kind in _OF_PLACES and bare in large and (bare != said or said not in towns)


def surrogate_nearby(mention: str, context: Context) -> str | None:
    """Another place of the same county or kind, or another country; nothing for what no table has."""
    said = fold(mention)
    on = _said_with_on(context.language)
    if country_code(mention, context.language) is not None:
        return surrogate_country(mention, context, on["countries"])
    for places in _groups(context.language):
        if said in map(fold, places):
            alike = [place for place in places if (fold(place) in on["places"]) == (said in on["places"])]
            return another(mention, alike, "near", context)
    return None


@cache
def _groups(language: str) -> tuple[tuple[str, ...], ...]:
    """Places that may stand for one another: first squares, parks and islands, then the places of each county."""
    towns = {county: list(cities) for county, cities in counties(language).items()}
    for county, more in table(language).get("towns", {}).items():
        towns.setdefault(county, []).extend(more)
    return (*map(tuple, table(language).get("alike", {}).values()), *map(tuple, towns.values()))


@cache
def _said_with_on(language: str) -> dict[str, frozenset[str]]:
    """The folded places, and the codes of the countries."""
    on = table(language).get("on", {})
    return {"places": frozenset(map(fold, on.get("places", ()))), "countries": frozenset(on.get("countries", ()))}


@cache
def _general(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The folded names of what is large, and of all towns."""
    named = (
        *counties(language),
        *table(language).get("towns", {}),
        *table(language).get("general", {}).get("names", ()),
    )
    towns = (town for group in _groups(language) for town in group)
    return frozenset(map(fold, named)), frozenset(map(fold, towns))
