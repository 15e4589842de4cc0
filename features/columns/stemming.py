"""The stems of words, by NLTK's Snowball stemmers.

    stemmer("en")("running")     "run"

`import nltk` also imports its taggers and parsers, scikit-learn and SciPy's statistics, which takes most of a start's
time. The module of the stemmers is imported without them, by empty parent packages, or as usual if NLTK has another
layout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from types import ModuleType

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
