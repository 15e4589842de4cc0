"""Columns of ours that are read only where the settings name them: `[features]`, `extra = ["n_letters", "honorific"]`.

    n_letters, n_digits, n_others     how many letters, digits and other signs a word has
    honorific                         whether it is a title or a medical profession, in any of our languages
    hospital                          `kind` for a word such as sjukhus or clinic, `name` for a well-known hospital
    zip                               whether it is a postal code of the United States, by the ranges of their states
    ascii                             whether it has no character but those of ASCII

They are what the CRF of Berg and Dalianis (2019) reads beside what every engine reads, `zip` that of Liu (2017) and
`ascii` that of Trienes (2020). Those that look at the text around a word are in `text_patterns`.
Words and postal codes are in `on_request.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from importlib import resources

from phistack.features.columns.installed import WordColumn
from phistack.features.columns.word_columns import NONE
from phistack.features.letters import fold

_MOST = 9
_SHORTEST_ENDING = 3
_ZIP_LENGTH = 5


def _counted(is_one: Callable[[str], bool]) -> WordColumn:
    return WordColumn("orthography", lambda word: str(min(sum(map(is_one, word)), _MOST)))


N_LETTERS = _counted(str.isalpha)
N_DIGITS = _counted(str.isdigit)
N_OTHERS = _counted(lambda c: not c.isalnum())
ASCII = WordColumn("orthography", lambda word: "1" if word.isascii() else NONE)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(map(fold, _listed(name)))


def _listed(name: str) -> list[str]:
    text = (resources.files("phistack.features.columns") / "on_request.toml").read_text(encoding="utf-8")
    return [word for line in tomllib.loads(text)[name].values() for word in line.split()]


@cache
def _zip_ranges() -> tuple[tuple[str, str], ...]:
    """The first and last code of each range; of five digits each, so that they are in order as words are."""
    return tuple((found[:_ZIP_LENGTH], found[-_ZIP_LENGTH:]) for found in _listed("zip"))


def _zip(word: str) -> str:
    is_code = len(word) == _ZIP_LENGTH and word.isascii() and word.isdecimal()
    return "1" if is_code and any(first <= word <= last for first, last in _zip_ranges()) else NONE


def _honorific(word: str) -> str:
    return "1" if fold(word) in _words("honorifics") else NONE


def _hospital(word: str) -> str:
    folded = fold(word)
    if folded in _words("hospitals"):
        return "name"
    kinds = _words("hospital_kinds")
    is_kind = folded in kinds or any(folded.endswith(kind) for kind in kinds if len(kind) > _SHORTEST_ENDING)
    return "kind" if is_kind else NONE


HONORIFIC = WordColumn("gazetteers", _honorific)
HOSPITAL = WordColumn("gazetteers", _hospital)
ZIP = WordColumn("gazetteers", _zip)
