"""Cities, states, countries and postcodes, exchanged for others of the same region, or of the same county.

    surrogate_city("Worcester", context)     "Rutland"        another city of the same region
    surrogate_state("MA", context)           "NH"
    surrogate_country("Perú", context)       "Ecuador"        another of the same continent
    surrogate_postcode("02114", context)     "07350"
    surrogate_nearby("Sundsvall", context)   "Timrå", which is also in Västernorrlands län
    surrogate_nearby("Södermalm", context)   "Kungsholmen": an island of Stockholm, where one lives *på* and not *i*
    stays("ADDRESS", "Värmland", context)    True, where the options let counties stay

The tables are in `places/LANGUAGE.toml`: region -> state -> its abbreviation and larger cities. A city that is in no
table becomes any city of the language's own country. As in Dalianis (2019), places are also exchanged for others of the
same county and preposition: `[towns]` of a county, places that are `[alike]` (squares, parks, islands), those said with
`[on]`, and what is `[general]`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from phistack.ensemble.deidentification.codes.identifiers import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.parsing import names as date_names
from phistack.ensemble.deidentification.word_lists import LANGUAGES, shipped
from phistack.features.letters import fold, in_case_of, parts

_CITY = re.compile(r"[^\W\d_][^\d_]*")
_LONGEST_CITY = 5
_LONGEST_ABBREVIATION = 4
_SHORT_NAMES = {"republica argentina": "argentina", "republica dominicana": "republica dominicana"}
_FOREIGN_POSTCODE = re.compile(r"(?=.*\d)[A-Za-z0-9]{2,8}(?:[ -][A-Za-z0-9]{2,5}){0,2}")
_REPUBLIC = re.compile(r"(?:republica|republic|republik|republiek)(?: de la| del| de| of| van)? ")
_OF_PLACES = ("CITY", "STATE", "PLACE", "ADDRESS", "COUNTRY", "STREET")
_COUNTY = re.compile(r"^(?:de )?(?:provincie|provinsen|landskapet) ")


class _State(NamedTuple):
    name: str
    abbreviation: str
    cities: tuple[str, ...]
    region: str


def table(name: str) -> Mapping[str, Any]:
    """The tables of a language, or those of `countries`."""
    return shipped(f"places/{name}")


@cache
def _states(language: str) -> tuple[_State, ...]:
    return tuple(
        _State(name, entry[0], tuple(entry[1:]), region)
        for region, states in table(language)["regions"].items()
        for name, entry in states.items()
    )


def surrogate_city(mention: str, context: Context) -> str | None:
    """Another city of the same region; None for what is not a city's name: digits, more than five words."""
    if not _CITY.fullmatch(mention) or len(mention.split()) > _LONGEST_CITY:
        return None
    states = _states(context.language)
    region = next((state.region for state in states if fold(mention) in map(fold, state.cities)), None)
    cities = [city for state in states if region in (None, state.region) for city in state.cities]
    return another(mention, cities, "city", context)


def surrogate_state(mention: str, context: Context) -> str | None:
    """Another state of the same region, a name or an abbreviation like the original; None for an unknown one."""
    wanted = fold(mention).replace(".", "")
    states = _states(context.language)
    for form in ("name", "abbreviation"):
        known = next((state for state in states if wanted and fold(getattr(state, form)) == wanted), None)
        if known is not None:
            near = [getattr(state, form) for state in states if state.region == known.region]
            return another(mention, near, "state", context)
    regions = sorted({state.region for state in states})
    return another(mention, regions, "region", context) if wanted in map(fold, regions) else None


def surrogate_country(mention: str, context: Context, apart: Collection[str] = ()) -> str | None:
    """Another country of the same continent, named in the language of the original; None for an unknown one.

    :param apart: the codes of countries that replace only one another.
    """
    for language in dict.fromkeys((context.language, *LANGUAGES)):
        code = country_code(mention, language)
        continent = next((codes.split() for codes in _continents() if code and code in codes.split()), None)
        if continent is not None:
            near = [other for other in continent if (other in apart) == (code in apart)]
            alike = near if len(near) > 1 else sorted(apart)
            names = [_country_name(other, language) for other in alike if other != code]
            return another(mention, names, "country", context, purpose=str(code))
    return None


