"""The tables that ship beside this module, and the words of a language among them.

words("sv")["dates"]["months"][4]     "maj", of `words/sv.toml`
known_words("es", "ages", "years")    the words as a set, for looking up
shipped("policies/tag")               the table of `policies/tag.toml`
"""

from __future__ import annotations

from functools import cache
from typing import Any

from phistack.features.registry import packaged_table

LANGUAGES = ("en", "es", "nl", "sv", "de")
"""The languages in which there are surrogates."""


def shipped(name: str) -> dict[str, Any]:
    """A table by its path in this folder, without the ending `.toml`."""
    return packaged_table("phistack.ensemble.deidentification", f"{name}.toml")


def words(language: str) -> dict[str, Any]:
    """The tables of a language; those of English where it has none."""
    return shipped(f"words/{language if language in LANGUAGES else LANGUAGES[0]}")


@cache
def known_words(language: str, section: str, *names: str) -> frozenset[str]:
    """The words of some lists of one section."""
    return frozenset(word for name in names for word in words(language)[section][name])
