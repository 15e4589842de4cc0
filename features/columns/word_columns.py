"""Columns of one word alone: the token-level part of the unified feature set.

    word_column("shape", "en")("Parkinson")     "Aaaaaaaaa"
    word_column("stem", "en")("running")        "run", by NLTK's Snowball stemmers

Each column is a function from a word to a short string, computed once for each distinct word. Zhao 2020 (token level),
Liu 2017 (orthography, long and short shape, affixes), Berg 2019 (affixes 4, 8).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from types import ModuleType

from phistack.features.letters import ByCharacter

LANGUAGES = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french", "it": "italian",
    "nl": "dutch", "no": "norwegian", "pt": "portuguese", "sv": "swedish",
}  # fmt: skip
"""ISO 639-1 code -> the name of its Snowball stemmer."""

_SNOWBALL = "nltk.stem.snowball"
_ONE_AT_A_TIME = Lock()


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """The function that stems a word in small letters; the identity for a language without a stemmer."""
    name = LANGUAGES.get(language)
    if name is None:
        return str
    stem: Callable[[str], str] = _snowball().SnowballStemmer(name).stem
    return lambda word: word if word.isdecimal() else stem(word)


def _snowball() -> ModuleType:
    with _ONE_AT_A_TIME:
        if "nltk" not in sys.modules:
            with suppress(ImportError, AttributeError), _bare_packages():
                return import_module(_SNOWBALL)
        return import_module(_SNOWBALL)


@contextmanager
def _bare_packages() -> Iterator[None]:
    """Temporary packages of NLTK with its modules, but without the code of `__init__`.

    The stemmers import the stop words of `nltk.corpus`, but use them only on request.
    """
    spec = find_spec("nltk")
    home = list(spec.submodule_search_locations or ()) if spec else []
    bare = {name: ModuleType(name) for name in ("nltk", "nltk.stem", "nltk.corpus")}
    bare["nltk"].__path__ = home
    bare["nltk.stem"].__path__ = [f"{folder}/stem" for folder in home]
    bare["nltk.corpus"].__dict__["stopwords"] = None
    try:
        sys.modules |= bare
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]


NONE = ""
"""The value of a column that does not apply to a token."""


_SHAPE_OF = ByCharacter(lambda c: "A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c)


@lru_cache(maxsize=65_536)
def normal_form(word: str) -> str:
    """A word in small letters with its digits as 0: `Ward12` -> `ward00`."""
    return re.sub(r"\d", "0", word.lower())


def shape(word: str) -> str:
    """Letters to `A` and `a`, digits to `0`, others unchanged: `Smith12` -> `Aaaaa00`."""
    return word.translate(_SHAPE_OF)


@lru_cache(maxsize=4096)
def short_shape(word: str) -> str:
    """The shape with repeats joined: `Smith12` -> `Aa0`."""
    return re.sub(r"(.)\1+", r"\1", shape(word))


def _prefix(n: int) -> Callable[[str], str]:
    return lambda word: word[:n].lower() if len(word) > n else NONE


def _suffix(n: int) -> Callable[[str], str]:
    return lambda word: word[-n:].lower() if len(word) > n else NONE


def _flag(test: Callable[[str], bool]) -> Callable[[str], str]:
    return lambda word: "1" if test(word) else NONE


def _number_class(word: str) -> str:
    """The possible part of a date, or the number of digits: `7` -> `month`, `2081` -> `year`."""
    if not word.isdecimal():
        return NONE
    value = int(word[:9])
    if len(word) <= 2:
        return "month" if 1 <= value <= 12 else "day" if 1 <= value <= 31 else "two"
    return "year" if len(word) == 4 and 1900 <= value <= 2150 else f"digits{min(len(word), 12)}"


WORD_COLUMNS: Mapping[str, Callable[[str], str]] = {
    "word": lambda word: word,
    "lower": str.lower,
    "pattern": normal_form,
    "shape": shape,
    "short_shape": short_shape,
    "length": lambda word: str(len(word)) if len(word) <= 12 else "13-16" if len(word) <= 16 else "17-",
    "number": _number_class,
    "digits_only": _flag(str.isdecimal),
    "starts_upper": _flag(lambda word: word[0].isupper()),
    "all_upper": _flag(lambda word: word.isupper() and len(word) > 1),
    "has_upper": _flag(lambda word: any(c.isupper() for c in word[1:])),
    "has_digit": _flag(lambda word: any(c.isdigit() for c in word)),
    "punctuation": lambda word: word if len(word) == 1 and not word.isalnum() else NONE,
    **{f"prefix{n}": _prefix(n) for n in (1, 2, 3, 4, 5, 8)},
    **{f"suffix{n}": _suffix(n) for n in (1, 2, 3, 4, 5, 8)},
}


STEM = "stem"
"""The word column that depends on the language."""


def is_word_column(name: str) -> bool:
    """Whether a column depends on the word alone."""
    return name in WORD_COLUMNS or name == STEM


def word_column(name: str, language: str) -> Callable[[str], str]:
    """The function that gives a word's value in a column of `WORD_COLUMNS` or in `STEM`."""
    if name != STEM:
        return WORD_COLUMNS[name]
    stem = stemmer(language)
    return lambda word: stem(word.lower())