def surrogate_postcode(mention: str, context: Context) -> str | None:
    """Another postcode of the same form; the digits of the region stay (two in Spain, one elsewhere).

    A postcode of another country's form keeps nothing but its separators.
    """
    codes = table(context.language)["postcodes"]
    new = same_pattern(mention, context, "postcode")
    if not re.fullmatch(codes["pattern"], mention):
        return new if _FOREIGN_POSTCODE.fullmatch(mention) else None
    digits = [place for place, c in enumerate(mention) if c.isdigit()]
    kept = {*digits[: codes["kept"]], *range(min(digits, default=0))}
    if new is None or len(new) != len(mention):
        return None
    return "".join(mention[place] if place in kept else c for place, c in enumerate(new))


def another(mention: str, names: Sequence[str], kind: str, context: Context, purpose: str = "") -> str | None:
    """One of the names that share no word of three letters or more with the original."""
    words = parts(mention)
    others = [name for name in names if fold(name) != fold(mention) and not words & _parts_of_name(name)]
    if not others:
        return None
    new = context.pick(others, kind, purpose or fold(mention))
    return new if kind == "country" and len(mention) <= _LONGEST_ABBREVIATION else in_case_of(new, mention)


_parts_of_name = lru_cache(maxsize=5000)(parts)


def country_code(mention: str, language: str) -> str | None:
    """The ISO 3166-1 code of a country named in a language."""
    return _countries(language).get(_country_key(mention))


@cache
def _countries(language: str) -> dict[str, str]:
    others = {name: code for code, names in table("countries")["others"].items() for name in names}
    codes = " ".join(_continents()).split()
    return {**others, **{_country_key(_country_name(code, language)): code for code in codes}}


def _continents() -> Iterable[str]:
    return table("countries")["continents"].values()  # type: ignore[no-any-return]


def _country_key(name: str) -> str:
    """The short name of a country, without hyphens."""
    spaced = " ".join(fold(name).replace("-", " ").split())
    return _SHORT_NAMES.get(spaced) or _REPUBLIC.sub("", spaced) or spaced


def _country_name(code: str, language: str) -> str:
    from babel import Locale

    return str(Locale.parse(language).territories[code])


class _Places(NamedTuple):
    """Places that may replace one another (squares, parks, islands; those of each county), and folded names."""

    groups: tuple[tuple[str, ...], ...]
    said_with_on: frozenset[str]
    countries_with_on: frozenset[str]
    larger_than_towns: frozenset[str]
    towns: frozenset[str]


@cache
def _places(language: str) -> _Places:
    tables, towns = table(language), {state.name: list(state.cities) for state in _states(language)}
    for county, more in tables.get("towns", {}).items():
        towns.setdefault(county, []).extend(more)
    groups = (*map(tuple, tables.get("alike", {}).values()), *map(tuple, towns.values()))
    on, large = tables.get("on", {}), (*towns, *tables.get("general", {}).get("names", ()))
    folded = (frozenset(map(fold, names)) for names in (large, (town for group in groups for town in group)))
    return _Places(groups, frozenset(map(fold, on.get("places", ()))), frozenset(on.get("countries", ())), *folded)


def stays(kind: str, mention: str, context: Context) -> bool:
    """Whether a mention is so general that the options let it stay.

    That is a county, province or continent, but no name that is also a town's, as Utrecht is, unless it says which;
    also a day of the week alone, if dates are shifted by whole weeks.
    """
    if not context.options.keep_general:
        return False
    said = fold(mention.strip()).rstrip(".")
    if kind == "DATE":
        return context.options.keep_weekday and said in date_names(context.language).weekdays
    places, bare = _places(context.language), _COUNTY.sub("", said)
    return kind in _OF_PLACES and bare in places.larger_than_towns and (bare != said or said not in places.towns)


def surrogate_nearby(mention: str, context: Context) -> str | None:
    """Another place of the same county or kind, or another country; None for what no table has."""
    said, places = fold(mention), _places(context.language)
    if country_code(mention, context.language) is not None:
        return surrogate_country(mention, context, places.countries_with_on)
    for group in places.groups:
        if said in map(fold, group):
            alike = [place for place in group if (fold(place) in places.said_with_on) == (said in places.said_with_on)]
            return another(mention, alike, "near", context)
    return None
