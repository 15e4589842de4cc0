"""The ways in which a date is written, as regular expressions of a language.

patterns("en")[0]        the most specific first; every part of a date is a group: `y`, `m`, `d`, `mon`, `wd`, `ord`,
                         and `d2`, `ord2` of ranges; `a`, `b` are day and month in an order that is open
names("en").months       {"jan": 1, "january": 1, "sept": 9, ...}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from phistack.ensemble.deidentification.word_lists import words
from phistack.features.letters import fold

_ORDINAL = {"en": "st|nd|rd|th", "es": r"\.?º|\.?°|er|ro", "nl": "ste|de|e", "sv": ":?e|:?a"}
_SMALL = r"(?:de[l]?|of|the|van|den|von)"
_LOOSE = rf"(?:\s*[-/.,]\s*|\s+{_SMALL}\s+(?:{_SMALL}\s+|año\s+|ano\s+)?|\s*)"
_TIGHT = rf"(?:\s*[-/.,]\s*|\s+{_SMALL}\s+(?:{_SMALL}\s+|año\s+|ano\s+)?|\s+)"
_TO = r"\s*(?:[-–—/]|to|and|al|a|y|bis|tot|t/m|en|und|och|till|through)\s*"
_YEAR = r"(?P<y>\d{4}|['’]?\d{2})(?![\d:\w])"
_YEAR4 = r"(?P<y>\d{4}|['’]\d{2})(?![\d:\w])"
_D, _M, _D2 = r"(?P<d>\d{1,2})", r"(?P<m>\d{1,2})", r"(?P<d2>\d{1,2})"
_END = r"(?![\w:]|[-/.]\d)"
_END_OR_TIME = r"(?:(?![\w:]|[-/.]\d)|(?=T\d))"
_YEAR_END = r"(?![\w:]|[/.]\d|-\d{1,2}(?!\d))"
_TIME = (
    r"(?:t|at|a las|om|um|kl|kl\.)?\s*\d{1,2}[:.h]\d{2}(?::\d{2})?"
    r"\s*(?:h|hrs|hours|horas|uur|uhr|am|pm|a\.m\.|p\.m\.)?\b"
)


@dataclass(frozen=True)
class DateNames:
    """Folded name -> number, for months from 1 and weekdays from 0 (Monday)."""

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
    table = words(language)["dates"]
    month = _any((*table["months"], *table["short_months"], *table["other_months"]))
    weekday = _any((*table["weekdays"], *table["short_weekdays"], *table["other_weekdays"]))
    ordinals = "" if language == "de" else _ORDINAL.get(language, _ORDINAL["en"])
    nth, nth2 = (f"(?P<{name}>{ordinals})?" if ordinals else "" for name in ("ord", "ord2"))
    mon = rf"(?P<mon>(?:{month})(?![^\W\d_])\.?)"
    written = (
        rf"(?P<y>\d{{4}}){_LOOSE}{mon}{_LOOSE}{_D}{nth}{_END}",
        rf"{_D}\.?{nth}{_TO}{_D2}{nth2}{_LOOSE}{mon}{_LOOSE}{_YEAR}",
        rf"{_D}\.?{nth}{_TO}{_D2}{nth2}{_LOOSE}{mon}(?!\w)",
        rf"{mon}{_LOOSE}{_D}{nth}{_TO}{_D2}{nth2}{_TIGHT}{_YEAR4}",
        rf"{mon}{_LOOSE}{_D}{nth}{_TO}{_D2}{nth2}{_END}",
        rf"{_D}{nth}{_LOOSE}{mon}{_LOOSE}{_YEAR}",
        rf"{mon}{_LOOSE}{_D}{nth}{_TIGHT}{_YEAR}",
        rf"{mon}{_LOOSE}{_YEAR4}",
        rf"{_D}{nth}{_LOOSE}{mon}(?!\w)",
        rf"{mon}{_LOOSE}{_D}{nth}{_END}",
        rf"{mon}(?!\w)",
    )
    numeric = (
        rf"(?P<y>\d{{4}})\s*(?P<s>[-/.])\s*{_M}\s*(?P=s)\s*{_D}{_END_OR_TIME}",
        rf"(?P<a>\d{{1,2}})\s*(?P<s>[-/.])\s*(?P<b>\d{{1,2}})\s*(?P=s)\s*(?P<y>\d{{4}}|\d{{2}}){_END_OR_TIME}",
        rf"(?P<y>\d{{4}})(?P<m>\d{{2}})(?P<d>\d{{2}}){_END}",
        rf"(?P<a>\d{{1,2}})\s*/\s*(?P<b>\d{{1,2}}),?\s+(?P<y>\d{{4}}){_YEAR_END}",
        rf"{_M}\s*[-/.]\s*(?P<y>\d{{4}}){_END}",
        rf"(?P<y>\d{{4}})\s*[/.]\s*{_M}{_END}",
        rf"(?P<a>\d{{1,2}})\s*(?P<s>[-/.])\s*(?P<b>\d{{1,2}})(?P=s)?{_END}",
        rf"(?P<y>\d{{4}}|['’]\d{{2}}){_YEAR_END}",
        rf"(?P<wd>(?:{weekday})(?![^\W\d_])\.?)",
    )
    swedish = (
        rf"{_D}\s*/\s*{_M}\s*[-–]\s*(?P<y>\d{{4}}|\d{{2}}){_END}",
        rf"(?P<y>\d{{2}})(?P<m>\d{{2}})(?P<d>\d{{2}}){_END}",
    )
    every = (*swedish, *written, *numeric) if language == "sv" else (*written, *numeric)
    return tuple(re.compile(rf"(?<!\w){pattern}", re.IGNORECASE) for pattern in every)


@cache
def filler(language: str) -> re.Pattern[str]:
    """What may stand around and between dates: times of day, small words, blanks and punctuation."""
    small = _any(words(language)["dates"]["fillers"])
    return re.compile(rf"{_TIME}|(?:{small})(?!\w)|[\s,;.()\-–—/:]", re.IGNORECASE)


def _any(alternatives: Iterable[str]) -> str:
    """The longest first; each also without its accents."""
    spelt = {form for name in alternatives for form in (name.casefold(), fold(name))}
    return "|".join(sorted(map(re.escape, spelt), key=lambda form: (-len(form), form)))
