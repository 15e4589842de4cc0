"""All dates of a patient shifted by one number of days that depends on the key.

    days = offset(keyed, options)                                        -117
    shift_dates("the 3rd of May, 2019", days, "en", day_first=False)     "the 6th of January, 2019"

The format stays: order, separators, names of months and their case, two-digit years, leading zeros, ordinals. A month
without a day is shifted from its middle, a year without a month by at least one year, a weekday by the same days as
the dates. Whole dates keep their distances exactly, partial dates to about half a unit.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Sequence
from datetime import date, timedelta

from phistack.ensemble.deidentification.context import Context, spliced
from phistack.ensemble.deidentification.dates.parsing import (
    EARLIEST_YEAR,
    LATEST_YEAR,
    DateNames,
    DatePoint,
    names,
    parse_dates,
)
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices
from phistack.ensemble.deidentification.policy import PolicyOptions
from phistack.features.letters import fold, in_case_of

_LEAP_YEAR, _COMMON_YEAR = 2000, 2001


def surrogate_date(mention: str, context: Context) -> str | None:
    """The mention with every date in it shifted like all dates of the patient."""
    days = offset(context.choices, context.options)
    return shift_dates(mention, days, context.language, context.day_first, context.memory.latest_year)


def offset(keyed: KeyedChoices, options: PolicyOptions) -> int:
    """The number of days, never 0, by which the dates of the patient are shifted.

    It is the same for every note, run and process with the same key.
    """
    unit = 7 if options.keep_weekday else 1
    most = options.shift_days // unit
    if options.shift_forward:
        return unit * (keyed.number(most, "date offset", unit, most, "forward") + 1)
    steps = keyed.number(2 * most, "date offset", unit, most)
    return unit * (steps + 1 if steps < most else most - steps - 1)


def shift_dates(mention: str, days: int, language: str, day_first: bool, near: int | None = None) -> str | None:
    """The mention with every date in it shifted.

    :param near: a year of the note, for two-digit years and for days without a year.
    :returns: None if the mention cannot be read as dates, or a shifted date leaves the years 1800 to 2199.
    """
    points = parse_dates(mention, language, day_first, near)
    if points is None:
        return None
    table = names(language)
    return spliced(mention, ((point.start, point.end, _shifted(mention, point, days, table, near)) for point in points))


def _shifted(mention: str, point: DatePoint, days: int, language: DateNames, near: int | None) -> str | None:
    values: dict[str, int] = {}
    if point.days:
        moved = [_move(point.year, point.month or 1, day, days, near) for day in point.days]
        dates = [day for day in moved if day is not None]
        if len(dates) < len(moved):
            return None
        if len({(day.year if point.year else 0, day.month) for day in dates}) > 1:
            return _range(mention, point, dates, language)
        values = {"y": dates[0].year, "m": dates[0].month, "d": dates[0].day, "d2": dates[-1].day}
    elif point.month:
        middle = _middle(point.year, point.month, days, near)
        values = {"y": middle.year, "m": middle.month}
    elif point.year:
        values = {"y": point.year + (round(days / 365.25) or (1 if days > 0 else -1))}
    if point.weekday is not None:
        values["wd"] = (point.weekday + days) % 7
    if point.year and not EARLIEST_YEAR <= values["y"] <= LATEST_YEAR:
        return None
    written = {part: mention[start:end] for start, end, part in point.places}
    numbers = [written[part] for part in ("m", "d", "d2") if part in written]
    padded = any(n[0] == "0" for n in numbers) or ("m" in written and all(len(n) == 2 for n in numbers))
    values["width"] = 2 if padded else 1
    changes = ((start, end, _part(part, mention[start:end], values, language)) for start, end, part in point.places)
    new = spliced(mention[: point.end], changes)
    return new and new[point.start :]


def _move(year: int | None, month: int, day: int, days: int, near: int | None) -> date | None:
    """A shifted day; without a year it is taken to be in `near`, for 29 February in the last leap year up to it."""
    if year is None:
        year = near or _COMMON_YEAR
        if (month, day) == (2, 29):
            year = next((y for y in range(year, year - 9, -1) if isleap(y)), _LEAP_YEAR)
    try:
        return date(year, month, day) + timedelta(days=days)
    except (ValueError, OverflowError):
        return None


def _middle(year: int | None, month: int, days: int, near: int | None) -> date:
    """The middle of the month, shifted at least into the next or the previous month."""
    middle = date(year or near or _COMMON_YEAR, month, 15)
    moved = middle + timedelta(days=days)
    if (moved.year, moved.month) == (middle.year, middle.month) or (year is None and moved.month == month):
        moved = moved + timedelta(days=31 if days > 0 else -31)
    return moved


def _range(mention: str, point: DatePoint, dates: Sequence[date], language: DateNames) -> str | None:
    """A range of days that now ends in another month: both days with their own months."""
    written = {part: mention[start:end] for start, end, part in point.places}
    days: list[str] = []
    for day in dates if "mon" in written else ():
        parts = (_part(p, written[p], {"m": day.month, "y": day.year}, language) for p in ("mon", "y") if p in written)
        days.append(" ".join((str(day.day), *parts)))
    return " - ".join(days) or None


def _part(part: str, old: str, values: dict[str, int], language: DateNames) -> str:
    """The new value of a part, written as the old one is."""
    match part:
        case "y":
            return _year(old, values["y"])
        case "mon":
            return _name(old, values["m"] - 1, language.full_months, language.short_months)
        case "wd":
            return _name(old, values["wd"], language.full_weekdays, language.short_weekdays)
        case "ord" | "ord2":
            return _ordinal(old, values["d2" if part == "ord2" else "d"])
    return f"{values[part]:0{values['width']}d}"


def _year(old: str, year: int) -> str:
    digits = old.lstrip("'’")
    return old.removesuffix(digits) + (str(year) if len(digits) == 4 else f"{year % 100:02d}")


def _name(old: str, number: int, full: Sequence[str], short: Sequence[str]) -> str:
    """The name of a month or weekday, in full or short as the old one."""
    name = (full if fold(old) in map(fold, full) else short)[number]
    dot = "." if old.endswith(".") and name != full[number] else ""
    return in_case_of(name.lower() if old[:1].islower() else name, old.rstrip(".")) + dot


def _ordinal(old: str, day: int) -> str:
    if fold(old) in ("st", "nd", "rd", "th"):
        ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        return ending.upper() if old.isupper() else ending
    if re.fullmatch(":?[ae]", old):
        return old[:-1] + ("a" if day in (1, 2, 21, 22, 31) else "e")
    if "º" in old or "°" in old or old in ("er", "ro"):
        return old if day == 1 else ""
    return old
