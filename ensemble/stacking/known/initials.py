"""Initials of known persons, alone.

    known = KnownInitials({1: "Jane Smith"}, "en")
    [place for _, place in known.find("J.S. is well. JS")]    at 0 and at 14, where they need a sign

Initials are two or more capitals in the order of the name, beginning with its first word, with or without full stops,
hyphens and blanks. Ambiguous ones need a sign: with full stops, usual abbreviations (`A.M.`) and those that another
name may follow; without, usual abbreviations, two letters, letters with blanks between them, and lines in capitals. A
title before them, a credential after them or a word such as `patient` is a sign; so is a line with nothing else, unless
they are a usual abbreviation.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from phistack.ensemble.deidentification.word_lists import known_words
from phistack.ensemble.stacking.known.signs import AROUND, Place, is_abbreviation, names_somebody
from phistack.ensemble.stacking.repeats.search import NUMERALS
from phistack.features.letters import fold
from phistack.features.text_words import folded_words

_MOST = 6
"""The most letters; longer names would match any abbreviation."""

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_LETTERS = re.compile(
    rf"(?<![\w.])(?:(?:{_CAPITAL}\.[ \t]?-?)+{_CAPITAL}(?!\w)\.?|{_CAPITAL}{{2,6}}|{_CAPITAL}(?:[ -]{_CAPITAL}){{1,5}})"
    r"(?!\w)(?![.]\w)(?!['’](?![sS]\b))"
)
_NAME_AFTER = re.compile(r"[ \t][A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]")
_SURE = 3


class KnownInitials:
    """The initials of some persons.

    :param names: number -> a name, first name first unless there is a comma behind the last one.
    :param language: ISO 639-1 code, for titles and abbreviations.
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
