"""The whole and partial dates in a mention, and where each part of them is written.

    points = parse_dates("the 3rd of May, 2019", "en", day_first=False)
    points[0].year, points[0].month, points[0].days     2019, 5, (3,)
    parse_dates("some time later", "en", day_first=False)    None: words that are not a date

`date_patterns.toml` has regular expressions with a group for every part of a date; months and weekdays are in
`words/LANGUAGE.toml`. A numeric date with an open order of day and month is read in the order that the rest of the
note or the language uses, or in the other order if only that gives an existing day.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from string import Template

from phistack.ensemble.deidentification.word_lists import shipped, words
from phistack.features.letters import fold

EARLIEST_YEAR, LATEST_YEAR = 1800, 2199
"""Years outside this range are taken for other numbers."""

_YEAR = re.compile(r"(?<!\w)(1[89]\d\d|2[01]\d\d)(?!\w)")
_NUMERIC = re.compile(r"(?<!\d)(\d{1,2})\s*([-/.])\s*(\d{1,2})\s*\2\s*(?:\d{4}|\d{2})(?!\d)")
_PARTS = ("y", "m", "d", "d2", "mon", "wd", "ord", "ord2")


@dataclass(frozen=True)
class DateNames:
    """Folded name -> number, for months from 1 and weekdays from 0 (Monday); and the names as written."""

    months: dict[str, int]
    weekdays: dict[str, int]
    full_months: tuple[str, ...]
    short_months: tuple[str, ...]
    full_weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...]


@cache
def names(language: str) -> DateNames:
    """The months and weekdays of a language."""
    table = words(language)["dates"]
    lists = tuple(tuple(table[name]) for name in ("months", "short_months", "weekdays", "short_weekdays"))
    months, short_months, weekdays, short_weekdays = (
        {fold(name): number for number, name in enumerate(some, start)}
        for some, start in zip(lists, (1, 1, 0, 0), strict=True)
    )
    return DateNames(
        table["other_months"] | short_months | months, table["other_weekdays"] | short_weekdays | weekdays, *lists
    )


@cache
def patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of a language, in the order in which they are tried."""
    table, known = words(language)["dates"], shipped("date_patterns")
    month, weekday = (
        _any((*table[name], *table[f"short_{name}"], *table[f"other_{name}"])) for name in ("months", "weekdays")
    )
    ordinals = known["ordinals"].get(language, known["ordinals"]["en"])
    parts = known["parts"] | {
        "mon": rf"(?P<mon>(?:{month})(?![^\W\d_])\.?)",
        "wd": weekday,
        "nth": f"(?P<ord>{ordinals})?",
        "nth2": f"(?P<ord2>{ordinals})?",
    }
    every = (*(known["swedish"] if language == "sv" else ()), *known["written"])
    return tuple(re.compile(rf"(?<!\w){Template(one).substitute(parts)}", re.IGNORECASE) for one in every)


@cache
def filler(language: str) -> re.Pattern[str]:
    """What may be around and between dates: times of day, small words, blanks and punctuation."""
    time, small = shipped("date_patterns")["time"], _any(words(language)["dates"]["fillers"])
    return re.compile(rf"{time}|(?:{small})(?!\w)|[\s,;.()\-–—/:]", re.IGNORECASE)


def _any(alternatives: Iterable[str]) -> str:
    """A pattern of the alternatives, the longest first, each also without its accents."""
    spelt = {form for name in alternatives for form in (name.casefold(), fold(name))}
    return "|".join(sorted(map(re.escape, spelt), key=lambda form: (-len(form), form)))


@dataclass(frozen=True, slots=True)
class DatePoint:
    """One date, or a range of days within one month.

    :param year: with its century; None if no year is written.
    :param days: the day of the month; two for a range such as `3-5 May`.
    :param weekday: 0 for Monday, or None.
    :param places: (start, end, part) of each written part, in order; offsets in the mention.
    """

    start: int
    end: int
    year: int | None = field(default=None, repr=False)
    month: int | None = field(default=None, repr=False)
    days: tuple[int, ...] = field(default=(), repr=False)
    weekday: int | None = field(default=None, repr=False)
    places: tuple[tuple[int, int, str], ...] = ()


