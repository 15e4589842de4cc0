"""A date of a record in whatever way a note writes it, as one regular expression.

    pattern = date_pattern("1950-04-03", "en")
    pattern.search("born April 3rd, 1950")        a match; also 4/3/50, 03.04.1950, 19500403, 3-IV-1950

Day and month may be in either order, and where the record's own order is open both readings are sought. Only whole
dates are: a year, or a day without one, is in the notes of many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ensemble.deidentification.dates.parsing import parse_dates
from ensemble.deidentification.dates.patterns import names

__all__ = ["date_pattern"]

_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_NTH = r"(?:\s?(?:st|nd|rd|th|er|ste|de|º|°|ª|:?[ea])|\.)?"
_WORD_BETWEEN = r"(?:of|the|del?|a[nñ]o|van|den|von)\b\s*"
_LOOSE = rf"[\s,./-]{{0,3}}(?:{_WORD_BETWEEN}){{0,3}}"
_SIGN = r"\s{0,2}[-/.,‐‑–]\s{0,2}|\s"


def date_pattern(written: str, language: str) -> re.Pattern[str] | None:
    """What finds a date.

    :param written: in a record: ISO, or as notes in the language write it.
    :param language: ISO 639-1 code, for the names of months.
    :returns: nothing if it is no whole date.
    """
    days = {day for day_first in (True, False) if (day := _parsed(written, language, day_first))}
    ways = "|".join(way for day in sorted(days) for way in _ways(*day, language))
    table = names(language)
    weekdays = _any((*table.weekdays, *table.full_weekdays, *table.short_weekdays))
    return (
        re.compile(rf"(?<!\w)(?<!\d[./-])(?:{weekdays}\b\.?,?\s{{1,2}})?(?:{ways})(?![^\W_])(?![./-]\d)", re.IGNORECASE)
        if ways
        else None
    )


def _parsed(written: str, language: str, day_first: bool) -> tuple[int, int, int] | None:
    """Year, month and day."""
    for tried in dict.fromkeys((language, "en", "es", "nl", "sv", "de")):
        points = parse_dates(written.partition("T")[0], tried, day_first)
        if points and len(points) == 1 and points[0].year and points[0].month and len(points[0].days) == 1:
            return points[0].year, points[0].month, points[0].days[0]
    return None


def _ways(year: int, month: int, day: int, language: str) -> Iterator[str]:
    y, m, d = rf"(?:{year}|['’]?{year % 100:02})", f"0?{month}", f"0?{day}"
    table = names(language)
    spelt = [name for name, number in table.months.items() if number == month]
    spelt += [table.full_months[month - 1], table.short_months[month - 1], _ROMAN[month - 1]]
    mon = rf"{_any(spelt)}(?![^\W\d_])\.?"
    for order in ((d, m, y), (m, d, y), (y, m, d)):
        yield f"(?:{_SIGN})".join(order)
    yield rf"{d}{_NTH}{_LOOSE}{mon}{_LOOSE}{y}"
    yield rf"{mon}{_LOOSE}{d}{_NTH}{_LOOSE}{y}"
    yield rf"{y}{_LOOSE}{mon}{_LOOSE}{d}{_NTH}"
    for full in (f"{year}", f"{year % 100:02}"):
        for order in (
            (f"{day:02}", f"{month:02}", full),
            (f"{month:02}", f"{day:02}", full),
            (full, f"{month:02}", f"{day:02}"),
        ):
            yield "".join(order)


def _any(spelt: Iterable[str]) -> str:
    """A pattern of some words, the longest first."""
    return f"(?:{'|'.join(sorted(map(re.escape, {*spelt}), key=lambda word: (-len(word), word)))})"
