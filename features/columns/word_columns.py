"""What can be read off one word alone: the token-level part of the unified feature set.

    word_column("shape", "en")("Parkinson")     "Aaaaaaaaa"
    word_column("stem", "en")("running")        "run"

Each column is a function from a word to a short string, declared in `WORD_COLUMNS`, or the stem; a value is computed
once for each distinct word. Zhao 2020 (token level), Liu 2017 (orthography, long and short shape, affixes), Berg 2019
(affixes 4, 8).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

def is_word_column(name: str) -> bool:
    """Whether a column depends on the word alone."""
    return name in WORD_COLUMNS or name == STEM


def word_column(name: str, language: str) -> Callable[[str], str]:
    """The function that gives a word's value in a column of `WORD_COLUMNS` or in `STEM`."""
    if name != STEM:
        return WORD_COLUMNS[name]
    stem = stemmer(language)
    return lambda word: stem(word.lower())
