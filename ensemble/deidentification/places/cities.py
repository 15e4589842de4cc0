"""Cities, states, countries and postcodes, exchanged for others of the same region.

    surrogate_city("Worcester", context)     "Rutland"        another city of the same region
    surrogate_state("MA", context)           "NH"
    surrogate_country("Perú", context)       "Ecuador"        another of the same continent
    surrogate_postcode("02114", context)     "07350"

The tables are in `places/LANGUAGE.toml`: region -> state -> its abbreviation and larger cities. A city that no
table has gets any city of the language's own country.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from phistack.ensemble.deidentification.codes.patterns import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.word_lists import LANGUAGES, shipped
from phistack.features.letters import fold, in_case_of, parts

_CITY = re.compile(r"[^\W\d_][^\d_]*")
_LONGEST_CITY = 5
_LONGEST_ABBREVIATION = 4
_SHORT_NAMES = {"republica argentina": "argentina", "republica dominicana": "republica dominicana"}
_FOREIGN_POSTCODE = re.compile(r"(?=.*\d)[A-Za-z0-9]{2,8}(?:[ -][A-Za-z0-9]{2,5}){0,2}")
_REPUBLIC = re.compile(r"(?:republica|republic|republik|republiek)(?: de la| del| de| of| van)? ")


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


def counties(language: str) -> dict[str, tuple[str, ...]]:
    """The larger cities of each county, province or state."""
    return {state.name: state.cities for state in _states(language)}


def surrogate_city(mention: str, context: Context) -> str | None:
    """Another city of the same region; None for what is no city's name: digits, more than five words."""
    if not _CITY.fullmatch(mention) or len(mention.split()) > _LONGEST_CITY:
        return None
    region = _regions_of_cities(context.language).get(fold(mention))
    states = _states(context.language)
    cities = [city for state in states if region in (None, state.region) for city in state.cities]
    return another(mention, cities, "city", context)


@cache
def _regions_of_cities(language: str) -> dict[str, str]:
    return {fold(city): state.region for state in reversed(_states(language)) for city in state.cities}


def surrogate_state(mention: str, context: Context) -> str | None:
    """Another state of the same region, by name or abbreviation as the original; None for an unknown one."""
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

    :param apart: the codes of countries that stand for one another only.
    """
    for language in dict.fromkeys((context.language, *LANGUAGES)):
        code = country_code(mention, language)
        continent = next((codes for codes in _continents() if code in codes), None)
        if continent is not None:
            near = [other for other in continent if (other in apart) == (code in apart)]
            alike = near if len(near) > 1 else sorted(apart)
            names = [_country_name(other, language) for other in alike if other != code]
            return another(mention, names, "country", context, purpose=str(code))
    return None


def surrogate_postcode(mention: str, context: Context) -> str | None:
    """Another postcode of the same form; the digits of the region stay (two in Spain, one elsewhere).

    In a form that the language's country does not have, nothing stays but the separators.
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
    """One of the names that shares no word of three letters with the original."""
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
def _continents() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(codes.split()) for codes in table("countries")["continents"].values())


@cache
def _countries(language: str) -> dict[str, str]:
    """Folded name -> code."""
    others = {name: code for code, names in table("countries")["others"].items() for name in names}
    codes = (code for continent in _continents() for code in continent)
    return {**others, **{_country_key(_country_name(code, language)): code for code in codes}}


def _country_key(name: str) -> str:
    """A country by its short name, without hyphens."""
    spaced = " ".join(fold(name).replace("-", " ").split())
    return _SHORT_NAMES.get(spaced) or _REPUBLIC.sub("", spaced) or spaced


def _country_name(code: str, language: str) -> str:
    from babel import Locale

    return str(Locale.parse(language).territories[code])
