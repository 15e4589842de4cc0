"""How dates are written in notes.

    write_date(date(2081, 5, 12), DAY_FORMATS, rng)    "5/12/81", "May 12th, 2081", "the 12th of May", ...

A format is a `str.format` pattern over the fields of `_fields`. The day of the week, holidays, seasons, months and
years on their own are dates too, as in the i2b2 2014 guidelines; the time of day is not part of a date.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date

FULL_FORMATS = (
    *("{m}/{d}/{y}", "{mm}/{dd}/{y}", "{m}/{d}/{yy}", "{mm}/{dd}/{yy}") * 4,
    *("{y}-{mm}-{dd}", "{month} {d}, {y}", "{m}-{d}-{yy}", "{mm}-{dd}-{y}") * 2,
    *("{month} {nth}, {y}", "{mon} {d}, {y}", "{mon}. {d}, {y}", "{d} {month} {y}", "{dd}-{mon}-{y}"),
    *("{dd}-{mon}-{yy}", "{upper} {d} {y}", "{y}/{mm}/{dd}", "{m}.{d}.{yy}", "{mm}.{dd}.{y}", "{dd}{upper}{y}"),
    *("the {nth} of {month}, {y}", "{weekday}, {month} {d}, {y}", "{weekday} {m}/{d}/{yy}", "{month} {d} {y}"),
)
"""With day, month and year."""

DAY_FORMATS = (
    *FULL_FORMATS,
    *("{m}/{d}",) * 10,
    *("{month} {d}", "{month} {nth}", "{mm}/{dd}") * 3,
    *("{mon} {d}", "the {nth} of {month}", "{weekday}, {month} {nth}", "{d} {mon}", "{m}-{d}", "{mon}. {nth}"),
)
"""With the day and month, and often the year."""

MONTH_FORMATS = (
    *("{month} {y}", "{m}/{y}", "{month}", "{mm}/{yy}", "{month} of {y}") * 2,
    *("{mon} {y}", "{month}, {y}", "{mon} '{yy}", "{m}/{yy}", "{upper} {y}"),
)
"""With the month, and often the year."""

SEASON_FORMATS = ("the {season} of {y}", "{season} {y}", "{title} of {y}", "{title} {y}", "the {season}")
"""With the season."""

YEAR_FORMATS = ("{y}", "{y}", "{y}", "{y}", "'{yy}")
"""With the year only."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SEASONS = ("winter", "spring", "summer", "fall")


def write_date(day: date, formats: Sequence[str], rng: random.Random) -> str:
    """A date in one of the formats."""
    return rng.choice(formats).format(**_fields(day))


def _fields(day: date) -> dict[str, str | int]:
    month, season = _MONTHS[day.month - 1], _SEASONS[day.month % 12 // 3]
    short = {"September": "Sept"}.get(month, month[:3])
    return {
        "y": day.year,
        "yy": f"{day.year % 100:02d}",
        "m": day.month,
        "mm": f"{day.month:02d}",
        "d": day.day,
        "dd": f"{day.day:02d}",
        "nth": f"{day.day}{_ordinal_ending(day.day)}",
        "month": month,
        "mon": short,
        "upper": month[:3].upper(),
        "weekday": _WEEKDAYS[day.weekday()],
        "season": season,
        "title": season.title(),
    }


def _ordinal_ending(number: int) -> str:
    return "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
