"""Words that everybody knows, so that to find one in an engine tells nothing of its patients.

    is_public = public_words("es")
    is_public("garcia"), is_public("1987"), is_public("birchwood")     True, True, False: folded words

They are those of the lists that ship with phistack: words of the language, frequent names, places, dates, titles. One
or two characters, zeros and the years from 1900 to 2099 are public too.
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

_ANYBODYS = re.compile(r"..?|0+|(?:19|20)\d\d")


@cache
def public_words(language: str) -> Callable[[str], bool]:
    """Whether a folded word is in a list of a language, an ISO 639-1 code."""
    entries = (" ".join(entry) for found in Gazetteers.of_language(language).entries.values() for entry in found)
    listed = (*word_list(language), *common_words(language), *_strings(words(language)), *entries)
    known = frozenset().union(*map(words_in, listed))
    return lambda word: word in known or _ANYBODYS.fullmatch(word) is not None


def _strings(table: Any) -> Iterator[str]:
    """All strings in a table, its names too."""
    if isinstance(table, str):
        yield table
    elif isinstance(table, dict | list):
        for part in (*table, *(table.values() if isinstance(table, dict) else ())):
            yield from _strings(part)
