"""A date of a record in whatever way a note writes it, whole or in part.

    pattern = date_pattern("1950-04-03", "en")
    pattern.search("born April 3rd, 1950")        a match; also 4/3/50, 03.04.1950, 19500403, 3-IV-1950
    list(dates_in("born in 1950", "1950-04-03", "en"))      [FoundDate(8, 12, is_whole=False, needs_sign=False)]

Day and month may be in either order, and where the record's own order is open both readings are sought. A part of a
date is the day and the month, the month and the year, or the year. One with the name of the month in it is a date in
any case, and so are month and year of four digits; other figures (`4/3`, `1950`) may be anything, unless words around
them say that somebody was born then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ensemble.deidentification.dates.parsing import EARLIEST_YEAR, LATEST_YEAR, parse_dates
from ensemble.deidentification.dates.patterns import names
from ensemble.stacking.known.signs import AROUND, tells_birth
from features.ranges import touching

__all__ = ["FoundDate", "date_pattern", "dates_in"]

_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_NTH = r"(?:\s?(?:st|nd|rd|th|er|ste|de|º|°|ª|:?[ea])|\.)?"
_WORD_BETWEEN = r"(?:of|the|del?|a[nñ]o|van|den|von)\b\s*"
_LOOSE = rf"[\s,./-]{{0,3}}(?:{_WORD_BETWEEN}){{0,3}}"
_SIGN = r"\s{0,2}[-/.,‐‑–]\s{0,2}|\s"
_DAY_BEFORE = re.compile(rf"(?<!\w)\d{{1,2}}{_NTH}{_LOOSE}$", re.IGNORECASE)
_YEAR_AFTER = re.compile(rf"{_LOOSE}(?:(?:1[89]|20|21)\d\d|['’]\d\d)(?!\w)", re.IGNORECASE)
_MONTHS_IN_CAPITALS = ("en", "de")


class FoundDate(NamedTuple):
    """Where a date stands, whether all of it does, and whether it may be anything else where nothing speaks for it."""

    start: int
    end: int
    is_whole: bool = True
    needs_sign: bool = False


class _Day(NamedTuple):
    year: int
    month: int
    day: int


def dates_in(text: str, written: str, language: str) -> list[FoundDate] | None:
    """The places of a text where a date stands, whole or in part.

    :param text: in its plain view.
    :param written: in a record: ISO, or as notes in the language write it; a year alone is sought as one.
    :param language: ISO 639-1 code, for the names of months.
    :returns: nothing if it is no date.
    """
    days = _days(written, language)
    is_year = written.isdecimal() and EARLIEST_YEAR <= int(written) <= LATEST_YEAR
    if not days and not is_year:
        return None
    whole = date_pattern(written, language)
    found = [FoundDate(*match.span()) for match in (whole.finditer(text) if whole else ())]
    for part in _parts(days, int(written) if is_year else None, language):
        taken = touching(sorted((one.start, one.end) for one in found))
        found += [one for one in part.found_in(text, language) if not taken(one.start, one.end)]
    return found


def date_pattern(written: str, language: str) -> re.Pattern[str] | None:
    """What finds a whole date.

    :param written: in a record: ISO, or as notes in the language write it.
    :param language: ISO 639-1 code, for the names of months.
    :returns: nothing if it is no whole date.
    """
    ways = "|".join(way for day in _days(written, language) for way in _ways(*day, language))
    table = names(language)
    weekdays = _any((*table.weekdays, *table.full_weekdays, *table.short_weekdays))
    return _compiled(rf"(?:{weekdays}\b\.?,?\s{{1,2}})?(?:{ways})") if ways else None


def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of which nothing is found within a longer number or date."""
    return re.compile(rf"(?<!\w)(?<!\d[./-]){pattern}(?![^\W_])(?![./-]\d)", re.IGNORECASE)


class _DatePart(NamedTuple):
    """A way to write a part of a date.

    :param pattern: of it.
    :param needs_sign: whether it may be anything else; `in small letters` if it may where it has no capital.
    :param before: what does not stand before it, or it is a part of another date.
    :param after: what does not stand after it.
    """

    pattern: str
    needs_sign: bool | Literal["in small letters"] = False
    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None

    def found_in(self, text: str, language: str) -> Iterator[FoundDate]:
        """Where it stands in a text."""
        for match in _compiled(f"(?:{self.pattern})").finditer(text):
            start, end = match.span()
            before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
            if not (self.before and self.before.search(before)) and not (self.after and self.after.match(after)):
                is_open = match[0].islower() if self.needs_sign == "in small letters" else self.needs_sign
                yield FoundDate(start, end, False, is_open and not tells_birth(before, after, language))


def _parts(days: Sequence[_Day], year: int | None, language: str) -> Iterator[_DatePart]:
    """All ways to write a part of some days, the longest first, or of a year."""
    for full, month, day in days:
        m, d, mon = f"0?{month}", f"0?{day}", _month(month, language)
        # `Take 1 may repeat` is no date.
        small: Literal["in small letters", False] = "in small letters" if language in _MONTHS_IN_CAPITALS else False
        yield _DatePart(rf"{d}{_NTH}{_LOOSE}{mon}|{mon}{_LOOSE}{d}{_NTH}", small, after=_YEAR_AFTER)
        yield _DatePart(rf"{mon}{_LOOSE}(?:{full}|['’]{full % 100:02})", small, before=_DAY_BEFORE)
        yield _DatePart(rf"{m}\s?[-/.]\s?{full}|{full}\s?[-/.]\s?{m}")
        yield _DatePart(rf"{d}[-/.]{m}\.?|{m}[-/]{d}|{m}/{full % 100:02}", True)
    for full in sorted({day.year for day in days} | ({year} if year else set())):
        yield _DatePart(rf"{full}|['’-]{full % 100:02}", True)


def _days(written: str, language: str) -> list[_Day]:
    """What a date of a record may be, in either order of day and month."""
    return sorted({day for day_first in (True, False) if (day := _parsed(written, language, day_first))})


def _parsed(written: str, language: str, day_first: bool) -> _Day | None:
    for tried in dict.fromkeys((language, "en", "es", "nl", "sv", "de")):
        points = parse_dates(written.partition("T")[0], tried, day_first)
        if points and len(points) == 1 and points[0].year and points[0].month and len(points[0].days) == 1:
            return _Day(points[0].year, points[0].month, points[0].days[0])
    return None


def _ways(year: int, month: int, day: int, language: str) -> Iterator[str]:
    y, m, d = rf"(?:{year}|['’]?{year % 100:02})", f"0?{month}", f"0?{day}"
    mon = rf"(?:{_month(month, language)}|{_ROMAN[month - 1]}(?![^\W\d_]))"
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


def _month(month: int, language: str) -> str:
    """A pattern of the names of a month."""
    table = names(language)
    spelt = [name for name, number in table.months.items() if number == month]
    return rf"{_any((*spelt, table.full_months[month - 1], table.short_months[month - 1]))}(?![^\W\d_])\.?"


def _any(spelt: Iterable[str]) -> str:
    """A pattern of some words, the longest first."""
    return f"(?:{'|'.join(sorted(map(re.escape, {*spelt}), key=lambda word: (-len(word), word)))})"
