"""A date of a record in whatever way a note writes it, whole or in part.

    dates_in("born April 3rd, 1950", "1950-04-03", "en")    [FoundDate(5, 20)]; also 4/3/50, 03.04.1950, 3-IV-1950
    dates_in("born in 1950", "1950-04-03", "en")            [FoundDate(8, 12, is_whole=False, needs_sign=False)]

Day and month may be in either order, and where the record's own order is open both readings are sought. A part of a
date is the day and the month, the month and the year, or the year. One with the name of the month in it is a date in
any case, and so are month and year of four digits; other figures (`4/3`, `1950`) may be anything, unless words around
them say that somebody was born then.

Patterns are made for each date, which takes far longer than to read a note with them. So a text is asked first which
figures and words it has, and only the ways to write the date that these allow are made (`_SaidFigures`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from phistack.ensemble.deidentification.dates.parsing import EARLIEST_YEAR, LATEST_YEAR, parse_dates
from phistack.ensemble.deidentification.dates.patterns import names
from phistack.ensemble.stacking.known.signs import AROUND, tells_birth
from phistack.features.ranges import touching

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
    said = _SaidFigures(text, language)
    found = [FoundDate(*match.span()) for pattern in _whole(days, language, said) for match in pattern.finditer(text)]
    for part in _parts(days, int(written) if is_year else None, language, said):
        taken = touching(sorted((one.start, one.end) for one in found))
        found += [one for one in part.found_in(text, language) if not taken(one.start, one.end)]
    return found


def _whole(days: Sequence[_Day], language: str, said: _SaidFigures) -> Iterator[re.Pattern[str]]:
    """What finds a whole date, in the ways that a text allows; nothing where it allows none."""
    ways = "|".join(way for day in days for way in _ways(day, language, said))
    weekday = rf"(?:{_weekdays(language)}\b\.?,?\s{{1,2}})?" if said.weekday else ""
    if ways:
        yield _compiled(f"{weekday}(?:{ways})")


class _SaidFigures:
    """Which figures of a date, and which names of months and weekdays, stand in a text; no date has others.

    :param text: in its plain view.
    :param language: ISO 639-1 code.
    """

    def __init__(self, text: str, language: str) -> None:
        self._text, self._language = text, language
        self._runs = {*re.findall("[0-9]+", text)}

    def number(self, number: int) -> bool:
        """Whether a day or month stands there in figures."""
        return not self._runs.isdisjoint(_figures(number))

    def year(self, year: int) -> bool:
        """Whether a year stands there, of four digits or of two."""
        return not self._runs.isdisjoint(_years(year))

    def run(self, digits: str) -> bool:
        """Whether just these digits stand there side by side."""
        return digits in self._runs

    def month(self, month: int) -> bool:
        """Whether a month stands there by name or in Roman figures."""
        return bool(_in_words(month, self._language).search(self._text))

    @property
    def weekday(self) -> bool:
        """Whether any weekday stands there."""
        return bool(_any_weekday(self._language).search(self._text))


@lru_cache(maxsize=512)
def _in_words(month: int, language: str) -> re.Pattern[str]:
    return re.compile(rf"{_month(month, language)}|{_ROMAN[month - 1]}(?![^\W\d_])", re.IGNORECASE)


@lru_cache(maxsize=64)
def _any_weekday(language: str) -> re.Pattern[str]:
    return re.compile(_weekdays(language), re.IGNORECASE)


def _weekdays(language: str) -> str:
    table = names(language)
    return _any((*table.weekdays, *table.full_weekdays, *table.short_weekdays))


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


def _parts(days: Sequence[_Day], year: int | None, language: str, said: _SaidFigures) -> Iterator[_DatePart]:
    """All ways to write a part of some days that a text allows, the longest first, or of a year."""
    # `Take 1 may repeat` is no date.
    small: Literal["in small letters", False] = "in small letters" if language in _MONTHS_IN_CAPITALS else False
    for full, month, day in days:
        m, d = f"0?{month}", f"0?{day}"
        if said.month(month):
            mon = _month(month, language)
            if said.number(day):
                yield _DatePart(rf"{d}{_NTH}{_LOOSE}{mon}|{mon}{_LOOSE}{d}{_NTH}", small, after=_YEAR_AFTER)
            if said.year(full):
                yield _DatePart(rf"{mon}{_LOOSE}(?:{full}|['’]{full % 100:02})", small, before=_DAY_BEFORE)
        if said.number(month):
            if said.run(f"{full}"):
                yield _DatePart(rf"{m}\s?[-/.]\s?{full}|{full}\s?[-/.]\s?{m}")
            if said.number(day) or said.year(full):
                yield _DatePart(rf"{d}[-/.]{m}\.?|{m}[-/]{d}|{m}/{full % 100:02}", True)
    for full in sorted({day.year for day in days} | ({year} if year else set())):
        if said.year(full):
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


def _ways(date: _Day, language: str, said: _SaidFigures) -> Iterator[str]:
    """All ways to write a whole date that a text allows."""
    year, month, day = date
    y, m, d = rf"(?:{year}|['’]?{year % 100:02})", f"0?{month}", f"0?{day}"
    by_name = rf"(?:{_month(month, language)}|{_ROMAN[month - 1]}(?![^\W\d_]))"
    day_and_year = said.number(day) and said.year(year)
    # `April 31950`: where nothing stands between day and year, they are one run of digits.
    joined = any(map(said.run, (f"{a}{b}" for a in _figures(day) for b in _years(year))))
    if day_and_year and said.number(month):
        for order in ((d, m, y), (m, d, y), (y, m, d)):
            yield f"(?:{_SIGN})".join(order)
    if (day_and_year or joined) and said.month(month):
        yield rf"{d}{_NTH}{_LOOSE}{by_name}{_LOOSE}{y}"
        yield rf"{by_name}{_LOOSE}{d}{_NTH}{_LOOSE}{y}"
        yield rf"{y}{_LOOSE}{by_name}{_LOOSE}{d}{_NTH}"
    for full in _years(year):
        runs = (f"{day:02}{month:02}{full}", f"{month:02}{day:02}{full}", f"{full}{month:02}{day:02}")
        yield from filter(said.run, runs)


def _figures(number: int) -> tuple[str, str]:
    return f"{number}", f"0{number}"


def _years(year: int) -> tuple[str, str]:
    return f"{year}", f"{year % 100:02}"


def _month(month: int, language: str) -> str:
    """A pattern of the names of a month."""
    table = names(language)
    spelt = [name for name, number in table.months.items() if number == month]
    return rf"{_any((*spelt, table.full_months[month - 1], table.short_months[month - 1]))}(?![^\W\d_])\.?"


def _any(spelt: Iterable[str]) -> str:
    """A pattern of some words, the longest first."""
    return f"(?:{'|'.join(sorted(map(re.escape, {*spelt}), key=lambda word: (-len(word), word)))})"
