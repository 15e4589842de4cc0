"""The strategies that need no invention: a label, a number, asterisks, nothing.

    tag("PATIENT")               "[PATIENT]"
    number("PATIENT", 1)         "[PATIENT-1]"
    mask("Zoë 7")                "*****"
    generalise("ZIP", "03601-1234", options, latest_year=None)   "000"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ensemble.deidentification.dates import year_of
from ensemble.deidentification.policy import PolicyOptions
from ensemble.deidentification.professions import profession_group

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OLDEST_AGE", "cap_age", "generalise", "mask", "number", "tag"]

OLDEST_AGE = 89
"""The greatest age in years that Safe Harbor lets stand."""

_ZIP = re.compile(r"(\d{3})\d{2}(?:[- ]?\d{4})?")
_NUMBER = re.compile(r"\d+")


def tag(label: str) -> str:
    """The label in brackets."""
    return f"[{label}]"


def number(label: str, which: int) -> str:
    """The label and the number of the person or thing, in brackets."""
    return f"[{label}-{which}]"


def mask(mention: str) -> str:
    """An asterisk for every character, of whatever alphabet, blanks and line ends too.

    The length of the mention can be read off the mask; where that is too much, use tags.
    """
    return "*" * len(mention)


def generalise(kind: str, mention: str, options: PolicyOptions, latest_year: int | None, language: str) -> str | None:
    """The mention with its detail taken away.

    :param kind: DATE (to the year), AGE (90 and over to 90+), ZIP (to three digits) or PROFESSION (to its group).
    :param latest_year: the latest year written in the note, so that no year shows an age of 90 or more.
    :returns: nothing for other kinds, and for what cannot be read.
    """
    ways: dict[str, Callable[[], str | None]] = {
        "DATE": lambda: _year(mention, latest_year, language),
        "AGE": lambda: cap_age(mention),
        "ZIP": lambda: _zip3(mention, options.restricted_zip3),
        "PROFESSION": lambda: profession_group(mention, language),
    }
    return ways[kind]() if kind in ways else None


def cap_age(mention: str) -> str | None:
    """The age, with 90 and over as `90+`; nothing where no number can be read or one is no age."""
    numbers = _NUMBER.findall(mention)
    if not numbers or any(len(n) > 3 for n in numbers):
        return None
    return _NUMBER.sub(lambda match: match[0] if int(match[0]) <= OLDEST_AGE else f"{OLDEST_AGE + 1}+", mention)


def _year(mention: str, latest_year: int | None, language: str) -> str | None:
    year = year_of(mention, language)
    if year is None or (latest_year is not None and len(year) == 4 and latest_year - int(year) > OLDEST_AGE):
        return None
    return year


def _zip3(mention: str, restricted: tuple[str, ...]) -> str | None:
    match = _ZIP.fullmatch(mention.strip())
    if match is None:
        return None
    return "000" if match[1] in restricted else match[1]
