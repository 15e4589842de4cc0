"""The sex that a note states for a person it names.

stated_sex("Mr. Robin Hale came.", 4, 14, "en")                   "male": by the title
stated_sex("Robin Hale is a 54 y/o F.", 0, 10, "en")              "female": by what follows in the sentence
pronouns("She came. Her pain is less.", "en")                     Counter({"female": 2})
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from functools import cache

from phistack.ensemble.deidentification.word_lists import known_words
from phistack.features.letters import fold

_WORD = re.compile(r"[^\W\d_]+")
_TITLE = re.compile(r"([^\W\d_]+)\.?\s+\Z")
_AGED = re.compile(r"\d\s?(?:y/?o|yo|yr|j|år)?\s?([MFWVHK])\b")
"""A letter after an age: male and female, German and Dutch, Spanish, Swedish."""
_LETTERS = {"M": "male", "F": "female", "W": "female", "K": "female"}
_OTHER_LETTERS = {"es": {"H": "male", "V": "male", "M": "female"}, "nl": {"V": "female"}}
_BEFORE, _AFTER = 24, 60
_SENTENCE_END = re.compile(r"[.;!?]\s|\n\s*\n")
SEXES = ("female", "male")


def stated_sex(text: str, start: int, end: int, language: str) -> str | None:
    """The sex that a title before a name, or the rest of its sentence, states; `None` if none or both."""
    title = _TITLE.search(text, max(0, start - _BEFORE), start)
    if title is not None:
        shown = sex_of_titles({fold(title[1])}, language)
        if shown:
            return shown
    rest = _SENTENCE_END.split(text[end : end + _AFTER], maxsplit=1)[0]
    stated = {sex for word in _WORD.findall(rest) if (sex := _listed(language, "nouns").get(fold(word)))}
    letters = {**_LETTERS, **_OTHER_LETTERS.get(language, {})}
    stated |= {letters[letter] for letter in _AGED.findall(rest) if letter in letters}
    return stated.pop() if len(stated) == 1 else None


def pronouns(text: str, language: str) -> Counter[str]:
    """How many pronouns of each sex a text has."""
    by_word = _listed(language, "pronouns")
    return Counter(sex for word in _WORD.findall(text) if (sex := by_word.get(fold(word))))


def sex_of_titles(titles: Set[str], language: str) -> str | None:
    """The sex that folded titles show; `None` if none or both."""
    shown = [sex for sex in SEXES if titles & known_words(language, "names", f"{sex}_titles")]
    return shown[0] if len(shown) == 1 else None


@cache
def _listed(language: str, what: str) -> dict[str, str]:
    return {word: sex for sex in SEXES for word in known_words(language, "names", f"{sex}_{what}")}