def parse_dates(mention: str, language: str, day_first: bool, near: int | None = None) -> tuple[DatePoint, ...] | None:
    """All dates of a mention that holds nothing else but small words and times of day.

    :param day_first: how to read 3/5, if both ways give a day.
    :param near: two-digit years are read as close to it as possible; without it 69 is 1969 and 68 is 2068 (POSIX).
    :returns: None if the mention holds anything else, or no date.
    """
    points: list[DatePoint] = []
    position = 0
    while position < len(mention):
        matches = filter(None, (pattern.match(mention, position) for pattern in patterns(language)))
        point = next(filter(None, (_point(match, language, day_first, near) for match in matches)), None)
        between = None if point else filler(language).match(mention, position)
        end = point.end if point else between.end() if between else position
        if end == position:
            return None
        points += [point] if point else []
        position = end
    return tuple(points) or None


def four_digit_year(mention: str) -> int | None:
    """The latest year from 1800 to 2199 written with four digits."""
    return max(map(int, _YEAR.findall(mention)), default=None)


def years_written(mention: str, language: str) -> set[str]:
    """The years of a mention as it writes them, with four digits or, where none has four, with two."""
    written = set(_YEAR.findall(mention))
    if written:
        return written
    points = parse_dates(mention, language, True) or ()
    return {mention[start:end].strip("'’") for point in points for start, end, part in point.places if part == "y"}


def order_shown_by(mention: str) -> list[bool]:
    """For each numeric date with only one possible order: whether the day comes first."""
    pairs = [(int(match[1]), int(match[3])) for match in _NUMERIC.finditer(mention)]
    return [first > 12 for first, second in pairs if (first > 12) != (second > 12)]


def has_day_first(shown: Counter[bool], language: str) -> bool:
    """Whether numeric dates put the day first, by the counts from `order_shown_by`, or else by the language."""
    usual = bool(words(language)["dates"]["day_first"])
    return usual if shown[True] == shown[False] else shown[True] > shown[False]


def year_of(mention: str, language: str) -> str | None:
    """The year, as it is written; None if there is none or more than one.

    :returns: four digits; two digits after an apostrophe where the century is not written.
    """
    written = years_written(mention, language)
    if len(written) != 1:
        return None
    year = written.pop()
    return year if len(year) == 4 else f"'{year}"


def _point(match: re.Match[str], language: str, day_first: bool, near: int | None) -> DatePoint | None:
    """The first reading of a match that is a real date."""
    spans = {name: match.span(name) for name in match.re.groupindex if match.span(name)[0] >= 0}
    readings = [spans]
    if "a" in spans:  # Two numbers, one of them the month, and perhaps a year.
        a, b, year = spans["a"], spans["b"], {name: span for name, span in spans.items() if name == "y"}
        readings = [{**year, "d": a, "m": b}, {**year, "m": a, "d": b}][:: 1 if day_first else -1]
        if not year:
            readings.append({"m": a, "y": b})
        elif language == "sv" and len(match["y"]) == 2:
            readings.insert(0, {"y": a, "m": b, "d": spans["y"]})
    return next(filter(None, (_checked(match, reading, language, near) for reading in readings)), None)


def _checked(
    match: re.Match[str], spans: dict[str, tuple[int, int]], language: str, near: int | None
) -> DatePoint | None:
    """The parts as a date, or None if there is no such day."""
    known, text = names(language), {name: match.string[start:end] for name, (start, end) in spans.items()}
    year = _year(text["y"], near) if "y" in text else None
    month = known.months.get(fold(text["mon"]).rstrip(".")) if "mon" in text else int(text.get("m", 0)) or None
    days = tuple(int(text[name]) for name in ("d", "d2") if name in text)
    weekday = known.weekdays.get(fold(text["wd"]).rstrip(".")) if "wd" in text else None
    if ("y" in text and year is None) or (("m" in text or "mon" in text) and not 1 <= (month or 0) <= 12):
        return None
    longest = calendar.monthrange(year or 2000, month)[1] if month else 31
    if any(not 1 <= day <= longest for day in days) or list(days) != sorted(set(days)):
        return None
    places = tuple(sorted((start, end, name) for name, (start, end) in spans.items() if name in _PARTS))
    return DatePoint(match.start(), match.end(), year, month, days, weekday, places)


def _year(text: str, near: int | None) -> int | None:
    digits = text.strip("'’")
    year = int(digits)
    if len(digits) == 4:
        return year if EARLIEST_YEAR <= year <= LATEST_YEAR else None
    if near is None:
        return year + (1900 if year >= 69 else 2000)
    return min((century + year for century in range(1800, 2200, 100)), key=lambda full: abs(full - near))
