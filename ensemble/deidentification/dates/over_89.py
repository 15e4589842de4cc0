"""What shows that somebody is over 89: ages in words and shorthand, and years of birth.

    unmarked("97f, aged mother", "en", 2026)     ("AGE", 0, 2)
    kept_year("5/12/1925", "en", {2026})         None: 101 years ago

45 CFR 164.514(b)(2)(i)(C) removes "all ages over 89 and all elements of dates (including year) indicative of such age";
both may become "a single category of age 90 or older". That holds whatever a detector finds, so the text itself is
searched, for the words of all languages (`over_89.toml`), since a note may hold a passage in another. A figure alone is
no age. Beside a letter for the sex (`97f`) it is one, unless what stands before it is a temperature (`T 98 F`), a
distance (`walked 100 m`) or the like.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from string import Template

from phistack.ensemble.deidentification.dates.parsing import year_of
from phistack.ensemble.deidentification.word_lists import shipped

OLDEST_AGE = 89
"""The greatest age in years that Safe Harbor lets stand."""

GREATEST_AGE = 125


@cache
def _expressions() -> dict[str, list[re.Pattern[str]]]:
    """The expressions of `over_89.toml`; compiled when first needed, as that takes a while."""
    languages = dict(shipped("over_89"))
    expressions = {name: one if isinstance(one, list) else [one] for name, one in languages.pop("expressions").items()}
    parts = {
        name: "|".join(one.replace("{ones}", table["ones"]) for table in languages.values() for one in table[name])
        for name in languages["en"]
    }
    for name, several in expressions.items():
        expressions[name] = [Template(one).substitute(parts) for one in several]
        parts[name] = expressions[name][0]
    return {name: [re.compile(one, re.IGNORECASE) for one in several] for name, several in expressions.items()}


def _pattern(name: str) -> re.Pattern[str]:
    return _expressions()[name][0]


def _is_stated(text: str, start: int, end: int) -> bool:
    """Whether what is beside a number from 90 to 125 says that it is an age."""
    sides, before = zip(_expressions()["before"], _expressions()["behind"], strict=True), max(0, start - 40)
    if any(left.search(text, before, start) and right.match(text, end) for left, right in sides):
        return True
    is_short = text[start:end].strip("+").replace(" ", "").isdecimal() and _pattern("shorthand").match(text, end)
    return bool(
        is_short and not (_pattern("measured").search(text, before, start) or _pattern("measuring").match(text, end))
    )


def unmarked(text: str, language: str, present: int) -> Iterator[tuple[str, int, int]]:
    """Ages over 89 by what stands beside them, and birth dates that show one in the present year.

    :returns: the kind, AGE or DATE, with start and end of the number, in words or figures, or of the date.
    """
    for match in _pattern("certain").finditer(text):
        yield "AGE", *match.span(match.lastindex or 0)
    for match in _pattern("number").finditer(text):
        if _is_stated(text, *match.span()):
            yield "AGE", *match.span()
    for match in _pattern("born_on").finditer(text):
        if year_of(match[1], language) and not kept_year(match[1], language, {present}, is_birth=True):
            yield "DATE", *match.span(1)


def without_spelt_ages(mention: str, oldest: str) -> str:
    """The mention of an age with every number over 89 in words as `oldest`."""
    return _pattern("spelt").sub(oldest, mention)


def is_birth(text: str, start: int, end: int = 0) -> bool:
    """Whether the words before or after a date say that it is one of birth."""
    before = _pattern("born_before").search(text, max(0, start - 50), start)
    return bool(before or _pattern("born_after").match(text, max(start, end)))


def year_beside(text: str, start: int, end: int) -> int | None:
    """The year right before or after an age, such as `turned 65 in 1990`, unless it is one of birth."""
    after, before = (
        _pattern("year_after").match(text, end),
        _pattern("year_before").search(text, max(0, start - 60), start),
    )
    years = (int(match[1]) for match in (after, before) if match and not is_birth(text, *match.span()))
    return next(years, None)


def kept_year(
    mention: str, language: str, present: Collection[int], *, is_birth: bool = False, is_old: bool = False
) -> str | None:
    """The year of a date, if it shows no age over 89.

    :param present: the years in which somebody's age may count: the present one, and the latest of the patient.
    :param is_birth: whether the date is one of birth; then two digits that may be of the last century count as such.
    :param is_old: whether the patient's notes state an age over 89; then no year of birth is kept.
    :returns: None if there is no year, or more than one, or it shows such an age.
    """
    year = year_of(mention, language)
    if year is None or (is_birth and is_old):
        return None
    if len(year) == 4:
        return year if max(present) - int(year) <= OLDEST_AGE else None
    # Two digits are of the latest year that they can mean: '25 in a note of 2019 is 1925.
    ago = [(now - int(year.strip("'"))) % 100 for now in present]
    return None if max(ago) > OLDEST_AGE or (is_birth and min(ago) <= GREATEST_AGE - 100) else year
