"""Context that supports ambiguous initials and parts of birth dates.

    names_somebody("Dr. ", "", "en")         the words before: initials that follow are of a person
    tells_birth("born in ", "", "en")        the words around: the year between is one of birth
    is_abbreviation("ct", "en")              letters that mean something else in many notes

The tables are in `signs.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from typing import Literal, NamedTuple

from phistack.ensemble.deidentification.word_lists import known_words
from phistack.features.letters import fold
from phistack.features.registry import packaged_table

AROUND = 48
"""How many characters around a place count as context."""

How = Literal[
    "exact", "initials", "letters apart", "one typing error", "short form", "user name", "initials alone",
    "a part of it",
]  # fmt: skip
"""`exact` in all but case, accents, order and grouping; `initials` beside a word of the name."""

_tables = partial(packaged_table, "phistack.ensemble.stacking.known", "signs.toml")
_OF_ENGLISH_ONLY = frozenset({"b"})


class Place(NamedTuple):
    """Where an identifier is in a text, and in what way it is written.

    :param words: folded, as in the text; if all are words of the language, the place is ambiguous.
    :param needs_sign: whether it is ambiguous, with no supporting context.
    """

    start: int
    end: int
    how: How = "exact"
    words: tuple[str, ...] = ()
    needs_sign: bool = False


def names_somebody(before: str, after: str, language: str, *, may_be_else: bool = False) -> bool:
    """Whether the words beside a place in the same line indicate a person.

    :param may_be_else: whether a usual abbreviation is there, which needs a title, a credential or a word such as
        `initials`; otherwise one such as `patient` is enough.
    """
    first = _before_initials(language, may_be_else).search(fold(before[-AROUND:]))
    return first is not None or _credentials().match(fold(after[:AROUND])) is not None


def tells_birth(before: str, after: str, language: str) -> bool:
    """Whether the words around a date indicate a birth."""
    first, then = _birth(language)
    return first.search(fold(before[-AROUND:])) is not None or then.match(fold(after[:AROUND])) is not None


@cache
def is_abbreviation(letters: str, language: str, *, dotted: bool = False) -> bool:
    """Whether folded letters, or such with full stops, are a usual abbreviation of clinical notes."""
    if dotted:
        return letters in _tables()["dotted"]["every"].split()
    table = _tables()["abbreviations"]
    return letters in table["every"].split() or letters in table.get(language, ())


@cache
def _before_initials(language: str, may_be_else: bool) -> re.Pattern[str]:
    titles = known_words(language, "names", "titles") | known_words("en", "names", "titles")
    weaker = () if may_be_else else _of("somebody", language)
    return re.compile(rf"(?<!\w)(?:{_any((*_of('initials', language), *weaker, *titles))})\.?[ \t:=(,-]{{0,4}}$")


@cache
def _credentials() -> re.Pattern[str]:
    return re.compile(rf",?[ \t]{{1,2}}(?:{_any(_tables()['credentials']['every'])})(?!\w)")


@cache
def _birth(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of the context before and after a date of birth."""
    words = _of("birth", language)
    between = rf"(?:[\s:.,=(/-]|(?:{_any(_of('between', language))})\b)*"
    later = _any(word for word in words if len(word) > 1)
    return re.compile(rf"(?:(?<!\w)(?:{_any(words)})\b|\*){between}$"), re.compile(rf"[ \t,]{{0,2}}(?:{later})\b")


def _of(section: str, language: str) -> tuple[str, ...]:
    """The words of a language and of English, without those that mean it in English only."""
    table = _tables()[section]
    english = (word for word in table["en"] if language == "en" or word not in _OF_ENGLISH_ONLY)
    return tuple(dict.fromkeys((*english, *table.get(language, ()))))


def _any(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"[\s.-]{0,2}") for word in longest_first)
