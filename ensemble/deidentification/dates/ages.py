"""Ages: surrogates a few years away, ages over 89 as `90+`.

surrogate_age("45-year-old", context)    "47-year-old"
cap_age("97 yo", "en")                   "90+ yo"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from phistack.ensemble.deidentification.dates.over_89 import GREATEST_AGE, OLDEST_AGE, without_spelt_ages
from phistack.ensemble.deidentification.word_lists import known_words, words
from phistack.features.letters import fold, in_case_of

if TYPE_CHECKING:
    from phistack.ensemble.deidentification.context import Context

_PARTS = re.compile(r"\d+\+?|[^\W\d_]+")
_NINETY = f"{OLDEST_AGE + 1}+"
_SEXES = frozenset(("f", "m", "w", "male", "female", "man", "woman", "lady", "gentleman", "yf", "ym", "yof", "yom"))
_SEXES |= frozenset(f"{descent}{sex}" for descent in ("w", "b", "h", "aa") for sex in "mf")


def cap_age(mention: str, language: str, oldest: str = _NINETY, *, later: int = 0) -> str | None:
    """The age, with 90 years and over as `90+`, or as `oldest` says.

    :param later: by how many years the patient's notes go beyond the age; an age that is over 89 by then has no form.
    :returns: None where there is no number, one that is no age, or words that do not belong to an age.
    """
    mention = without_spelt_ages(mention, oldest)
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
"""For each part of a mention its number, if it is one, and whether that counts years."""


def _ages(mention: str, language: str, sexes: frozenset[str] = frozenset()) -> _Ages:
    """The ages of a mention; none where it holds no age, or words that do not belong to one.

    :param sexes: words that may say the sex, also where they are units shorter than a year: `97m`, Swedish `97 man`.
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
    """Each number in words where the original is and there is a word, or else in figures."""
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
    """The number that a word or figure says; None for other words."""
    figure = word.removesuffix("+")
    if figure.isdecimal():
        return int(figure) if figure.isascii() else None
    return _numbers(language).get(fold(word))


@cache
def _numbers(language: str) -> dict[str, int]:
    return {fold(word): number for number, word in enumerate(words(language)["ages"]["numbers"])}
