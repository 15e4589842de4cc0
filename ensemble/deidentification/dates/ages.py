"""Surrogate ages, a few years away, and never more than `90+`.

surrogate_age("45-year-old", context)    "47-year-old"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.word_lists import known_words, words
from phistack.features.letters import fold, in_case_of

OLDEST_AGE = 89
"""The greatest age in years that Safe Harbor lets stand."""

_OLDEST = 125
_PARTS = re.compile(r"\d+|[^\W\d_]+")


_NINETY = f"{OLDEST_AGE + 1}+"


def cap_age(mention: str, language: str, oldest: str = _NINETY) -> str | None:
    """The age, with 90 years and over as `90+`, or as `oldest` says.

    :returns: nothing where there is no number, one that is no age, or words that do not belong to an age.
    """
    return _changed(mention, language, lambda age: age, oldest)


def surrogate_age(mention: str, context: Context) -> str | None:
    """The age, with every number in it changed by the same few years (or months, or days)."""
    most = context.options.age_shift
    steps = context.number(2 * most, "age", most)
    shift = steps + 1 if steps < most else most - steps - 1
    return _changed(mention, context.language, lambda age: age + shift if age + shift > 0 else age + abs(shift))


def _changed(mention: str, language: str, change: Callable[[int], int], oldest: str = _NINETY) -> str | None:
    found = list(_PARTS.finditer(mention))
    known = known_words(language, "ages", "years", "shorter", "fillers")
    ages = [_age(match[0], language) for match in found]
    read = all(age is not None or fold(match[0]) in known for age, match in zip(ages, found, strict=True))
    if not read or not any(age is not None for age in ages) or max(age or 0 for age in ages) > _OLDEST:
        return None
    pieces: list[str] = []
    position = 0
    for place, (match, age) in enumerate(zip(found, ages, strict=True)):
        if age is not None:
            unit = fold(found[place + 1][0]) if place + 1 < len(found) else ""
            new = _written(change(age), match[0], unit, language, oldest)
            pieces += (mention[position : match.start()], new)
            position = match.end()
    return "".join([*pieces, mention[position:]])


def _age(word: str, language: str) -> int | None:
    """The number that a word or figure says; nothing for other words."""
    if word.isdecimal():
        return int(word) if word.isascii() else None
    return _numbers(language).get(fold(word))


def _written(age: int, old: str, unit: str, language: str, oldest: str) -> str:
    """The age in words where the original is and there is a word, or else in figures."""
    if age > OLDEST_AGE and unit not in known_words(language, "ages", "shorter"):
        return oldest
    spelt: list[str] = words(language)["ages"]["numbers"]
    return in_case_of(spelt[age], old) if old.isalpha() and age < len(spelt) else str(age)


@cache
def _numbers(language: str) -> dict[str, int]:
    return {fold(word): number for number, word in enumerate(words(language)["ages"]["numbers"])}
