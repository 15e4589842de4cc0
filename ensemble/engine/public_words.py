"""Public words: finding one in an engine says nothing about its patients.

    is_public = public_words("es")
    is_public("garcia"), is_public("1987"), is_public("birchwood")     True, True, False: folded words

They come from what ships with phistack: lists of words of the language, of frequent names, places, dates and titles,
patterns, the sentences of the self-test. One or two characters, zeros and the years from 1900 to 2099 are public too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from phistack.ensemble.deidentification.word_lists import words
from phistack.ensemble.engine.doubt import word_list
from phistack.ensemble.stacking.repeats.word_counts import common_words
from phistack.features.columns.gazetteers import Gazetteers
from phistack.features.discretion import words_in
from phistack.features.registry import packaged_table
from phistack.submodels.regex.pattern_files import format_patterns, shipped_patterns

_ANYBODYS = re.compile(r"..?|0+|(?:19|20)\d\d")


@cache
def public_words(language: str) -> Callable[[str], bool]:
    """Whether a folded word is in what ships for a language, an ISO 639-1 code."""
    known = frozenset().union(*map(words_in, public_strings(language)))
    return lambda word: word in known or _ANYBODYS.fullmatch(word) is not None


def public_strings(language: str) -> Iterator[str]:
    """Everything that ships for a language and may be in an engine."""
    # The language may come from a bundle, which must not name a file elsewhere.
    language = language if language.isalpha() else ""
    yield from (*word_list(language), *common_words(language), *strings_in(words(language)))
    yield from (" ".join(entry) for found in Gazetteers.of_language(language).entries.values() for entry in found)
    yield from format_patterns(shipped_patterns(language)).splitlines()
    yield from strings_in(packaged_table("phistack.ensemble.bundles", "self_test.toml"))


def strings_in(table: Any) -> Iterator[str]:
    """All strings in a table, as TOML and JSON have them, its names too."""
    if isinstance(table, str):
        yield table
    elif isinstance(table, dict | list):
        for part in (*table, *(table.values() if isinstance(table, dict) else ())):
            yield from strings_in(part)
