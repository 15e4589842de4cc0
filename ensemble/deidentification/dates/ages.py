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
_SHORTHAND = frozenset(("f", "m", "w", "male", "female", "man", "woman", "lady", "gentleman", "yf", "ym", "yof", "yom"))
_MAY_SAY_THE_SEX = frozenset(("m", "man"))
"""Units shorter than a year that may as well say the sex: `97m`, Swedish `97 man`."""


def cap_age(mention: str, language: str, oldest: str = _NINETY, *, later: int = 0) -> str | None:
    """The age, with 90 years and over as `90+`, or as `oldest` says.

    :param later: by how many years the patient's notes go beyond the age; None for an age that is over 89 by then.
    :returns: None where there is no number, one that is no age, or words that do not belong to an age.
    """
    return _changed(without_spelt_ages(mention, oldest), language, lambda age: age, oldest, _SHORTHAND, later)


def is_old(mention: str, language: str) -> bool:
    """Whether an age is over 89."""
    return _NINETY in (cap_age(mention, language) or "")


def surrogate_age(mention: str, context: Context) -> str | None:
    """The age, with every number in it changed by the same few years (or months, or days)."""
    most = context.options.age_shift
    steps = context.number(2 * most, "age", most)
    shift = steps + 1 if steps < most else most - steps - 1
    return _changed(mention, context.language, lambda age: age + shift if age + shift > 0 else age + abs(shift))


def _changed(
    mention: str,
    language: str,
    change: Callable[[int], int],
    oldest: str = _NINETY,
    fillers: frozenset[str] = frozenset(),
    later: int = 0,
) -> str | None:
    parts = _PARTS.findall(mention)
    ages = [_age(part, language) for part in parts]
    known = known_words(language, "ages", "years", "shorter", "fillers") | fillers
    read = all(age is not None or fold(part) in known for age, part in zip(ages, parts, strict=True))
    numbers = [age for age in ages if age is not None]
    if not read or not numbers or max(numbers) > GREATEST_AGE:
        return None
    shorter = known_words(language, "ages", "shorter") - (_MAY_SAY_THE_SEX if fillers else frozenset())
    in_years = [fold(unit) not in shorter for unit in (*parts[1:], "")]
    if any(
        age is not None and age <= OLDEST_AGE < age + later for age, years in zip(ages, in_years, strict=True) if years
    ):
        return None
    new = (
        part if age is None else oldest if change(age) > OLDEST_AGE and years else _written(change(age), part, language)
        for part, age, years in zip(parts, ages, in_years, strict=True)
    )
    return _PARTS.sub(lambda _: next(new), mention)


def _age(word: str, language: str) -> int | None:
    """The number that a word or figure says; None for other words."""
    figure = word.removesuffix("+")
    if figure.isdecimal():
        return int(figure) if figure.isascii() else None
    return _numbers(language).get(fold(word))


def _written(age: int, old: str, language: str) -> str:
    """The age in words where the original is and there is a word, or else in figures."""
    spelt: list[str] = words(language)["ages"]["numbers"]
    plus = "+" * old.endswith("+")
    return in_case_of(spelt[age], old) if old.isalpha() and age < len(spelt) else f"{age}{plus}"


@cache
def _numbers(language: str) -> dict[str, int]:
    return {fold(word): number for number, word in enumerate(words(language)["ages"]["numbers"])}
