"""The strategies that need no invention: a label, a number, asterisks, nothing.

tag("PATIENT")               "[PATIENT]"
number("PATIENT", 1)         "[PATIENT-1]"
name("PER")                  "PER"
numbered("Person", 1)        "Person 1"
mask("Zoë 7")                "*****"
generalise("ZIP", "03601-1234", options, None, "en")    "000"
"""

from __future__ import annotations

import re
from collections.abc import Callable

from phistack.ensemble.deidentification.dates.ages import OLDEST_AGE, cap_age
from phistack.ensemble.deidentification.dates.parsing import year_of
from phistack.ensemble.deidentification.policy import PolicyOptions
from phistack.ensemble.deidentification.professions import profession_group
from phistack.ensemble.deidentification.relatives import kinship

_ZIP = re.compile(r"(\d{3})\d{2}(?:[- ]?\d{4})?")


def tag(label: str) -> str:
    """The label in brackets."""
    return f"[{label}]"


def number(label: str, which: int) -> str:
    """The label and the number of the person or thing, in brackets."""
    return f"[{label}-{which}]"


def name(label: str) -> str:
    """The label as it is, as Tjong Kim Sang et al. (2019) write the class of an entity."""
    return label


def numbered(label: str, which: int) -> str:
    """The label and the number of the person or thing, as AnonyMate (Adams et al. 2019) writes `Person 1`."""
    return f"{label} {which}"


def mask(mention: str) -> str:
    """An asterisk for every character, of whatever alphabet, blanks and line ends too.

    The length of the mention can be read off the mask; where that is too much, use tags.
    """
    return "*" * len(mention)


def generalise(kind: str, mention: str, options: PolicyOptions, latest_year: int | None, language: str) -> str | None:
    """The mention with its detail taken away.

    :param kind: DATE (to the year), AGE (90 and over to 90+), ZIP (to three digits), PROFESSION (to its group) or
        RELATIVE (words such as `mother` stay).
    :param latest_year: the latest year that is known of, so that no year shows an age of 90 or more.
    :returns: nothing for other kinds, and for what cannot be read.
    """
    ways: dict[str, Callable[[], str | None]] = {
        "DATE": lambda: _year(mention, latest_year, language),
        "AGE": lambda: cap_age(mention, language, options.oldest_age),
        "ZIP": lambda: _zip3(mention, options.restricted_zip3),
        "PROFESSION": lambda: profession_group(mention, language),
        "RELATIVE": lambda: kinship(mention, language),
    }
    return ways[kind]() if kind in ways else None


def _year(mention: str, latest_year: int | None, language: str) -> str | None:
    year = year_of(mention, language)
    if year is None or latest_year is None:
        return year
    # Two digits are of the latest year that they can mean: '25 in a note of 2019 is 1925.
    ago = (latest_year - int(year.strip("'"))) % 100 if len(year) < 4 else latest_year - int(year)
    return None if ago > OLDEST_AGE else year


def _zip3(mention: str, restricted: tuple[str, ...]) -> str | None:
    match = _ZIP.fullmatch(mention.strip())
    if match is None:
        return None
    return "000" if match[1] in restricted else match[1]
