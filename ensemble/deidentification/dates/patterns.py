"""The ways in which a date is written, as regular expressions of a language; see `date_patterns.toml`.

patterns("en")[0]        the most specific first, with a group for every part of a date
names("en").months       {"jan": 1, "january": 1, "sept": 9, ...}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from string import Template

from phistack.ensemble.deidentification.word_lists import shipped, words
from phistack.features.letters import fold


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
    """The longest first; each also without its accents."""
    spelt = {form for name in alternatives for form in (name.casefold(), fold(name))}
    return "|".join(sorted(map(re.escape, spelt), key=lambda form: (-len(form), form)))
