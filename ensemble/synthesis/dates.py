"""How dates are written in notes.

    write_date(date(2081, 5, 12), "{d} {month_name} {y}", names, rng)    "12 May 2081"

A format is a `str.format` pattern over the fields below; `names` is the table `[dates]` of a language, which has the
names of months and weekdays. The day of the week, holidays, seasons, months and years alone are dates too, as in the
i2b2 2014 guidelines; the time of day is no part of a date.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date
from typing import Any

FORMS = {
    "hl7": ("{y}{mm}{dd}",),
    "stamp": ("{y}{mm}{dd}{hour}{minute}", "{y}{mm}{dd}{hour}{minute}{second}"),
    "iso": ("{y}-{mm}-{dd}",),
}
"""Form -> its formats, in every language: dates in structured text."""


def write_date(day: date, pattern: str, names: Mapping[str, Any], rng: random.Random) -> str:
    """A date in a format; `rng` chooses between names of a month, and the time of day in a time stamp."""
    return pattern.format(**_fields(day, names, rng)) if "{" in pattern else pattern


def _fields(day: date, names: Mapping[str, Any], rng: random.Random) -> dict[str, object]:
    month = names["months"][day.month - 1]
    if rng.random() < 0.4:
        month = names.get("other_months", {}).get(month, month)
    season = names.get("seasons", ("",) * 4)[day.month % 12 // 3]
    short_weekdays = names.get("short_weekdays", [name[:3] for name in names["weekdays"]])
    clock = {name: f"{rng.randint(0, last):02d}" for name, last in (("hour", 23), ("minute", 59), ("second", 59))}
    return {
        "y": day.year, "yy": f"{day.year % 100:02d}", "m": day.month, "mm": f"{day.month:02d}", "d": day.day,
        "dd": f"{day.day:02d}", "nth": f"{day.day}{_ordinal_ending(day.day)}", "e": max(1, day.day - rng.randint(1, 7)),
        "w": day.isocalendar().week, "month_name": month, "mon": names["short_months"][day.month - 1],
        "upper": month[:3].upper(), "weekday_name": names["weekdays"][day.weekday()],
        "wd": short_weekdays[day.weekday()], "season": season, "Season": season.title(),
        **clock,
    }  # fmt: skip


def _ordinal_ending(number: int) -> str:
    return "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
