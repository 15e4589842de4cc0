"""Known dates in a text, in any notation, whole or in part.

    known = KnownDates({1: "1950-04-03"}, "en")
    [place for _, place in known.find("born April 3rd, 1950")]     from 5 to 20; also 4/3/50, 03.04.1950, 3-IV-1950
    [place for _, place in known.find("born in 1950")]             from 8 to 12, a part of it

Day and month may be in either order; if the record's own order is ambiguous, both readings count. A part of a date is
day and month, month and year, or the year. It is certain if it names the month, or is a month with a four-digit year;
other figures (`4/3`, `1950`) are ambiguous unless words around them mention a birth.

Each form of a date is searched for once, and each match is looked up among the known dates.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from phistack.ensemble.deidentification.dates.parsing import EARLIEST_YEAR, LATEST_YEAR, names, parse_dates
from phistack.ensemble.deidentification.word_lists import LANGUAGES
from phistack.ensemble.stacking.known.signs import AROUND, Place, tells_birth
from phistack.features.letters import fold
from phistack.features.ranges import Range, Test, touching

_ROMAN = {name: month for month, name in enumerate("i ii iii iv v vi vii viii ix x xi xii".split(), 1)}
_NTH = r"(?:\s?(?:st|nd|rd|th|er|ste|de|º|°|ª|:?[ea])|\.)?"
_LOOSE = r"[\s,./_^|~-]{0,3}(?:(?:of|the|del?|a[nñ]o|van|den|von)\b\s*){0,3}"
_SIGN = r"(?:\s{0,2}[^\w\s]\s{0,2}|[\s_])"
_D, _M, _Y = r"(?P<d>\d{1,2})(?!\d)", r"(?P<m>\d{1,2})(?!\d)", r"['’]?(?P<y>\d{4}|\d{2})(?!\d)"
_FULL, _SHORT = r"(?P<y>\d{4})", r"(?P<y>\d{2})"
_DAY_BEFORE = re.compile(rf"(?<!\w)\d{{1,2}}{_NTH}{_LOOSE}$", re.IGNORECASE)
_NO_YEAR_AFTER = rf"(?!{_LOOSE}(?:(?:1[89]|20|21)\d\d|['’]\d\d)(?!\w))"
_MONTHS_IN_CAPITALS = ("en", "de")
_FEWEST_DIGITS = 6

_Key = tuple[int | None, int | None, int | None]
"""Year, month and day, as far as given; a year below 100 has two digits."""


class _Form(NamedTuple):
    """A way to write a date; `NAME` in its pattern is the name of a month, `ROMAN` also a Roman figure.

    :param needs_sign: whether it is ambiguous; `in small letters`: only without a capital.
    """

    pattern: str
    is_whole: bool = True
    needs_sign: bool | Literal["in small letters"] = False
    before: re.Pattern[str] | None = None


_FORMS = (
    _Form(f"{_D}{_SIGN}{_M}{_SIGN}{_Y}"), _Form(f"{_M}{_SIGN}{_D}{_SIGN}{_Y}"), _Form(f"{_Y}{_SIGN}{_M}{_SIGN}{_D}"),
    _Form(f"{_D}{_NTH}{_LOOSE}ROMAN{_LOOSE}{_Y}"), _Form(f"ROMAN{_LOOSE}{_D}{_NTH}{_LOOSE}{_Y}"),
    _Form(rf"ROMAN{_LOOSE}(?P<d>\d{{1,2}}){_FULL}(?!\d)"), _Form(f"{_Y}{_LOOSE}ROMAN{_LOOSE}{_D}{_NTH}"),
    # `Take 1 may repeat` is no date.
    _Form(f"{_D}{_NTH}{_LOOSE}NAME{_NO_YEAR_AFTER}", False, "in small letters"),
    _Form(f"NAME{_LOOSE}{_D}{_NTH}{_NO_YEAR_AFTER}", False, "in small letters"),
    _Form(rf"NAME{_LOOSE}(?P<y>\d{{4}}|['’]\d\d)", False, "in small letters", _DAY_BEFORE),
    _Form(rf"{_M}\s?[-/.]\s?{_FULL}", False), _Form(rf"{_FULL}\s?[-/.]\s?{_M}", False),
    _Form(rf"{_D}[-/.]{_M}\.?", False, True), _Form(f"{_M}[-/]{_D}", False, True), _Form(f"{_M}/{_SHORT}", False, True),
    _Form(_FULL, False, True), _Form(f"['’-]{_SHORT}", False, True),
)  # fmt: skip
"""The longest first: matches inside an earlier match of the same date are skipped."""


class KnownDates:
    """Some dates.

    :param written: number -> a date as a record has it: ISO, as notes in the language write it, or a year alone.
    :ivar figures: number -> the digits of the date in each order, six or more; no entry for what is not a date.
    """

    def __init__(self, written: Mapping[int, str], language: str) -> None:
        self._language = language
        self._known: defaultdict[_Key, dict[int, None]] = defaultdict(dict)
        self.figures: dict[int, list[str]] = {}
        for number, value in written.items():
            days = sorted({day for day_first in (True, False) for day in _days(value, language, day_first)})
            is_year = not days and value.isdecimal() and EARLIEST_YEAR <= int(value) <= LATEST_YEAR
            for key in (*_keys(days), *([(int(value), None, None), (int(value) % 100, None, None)] if is_year else [])):
                self._known[key][number] = None
            if days or is_year:
                self.figures[number] = [*_figures(days)]

    def find(self, text: str) -> Iterator[tuple[int, Place]]:
        """The number of a date, and where it is in a text in its plain view."""
        if not self._known:
            return
        month, forms = _grammar(self._language)
        has_month = month.search(text) is not None
        taken: defaultdict[int, list[Range]] = defaultdict(list)
        for form, pattern in forms:
            if has_month or not ("NAME" in form.pattern or "ROMAN" in form.pattern):
                is_taken = {number: touching(ranges) for number, ranges in taken.items()}
                found = [*self._places(form, pattern, text, is_taken)]
                for number, place in found:
                    taken[number].append((place.start, place.end))
                yield from found

    def _places(
        self, form: _Form, pattern: re.Pattern[str], text: str, is_taken: Mapping[int, Test]
    ) -> Iterator[tuple[int, Place]]:
        ends: dict[int, int] = {}
        for match in pattern.finditer(text):
            start, end = match.span("date")
            for number in self._known.get(_key(match, self._language), ()):
                if start < ends.get(number, 0) or (number in is_taken and is_taken[number](start, end)):
                    continue
                before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
                if form.before is None or not form.before.search(before):
                    ends[number] = end
                    is_small = self._language in _MONTHS_IN_CAPITALS and match["date"].islower()
                    is_open = is_small if form.needs_sign == "in small letters" else form.needs_sign
                    needs_sign = is_open and not tells_birth(before, after, self._language)
                    yield number, Place(start, end, "exact" if form.is_whole else "a part of it", (), needs_sign)


def _days(written: str, language: str, day_first: bool) -> Iterator[tuple[int, int, int]]:
    """The dates that a record's value may mean."""
    for tried in dict.fromkeys((language, *LANGUAGES)):
        points = parse_dates(written.partition("T")[0], tried, day_first)
        if points and len(points) == 1 and points[0].year and points[0].month and len(points[0].days) == 1:
            yield points[0].year, points[0].month, points[0].days[0]
            return


