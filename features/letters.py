"""Letters without accents, the case of a word, and the edit distance of words.

fold("García")                   "garcia"
in_case_of("miller", "SMITH")    "MILLER"
edits("jonson", "johnson", 2)    1
"a1".translate(ByCharacter(...))  what a function returns for each character
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from unicodedata import combining, name, normalize

LETTER = "[^\\W\\d_][\u0300-\u036f]*"
"""A letter with its combining accents."""

WORD = re.compile(f"(?:{LETTER})+(?:['’](?:{LETTER})+)*")
"""A run of letters; an apostrophe between letters is part of it."""

_LATIN = ("LATIN", "FEMININE ORDINAL", "MASCULINE ORDINAL")
_PLAIN = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ł": "l", "þ": "th", "ð": "d", "ı": "i"})


class ByCharacter(dict[int, str]):
    """For `str.translate`: a function's result for each character, computed when the character first occurs."""

    def __init__(self, function: Callable[[str], str]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, code: int) -> str:
        found = self[code] = self._function(chr(code))
        return found


@lru_cache(maxsize=65536)
def fold(text: str) -> str:
    """Lower case without accents; `ß` is `ss`, `ø` is `o`."""
    return text.lower() if text.isascii() else without_accents(text.casefold()).casefold().translate(_PLAIN)


@lru_cache(maxsize=65536)
def without_accents(text: str) -> str:
    """The text in NFKD without combining accents."""
    return text if text.isascii() else "".join(c for c in normalize("NFKD", text) if not combining(c))


def normalised(mention: str) -> str:
    """A mention without differences of case, accents, blanks and full stops, for comparison."""
    return " ".join(fold(mention).replace(".", " ").split())


def parts(mention: str) -> frozenset[str]:
    """The folded words of three letters or more."""
    return frozenset(re.findall(r"[^\W\d_]{3,}", fold(mention)))


def is_latin(word: str) -> bool:
    """Whether every letter is Latin; `ª` and `º` are."""
    return all(c.isascii() or name(c, "").startswith(_LATIN) or combining(c) for c in word)


def in_case_of(word: str, original: str) -> str:
    """The word in upper, lower or title case, as the original is."""
    if original.isupper() and len(original) > 1:
        return word.upper()
    if original.islower():
        return word.lower()
    return word[:1].upper() + word[1:]


def edits(a: str, b: str, limit: int) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours between two words, or `limit` + 1 if more.

    This is the restricted edit distance of Damerau (1964), "optimal string alignment".
    """
    from rapidfuzz.distance import OSA

    return OSA.distance(a, b, score_cutoff=limit)
