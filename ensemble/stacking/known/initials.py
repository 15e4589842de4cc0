"""The initials of a known person, without any part of the name beside them.

    list(initials_in("J.S. is well. JS", "Jane Smith", "en"))    [Initials(0, 4, False), Initials(14, 16, True)]

They are capitals, in the order of the name, from that of its first word: two of them or more, with full stops, hyphens
and blanks or without. What may well be anything else needs a sign: letters with full stops if they are a usual
abbreviation (`A.M.`), or if the name of somebody else may follow; letters without if they are that, if there are two,
if there are blanks between them, or if the whole line is in capitals. A title before them, a credential behind, or a
word such as `patient` is a sign; so is a line of their own for what is no usual abbreviation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from phistack.ensemble.deidentification.word_lists import known_words
from phistack.ensemble.stacking.known.signs import AROUND, is_abbreviation, names_somebody
from phistack.ensemble.stacking.repeats.search import NUMERALS, words_of
from phistack.features.letters import fold

_MOST = 6
"""Longer names have so many combinations of letters that any abbreviation is one of them."""

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_LETTERS = re.compile(
    rf"(?<![\w.])(?:(?:{_CAPITAL}\.[ \t]?-?)+{_CAPITAL}(?!\w)\.?|{_CAPITAL}{{2,6}}|{_CAPITAL}(?:[ -]{_CAPITAL}){{1,5}})"
    r"(?!\w)(?![.]\w)(?!['’](?![sS]\b))"
)
_NAME_AFTER = re.compile(r"[ \t][A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]")
_SURE = 3


class Initials(NamedTuple):
    """Where initials stand, and whether they may be anything else where nothing speaks for them."""

    start: int
    end: int
    needs_sign: bool


def initials_in(text: str, name: str, language: str) -> Iterator[Initials]:
    """The places of a text where the initials of a name stand.

    :param text: in its plain view.
    :param name: first name first, unless there is a comma behind the last one.
    """
    forms = _forms(name, language)
    for match in _LETTERS.finditer(text) if forms else ():
        letters = "".join(filter(str.isalpha, match[0]))
        if letters.isupper() and fold(letters) in forms:
            yield Initials(*match.span(), _needs_sign(text, match, fold(letters), language))


def _forms(name: str, language: str) -> frozenset[str]:
    idle = known_words(language, "names", "titles", "credentials", "connectors") | NUMERALS
    last, _, first = name.partition(",")
    whole = f"{first} {last}" if any(word not in idle for word in _words(first)) else last
    letters = [word[0] for word in _words(whole) if word not in idle and word[0].isalpha()][:_MOST]
    return frozenset(
        "".join((letters[0], *others))
        for count in range(1, len(letters))
        for others in combinations(letters[1:], count)
    )


def _words(text: str) -> list[str]:
    return [fold(text[start:end]) for start, end in words_of(text)]


def _needs_sign(text: str, match: re.Match[str], letters: str, language: str) -> bool:
    is_dotted, line = "." in match[0], _rest_of_line(text, match)
    is_usual = is_abbreviation(letters, language, dotted=is_dotted)
    if is_dotted:
        is_doubtful = is_usual or _NAME_AFTER.match(text, match.end()) is not None
    elif not any(map(str.isalnum, line)):
        is_doubtful = is_usual
    else:
        is_doubtful = is_usual or len(letters) < _SURE or not match[0].isalpha() or line.isupper()
    start, end = match.span()
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return is_doubtful and not names_somebody(before, after, language, may_be_else=is_usual or line.isupper())


def _rest_of_line(text: str, match: re.Match[str]) -> str:
    start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
    return text[start : match.start()] + text[match.end() : end if end >= 0 else len(text)]
