"""Ages, and what shows that a person is over 89: ages in words and shorthand, and years of birth.

    surrogate_age("45-year-old", context)        "47-year-old"
    cap_age("97 yo", "en")                       "90+ yo"
    unmarked("97f, aged mother", "en", 2026)     ("AGE", 0, 2)
    kept_year("5/12/1925", "en", {2026})         None: 101 years ago

45 CFR 164.514(b)(2)(i)(C) removes "all ages over 89 and all elements of dates (including year) indicative of such age";
both may become "a single category of age 90 or older". This holds whatever a detector finds, so the text itself is
searched, with the words of all languages (`over_89.toml`), since a note may hold a passage in another language. A
number alone is not an age. Next to a letter for the sex (`97f`) it is one, unless the words around it make it a
temperature (`T 98 F`), a distance (`walked 100 m`) or the like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from string import Template
from typing import TYPE_CHECKING

from phistack.ensemble.deidentification.dates.parsing import year_of
from phistack.ensemble.deidentification.word_lists import known_words, shipped, words
from phistack.features.letters import fold, in_case_of

if TYPE_CHECKING:
    from phistack.ensemble.deidentification.context import Context

OLDEST_AGE = 89
"""The greatest age in years that Safe Harbor allows."""

GREATEST_AGE = 125


_PARTS = re.compile(r"\d+\+?|[^\W\d_]+")
_NINETY = f"{OLDEST_AGE + 1}+"
_SEXES = frozenset(("f", "m", "w", "male", "female", "man", "woman", "lady", "gentleman", "yf", "ym", "yof", "yom"))
_SEXES |= frozenset(f"{descent}{sex}" for descent in ("w", "b", "h", "aa") for sex in "mf")


def cap_age(mention: str, language: str, oldest: str = _NINETY, *, later: int = 0) -> str | None:
    """The age, with 90 years and over written as `oldest`.

    :param later: years from this age to the patient's latest date; an age that is over 89 by then gives None.
    :returns: None if there is no number, one that is not an age, or words that do not belong to an age.
    """
    mention = _pattern("spelt").sub(oldest, mention)
    ages = _ages(mention, language, _SEXES)
    if any(age is not None and in_years and age <= OLDEST_AGE < age + later for age, in_years in ages):
        return None
    return _changed(mention, language, ages, lambda age: age, oldest)


def is_old(mention: str, language: str) -> bool:
    """Whether an age is over 89."""
    return _NINETY in (cap_age(mention, language) or "")


def surrogate_age(mention: str, context: Context) -> str | None:
    """The age, with every number in it changed by the same few years (or months, or days)."""
    most = context.options.age_shift
    steps = context.number(2 * most, "age", most)
    shift = steps + 1 if steps < most else most - steps - 1
    ages = _ages(mention, context.language)
    return _changed(mention, context.language, ages, lambda age: age + shift if age + shift > 0 else age + abs(shift))


_Ages = list[tuple[int | None, bool]]
"""For each part of a mention: its number, if it is one, and whether the number counts years."""


def _ages(mention: str, language: str, sexes: frozenset[str] = frozenset()) -> _Ages:
    """The ages in a mention; none if it holds no age, or words that do not belong to one.

    :param sexes: words that may state the sex, even if they also mean units under a year: `97m`, Swedish `97 man`.
    """
    known = known_words(language, "ages", "years", "shorter", "fillers") | sexes
    shorter = known_words(language, "ages", "shorter") - sexes
    parts = _PARTS.findall(mention)
    ages = [
        (_number(part, language), fold(unit) not in shorter) for part, unit in zip(parts, (*parts[1:], ""), strict=True)
    ]
    unread = any(age is None and fold(part) not in known for (age, _), part in zip(ages, parts, strict=True))
    return [] if unread or max((age or 0 for age, _ in ages), default=0) > GREATEST_AGE else ages


def _changed(
    mention: str, language: str, ages: _Ages, change: Callable[[int], int], oldest: str = _NINETY
) -> str | None:
    """The mention with its numbers changed, spelt out where the original is and a word exists, else in figures."""
    spelt: list[str] = words(language)["ages"]["numbers"]
    coming = iter(ages)

    def new(match: re.Match[str]) -> str:
        (number, in_years), old = next(coming), match[0]
        if number is None:
            return old
        age = change(number)
        if age > OLDEST_AGE and in_years:
            return oldest
        return in_case_of(spelt[age], old) if old.isalpha() and age < len(spelt) else f"{age}{'+' * old.endswith('+')}"

    return _PARTS.sub(new, mention) if any(age is not None for age, _ in ages) else None


def _number(word: str, language: str) -> int | None:
    """The number that a word or figure stands for; None for other words."""
    figure = word.removesuffix("+")
    if figure.isdecimal():
        return int(figure) if figure.isascii() else None
    return _numbers(language).get(fold(word))


@cache
def _numbers(language: str) -> dict[str, int]:
    return {fold(word): number for number, word in enumerate(words(language)["ages"]["numbers"])}


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
    """Whether the words around a number from 90 to 125 show that it is an age."""
    sides, before = zip(_expressions()["before"], _expressions()["behind"], strict=True), max(0, start - 40)
    if any(left.search(text, before, start) and right.match(text, end) for left, right in sides):
        return True
    is_short = text[start:end].strip("+").replace(" ", "").isdecimal() and _pattern("shorthand").match(text, end)
    return bool(
        is_short and not (_pattern("measured").search(text, before, start) or _pattern("measuring").match(text, end))
    )


def unmarked(text: str, language: str, present: int) -> Iterator[tuple[str, int, int]]:
    """Ages over 89, recognised by the words around them, and birth dates that show one in the present year.

    :returns: the kind, AGE or DATE, and the start and end of the number (in words or figures) or of the date.
    """
    for match in _pattern("certain").finditer(text):
        yield "AGE", *match.span(match.lastindex or 0)
    for match in _pattern("number").finditer(text):
        if _is_stated(text, *match.span()):
            yield "AGE", *match.span()
    for match in _pattern("born_on").finditer(text):
        if year_of(match[1], language) and not kept_year(match[1], language, {present}, is_birth=True):
            yield "DATE", *match.span(1)


def is_birth(text: str, start: int, end: int = 0) -> bool:
    """Whether the words before or after a date show that it is a date of birth."""
    before = _pattern("born_before").search(text, max(0, start - 50), start)
    return bool(before or _pattern("born_after").match(text, max(start, end)))


def year_beside(text: str, start: int, end: int) -> int | None:
    """The year right before or after an age, such as `turned 65 in 1990`, unless it is a year of birth."""
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

    :param present: the years in which ages are counted: the present one and the patient's latest.
    :param is_birth: whether it is a date of birth; two digits then mean the last century if they can.
    :param is_old: whether the patient's notes state an age over 89; then no year of birth is kept.
    :returns: None if there is no year, or more than one, or it shows such an age.
    """
    year = year_of(mention, language)
    if year is None or (is_birth and is_old):
        return None
    if len(year) == 4:
        return year if max(present) - int(year) <= OLDEST_AGE else None
    # Two digits mean the latest possible year: '25 in a note of 2019 is 1925.
    ago = [(now - int(year.strip("'"))) % 100 for now in present]
    return None if max(ago) > OLDEST_AGE or (is_birth and min(ago) <= GREATEST_AGE - 100) else year
