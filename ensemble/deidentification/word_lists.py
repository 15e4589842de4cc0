"""The words that surrogates need, by language: `words/LANGUAGE.toml`.

words("sv")["dates"]["months"][4]     "maj"
known_words("es", "ages", "years")    the words as a set, for looking up
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "es", "nl", "sv", "de")
"""The languages in which there are surrogates."""


@cache
def words(language: str) -> dict[str, Any]:
    """The tables of a language; those of English where there are none."""
    name = language if language in LANGUAGES else LANGUAGES[0]
    folder = resources.files("phistack.ensemble.deidentification") / "words"
    table: dict[str, Any] = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    return table


@cache
def known_words(language: str, section: str, *names: str) -> frozenset[str]:
    """The words of some lists of one section."""
    return frozenset(word for name in names for word in words(language)[section][name])
