"""Initials of known persons, alone, and the context that supports ambiguous initials and parts of birth dates.

    known = KnownInitials({1: "Jane Smith"}, "en")
    [place for _, place in known.find("J.S. is well. JS")]    at 0 and at 14, where they need a sign
    tells_birth("born in ", "", "en")                         the words around: the year between is one of birth

Initials are two or more capitals in the order of the name, beginning with its first word, with or without full stops,
hyphens and blanks. Ambiguous ones need a sign. With full stops these are usual abbreviations (`A.M.`) and initials that
another name may follow; without, usual abbreviations, two letters, letters with blanks between them, and initials in
lines of capitals. A title before them, a credential after them or a word such as `patient` is a sign; so is a line with
nothing else, unless they are a usual abbreviation. The tables are in `signs.toml`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import combinations
from typing import Literal, NamedTuple

from phistack.ensemble.deidentification.word_lists import known_words
from phistack.ensemble.stacking.repeats.search import NUMERALS
from phistack.features.letters import fold
from phistack.features.registry import packaged_table
from phistack.features.text_words import folded_words

AROUND = 48
"""How many characters around a place count as context."""

How = Literal[
    "exact", "initials", "letters apart", "one typing error", "short form", "user name", "initials alone",
    "a part of it",
]  # fmt: skip
"""`exact` in all but case, accents, order and grouping; `initials` beside a word of the name."""

_tables = partial(packaged_table, "phistack.ensemble.stacking.known", "signs.toml")
_OF_ENGLISH_ONLY = frozenset({"b"})

_MOST = 6
"""The most letters; longer names would match any abbreviation."""

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_LETTERS = re.compile(
    rf"(?<![\w.])(?:(?:{_CAPITAL}\.[ \t]?-?)+{_CAPITAL}(?!\w)\.?|{_CAPITAL}{{2,6}}|{_CAPITAL}(?:[ -]{_CAPITAL}){{1,5}})"
    r"(?!\w)(?![.]\w)(?!['’](?![sS]\b))"
)
_NAME_AFTER = re.compile(r"[ \t][A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]")
_SURE = 3


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
    first, then = _beside_initials(language, may_be_else)
    return first.search(fold(before[-AROUND:])) is not None or then.match(fold(after[:AROUND])) is not None


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
def _beside_initials(language: str, may_be_else: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of the context before and after initials."""
    titles = known_words(language, "names", "titles") | known_words("en", "names", "titles")
    weaker = () if may_be_else else _of("somebody", language)
    before = rf"(?<!\w)(?:{_any((*_of('initials', language), *weaker, *titles))})\.?[ \t:=(,-]{{0,4}}$"
    after = rf",?[ \t]{{1,2}}(?:{_any(_tables()['credentials']['every'])})(?!\w)"
    return re.compile(before), re.compile(after)


@cache
def _birth(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of the context before and after a date of birth."""
    words = _of("birth", language)
    between = rf"(?:[\s:.,=(/-]|(?:{_any(_of('between', language))})\b)*"
    later = _any(word for word in words if len(word) > 1)
    return re.compile(rf"(?:(?<!\w)(?:{_any(words)})\b|\*){between}$"), re.compile(rf"[ \t,]{{0,2}}(?:{later})\b")


def _of(section: str, language: str) -> tuple[str, ...]:
    """The words of a language and of English, without those that mean it only in English."""
    table = _tables()[section]
    english = (word for word in table["en"] if language == "en" or word not in _OF_ENGLISH_ONLY)
    return tuple(dict.fromkeys((*english, *table.get(language, ()))))


def _any(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"[\s.-]{0,2}") for word in longest_first)


class KnownInitials:
    """The initials of some persons.

    :param names: number -> a name, first name first unless a comma follows the last name.
    """

    def __init__(self, names: Mapping[int, str], language: str) -> None:
        self._language = language
        self._whose: defaultdict[str, list[int]] = defaultdict(list)
        for number, name in names.items():
            for form in _forms(name, language):
                self._whose[form].append(number)

    def find(self, text: str) -> Iterator[tuple[int, Place]]:
        """The number of a name, and where its initials are in a text in its plain view."""
        for match in _LETTERS.finditer(text) if self._whose else ():
            letters = "".join(filter(str.isalpha, match[0]))
            whose = self._whose.get(fold(letters), ()) if letters.isupper() else ()
            # Two letters need a sign anyway.
            words = (fold(letters),) if match[0].isalpha() and len(letters) >= _SURE else ()
            needs_sign = bool(whose) and _needs_sign(text, match, fold(letters), self._language)
            yield from ((number, Place(*match.span(), "initials alone", words, needs_sign)) for number in whose)


def _forms(name: str, language: str) -> set[str]:
    no_names = known_words(language, "names", "titles", "credentials", "connectors") | NUMERALS
    last, _, first = name.partition(",")
    whole = f"{first} {last}" if any(word not in no_names for word in folded_words(first)) else last
    letters = [word[0] for word in folded_words(whole) if word not in no_names and word[0].isalpha()][:_MOST]
    rest = (others for count in range(1, len(letters)) for others in combinations(letters[1:], count))
    return {"".join((letters[0], *others)) for others in rest}


def _needs_sign(text: str, match: re.Match[str], letters: str, language: str) -> bool:
    (start, end), is_dotted = match.span(), "." in match[0]
    line_end = text.find("\n", end)
    line = text[text.rfind("\n", 0, start) + 1 : start] + text[end : line_end if line_end >= 0 else len(text)]
    is_usual = is_abbreviation(letters, language, dotted=is_dotted)
    if is_dotted:
        is_doubtful = is_usual or _NAME_AFTER.match(text, end) is not None
    elif not any(map(str.isalnum, line)):
        is_doubtful = is_usual
    else:
        is_doubtful = is_usual or len(letters) < _SURE or not match[0].isalpha() or line.isupper()
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return is_doubtful and not names_somebody(before, after, language, may_be_else=is_usual or line.isupper())
