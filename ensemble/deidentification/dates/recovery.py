"""Clues to the number of days by which a patient's dates were shifted (Alexander and Beatty 2022).

    weekday_beside("Monday, 3/4/2019", 8, 16, "en")                 (0, 6): it must move with its date
    found = clues("Fell at Christmas (3/12/2020).", [(19, 28)], [(19, 28)], "en", day_first=False)
    possible_shifts(found)                                          the shifts that bring 12 March near Christmas

A clue is a weekday, a holiday or a season that was left in the text near a whole date that was replaced. Intervals and
ages are not clues, as all dates of a patient are shifted alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import cache

from phistack.ensemble.deidentification.dates.parsing import names, parse_dates
from phistack.ensemble.deidentification.word_lists import shipped
from phistack.features.letters import fold
from phistack.features.ranges import Range, touching

Clue = tuple[date, Callable[[date], bool]]
"""A shifted date, and a test of whether a day may be the true one."""

MOST_DAYS = 364
"""The most days by which dates are shifted, unless a policy says otherwise."""

_NEAR = 30
_BEFORE, _AFTER = re.compile(r"[ \t,.(]*"), re.compile(r"[ \t,(]*")
_SHORTEST = 3
_AROUND_HOLIDAY, _AROUND_SEASON = timedelta(days=7), 1


def weekday_beside(text: str, start: int, end: int, language: str) -> Range | None:
    """Where the weekday right before or after a date is written."""
    for match in _weekdays(language).finditer(text, max(0, start - _NEAR), min(len(text), end + _NEAR)):
        gap = (_BEFORE, match.end(), start) if match.end() <= start else (_AFTER, end, match.start())
        if gap[1] <= gap[2] and gap[0].fullmatch(text, *gap[1:]):
            return match.span()
    return None


@cache
def _weekdays(language: str) -> re.Pattern[str]:
    """A pattern of weekdays; short forms need a capital, as many are also other words."""
    known = names(language)
    short = (name.capitalize() for name in known.short_weekdays if len(name) >= _SHORTEST)
    return re.compile(rf"(?<!\w)(?:(?i:{'|'.join(known.full_weekdays)})|{'|'.join([*short, '(?!)'])})(?!\w)")


def clues(
    text: str, dates: Iterable[Range], taken: Iterable[Range], language: str, *, day_first: bool
) -> Iterator[Clue]:
    """The clues of a text.

    :param dates: where its shifted dates are.
    :param taken: where anything was replaced.
    """
    is_taken = touching(taken)
    for start, end in dates:
        points = parse_dates(text[start:end], language, day_first) or ()
        days = [date(p.year, p.month, *p.days) for p in points if p.year and p.month and len(p.days) == 1]
        if len(days) == 1:
            line = slice(text.rfind("\n", 0, start) + 1, (text + "\n").index("\n", end))
            first, last = max(line.start, start - _NEAR), min(line.stop, end + _NEAR)
            for word, test in _tests(language):
                found = (match.span() for match in word.finditer(text, first, last))
                if any(not is_taken(*place) for place in found):
                    yield days[0], test
            if (place := weekday_beside(text, start, end, language)) and not is_taken(*place):
                yield days[0], _on_weekday(names(language).weekdays[fold(text[slice(*place)])])


def possible_shifts(found: Iterable[Clue]) -> list[int]:
    """The shifts in days, never 0, that agree with the clues; a clue that would leave none is ignored."""
    left = [days for days in range(-MOST_DAYS, MOST_DAYS + 1) if days]
    for day, is_true in found:
        left = [days for days in left if is_true(day - timedelta(days=days))] or left
    return left


@cache
def _tests(language: str) -> Sequence[tuple[re.Pattern[str], Callable[[date], bool]]]:
    """Holidays and seasons, each with a test of days."""
    table = shipped("date_clues")
    holidays, seasons = (table[what].get(language, {}).items() for what in ("holidays", "seasons"))
    return [
        *((_word(name), _near_holiday(*map(int, day.split("-")))) for name, day in holidays),
        *((_word(name), _in_season(first)) for name, first in seasons),
    ]


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)


def _on_weekday(weekday: int) -> Callable[[date], bool]:
    return lambda day: day.weekday() == weekday


def _near_holiday(month: int, of_month: int) -> Callable[[date], bool]:
    return lambda day: any(abs(day - date(day.year + y, month, of_month)) <= _AROUND_HOLIDAY for y in (-1, 0, 1))


def _in_season(first: int) -> Callable[[date], bool]:
    return lambda day: (day.month - first + _AROUND_SEASON) % 12 < 3 + 2 * _AROUND_SEASON
