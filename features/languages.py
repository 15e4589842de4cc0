"""The language and the script of a text, from its letters.

    language_of(["Dolor torácico de tres días de evolución."])       "es"
    furthest("Potilas kertoi rintakivusta ...", ("en",))             14.2: the distance from English
    foreign_letters("患者自述胸痛三天", {"LATIN"})                     ("CJK", 1.0)

Names, abbreviations and figures show little of a language, so only words in lower case are read, or all words of a
text in capitals. They are read in stretches: a note that is partly in another language has a stretch that is far from
its own. The detector is py3langid (Lui and Baldwin 2012; Barbaresi), which ships with a model of 139 languages and
needs no network. A distance is the log probability of the best language minus that of the given one, divided by the
square root of the stretch's length in bytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LATIN = "LATIN"
"""Scripts are named as in the Unicode names of letters: LATIN, GREEK, CYRILLIC, CJK, HIRAGANA, ARABIC, ..."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_BLOCK = 500
_MOST_BLOCKS = 100
_STRETCH = 200
_LEAST = 12
# Not a language; and Latin, the language of anatomy and prescriptions in all notes.
_NO_LANGUAGES = ("zxx", "la")
# Two languages are distinguished at this distance: sentences in five languages are more than 5 from the second nearest
# of these languages, lists of abbreviations less than 1.5.
_CLEAR = 3.0
# Letters that are figures and units in texts of any script.
_NEUTRAL = ("FEMININE", "MASCULINE", "MICRO", "OHM", "KELVIN", "ANGSTROM", "MODIFIER", "SUPERSCRIPT", "SUBSCRIPT")


_SCRIPT_NAMES = {"CJK": "Chinese", "HANGUL": "Korean"}


def foreign_letters(text: str, scripts: Collection[str]) -> tuple[str, float]:
    """The most frequent other script, empty for none, and the share of all other scripts in the letters, in [0, 1].

    A single Greek letter is a symbol and does not count.
    """
    if text.isascii():
        return "", 0.0
    counts = Counter(text)
    foreign = "".join(c for c in counts if not c.isascii() and c.isalpha() and script_of(c) not in (*scripts, ""))
    found: Counter[str] = Counter()
    for match in re.finditer(f"[{re.escape(foreign)}]+", text) if foreign else ():
        script = script_of(match[0][0])
        found[script] += 0 if script == "GREEK" and len(match[0]) == 1 else len(match[0])
    if not found.total():
        return "", 0.0
    return found.most_common(1)[0][0], found.total() / sum(n for c, n in counts.items() if c.isalpha())


def scripts_of(text: str) -> set[str]:
    """The scripts of all letters."""
    return {script_of(c) for c in set(text) if c.isalpha()} - {""}


@lru_cache(maxsize=4096)
def script_of(letter: str) -> str:
    """The script of a letter, as Unicode names it; empty for letters that are used in texts of any script."""
    if letter.isascii():
        return LATIN
    script = unicodedata.name(letter, "UNNAMED").split(" ")[0]
    return "" if script in _NEUTRAL else script


def distance_of(text: str, languages: Collection[str]) -> float:
    """The distance of a text, read as one stretch, from the nearest of some languages; 0 if the detector knows none."""
    scores = _scores(text)
    own = [scores[language] for language in languages if language in scores]
    return (max(scores.values()) - max(own)) / max(len(text.encode()), 1) ** 0.5 if own else 0.0


def most_likely(text: str) -> str:
    """The most likely language of a text, read as one stretch, as an ISO 639-1 code."""
    scores = _scores(text)
    return max(scores, key=scores.__getitem__)


def language_name(language: str) -> str:
    """A language in English: `Russian` for `ru`; for the name of a script, `Cyrillic letters`."""
    if language.isupper():
        return f"{_SCRIPT_NAMES.get(language, language.capitalize())} letters"
    from babel import Locale

    return str(Locale("en").languages.get(language, language))


def stretches(text: str) -> list[str]:
    """The parts of a text that show its language: up to 200 characters of each 500, of words in lower case."""
    words = [word for word in _WORD.findall(text) if word.isascii() or scripts_of(word) == {LATIN}]
    upper = sum(len(word) for word in words if word.isupper() and len(word) > 1)
    is_in_capitals = 2 * upper > sum(map(len, words))
    read = " ".join(word.lower() for word in words if is_in_capitals or word.islower())
    blocks = min(len(read) // _BLOCK + 1, _MOST_BLOCKS)
    starts = [len(read) * i // blocks for i in range(blocks)]
    # A text hardly longer than a stretch is one stretch.
    length = _STRETCH if len(read) > 2 * _STRETCH else len(read)
    found = (read[start : start + length] for start in starts)
    return [stretch for stretch in found if len(stretch) >= _LEAST]


def furthest(text: str, languages: Collection[str]) -> float:
    """The greatest distance of a stretch from the nearest of some languages (ISO 639-1 codes); 0 without a stretch."""
    return max((distance_of(stretch, languages) for stretch in stretches(text)), default=0.0)


def language_of(texts: Iterable[str]) -> str:
    """The most likely language of most stretches of some texts, as an ISO 639-1 code; empty if unknown."""
    votes = Counter(most_likely(stretch) for text in texts for stretch in stretches(text))
    return votes.most_common(1)[0][0] if votes else ""


def language_near(text: str, languages: Collection[str], distance: float) -> str:
    """The language of most of a text, preferably one of the given ones.

    :param languages: ISO 639-1 codes; a stretch is in the nearest of these if it is within the distance. In a mapping,
        languages with the same value need not be distinguished, as one engine reads them.
    :returns: an ISO 639-1 code; empty for a text that shows no language, such as a list of abbreviations.
    """
    votes: Counter[str] = Counter()
    reader = languages if isinstance(languages, Mapping) else {language: language for language in languages}
    for stretch in stretches(text):
        scores, unit = _scores(stretch), len(stretch.encode()) ** 0.5
        best = max(scores, key=scores.__getitem__)
        first, *others = (*sorted(languages, key=lambda one: scores.get(one, -inf), reverse=True), "")
        second = next((other for other in others if reader.get(other) != reader.get(first)), "")
        if scores[best] - scores.get(first, -inf) > distance * unit:
            votes[best] += 1
        elif scores[first] - scores.get(second, -inf) > _CLEAR * unit:
            votes[first] += 1
    return votes.most_common(1)[0][0] if votes else ""


# The engine choice and the language gate score the same stretches; a chunk of notes has about this many.
@lru_cache(maxsize=1024)
def _scores(stretch: str) -> dict[str, float]:
    return {language: score for language, score in _detector().rank(stretch) if language not in _NO_LANGUAGES}


@lru_cache(maxsize=1)
def _detector() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