def _keys(days: Iterable[tuple[int, int, int]]) -> Iterator[_Key]:
    """Whole dates and their parts."""
    for full, month, day in days:
        yield None, month, day
        for year in (full, full % 100):
            yield from ((year, month, day), (year, month, None), (year, None, None))


def _figures(days: Iterable[tuple[int, int, int]]) -> Iterator[str]:
    for full, month, day in days:
        for year in (f"{full}", f"{full % 100:02}"):
            for m, d in {(f"{month:02}", f"{day:02}"): 0, (f"{month}", f"{day}"): 0}:
                ways = (f"{year}{m}{d}", f"{d}{m}{year}", f"{m}{d}{year}")
                yield from (way for way in ways if len(way) >= _FEWEST_DIGITS)


def _key(match: re.Match[str], language: str) -> _Key:
    given = {part: text.strip("'’") for part, text in match.groupdict().items() if text}
    year, month, day = (int(given[part]) if part in given else None for part in "ymd")
    return year, _months(language)[fold(given["name"])] if "name" in given else month, day


@cache
def _months(language: str) -> dict[str, int]:
    """Folded name or Roman figure -> the number of a month."""
    return _ROMAN | names(language).months


@cache
def _grammar(language: str) -> tuple[re.Pattern[str], list[tuple[_Form, re.Pattern[str]]]]:
    """The pattern of month names, and each form with its pattern, which does not match within a number."""
    table = names(language)
    name = _any({*table.months, *table.full_months, *table.short_months})
    months = {"NAME": rf"(?P<name>{name})(?![^\W\d_])\.?", "ROMAN": rf"(?P<name>{name}|{_any(_ROMAN)})(?![^\W\d_])\.?"}
    weekday = rf"(?:{_any({*table.weekdays, *table.full_weekdays, *table.short_weekdays})}\b\.?,?\s{{1,2}})?"
    forms = []
    for form in _FORMS:
        pattern = (weekday if form.is_whole else "") + form.pattern
        for word, names_of_months in months.items():
            pattern = pattern.replace(word, names_of_months)
        bounded = rf"(?<!\w)(?<!\d[./-])(?=(?P<date>{pattern})(?![^\W_])(?![./-]\d))"
        forms.append((form, re.compile(bounded, re.IGNORECASE)))
    return re.compile(f"{name}|(?<![a-z]){_any(_ROMAN)}(?![^\\W\\d_])", re.IGNORECASE), forms


def _any(spelt: Iterable[str]) -> str:
    """A pattern of some words, the longest first."""
    return f"(?:{'|'.join(sorted(map(re.escape, spelt), key=lambda word: (-len(word), word)))})"
