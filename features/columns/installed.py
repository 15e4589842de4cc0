"""Feature columns that settings ask for by name: of other packages, and ours of `features.columns.on_request`.

What such a column can be read off is a word alone, or a token's place in its note:

    WARD = WordColumn("wards", lambda word: "1" if word in WARDS else "")
    NEAR = LayoutColumn("wards", codes_near_wards)          a function of a `Layout`, as those of `layout_columns`
    STEM = LanguageColumn("wards", lambda language: stemmer(language))      of a word, otherwise in each language

A package registers such an object under the name of the column, by an entry point in the group `phistack.columns`
(`features.registry`). Features have it where the settings name it: `[features]`, `extra = ["ward"]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from phistack.features.arrays import Integers32
from phistack.features.columns.distinct import Coded
from phistack.features.columns.layout import Layout
from phistack.features.columns.vocabulary import Vocabulary
from phistack.features.errors import MissingResourceError, PackageError
from phistack.features.extras import need
from phistack.features.registry import Registry

COLUMNS = Registry(
    "phistack.columns",
    "feature column",
    {
        "ascii": "phistack.features.columns.on_request:ASCII",
        "n_letters": "phistack.features.columns.on_request:N_LETTERS",
        "n_digits": "phistack.features.columns.on_request:N_DIGITS",
        "n_others": "phistack.features.columns.on_request:N_OTHERS",
        "honorific": "phistack.features.columns.on_request:HONORIFIC",
        "hospital": "phistack.features.columns.on_request:HOSPITAL",
        "frequency": "phistack.features.columns.word_frequency:FREQUENCY",
        "zip": "phistack.features.columns.on_request:ZIP",
        "lemma": "phistack.features.columns.lemmas:LEMMA",
        "number_pattern": "phistack.features.columns.text_patterns:NUMBER_PATTERN",
        "regex_hit": "phistack.features.columns.text_patterns:REGEX_HIT",
    },
)

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class WordColumn:
    """A column that is read off one word alone.

    :param group: what the column is left out with, in `without` and in ablations; one of ours, or another.
    :param value: word -> a short string; empty where the column does not apply. Asked once for each distinct word.
    """

    group: str
    value: Callable[[str], str] = field(repr=False)

    def ids(self, name: str, layout: Layout, vocabulary: Vocabulary) -> Integers32:
        """The ids of the column, one a token; :raises PackageError: if a value is no string."""
        return layout.of_words(
            name, lambda words: vocabulary.of_values(_string(name, self.value(word)) for word in words)
        )


@dataclass(frozen=True, slots=True)
class LanguageColumn:
    """A column that is read off one word alone, by the language of the notes.

    :param group: as that of a `WordColumn`.
    :param value_in: language, as an ISO 639-1 code -> the function that gives a word's value.
    :param module: that must be installed; empty for none.
    :param extra: of phistack, which brings it.
    """

    group: str
    value_in: Callable[[str], Callable[[str], str]] = field(repr=False)
    module: str = ""
    extra: str = ""

    def of(self, language: str) -> WordColumn:
        """The column of one language."""
        return WordColumn(self.group, self.value_in(language))


@dataclass(frozen=True, slots=True)
class LayoutColumn:
    """A column that is read off the tokens of some notes laid end to end.

    :param group: as that of a `WordColumn`.
    :param values: layout -> codes, one a token, and the strings that the codes 0, 1, 2, ... stand for. It must not look
        from one note into another.
    """

    group: str
    values: Callable[[Layout], Coded] = field(repr=False)

    def ids(self, name: str, layout: Layout, vocabulary: Vocabulary) -> Integers32:
        """The ids of the column, one a token; :raises PackageError: if there are not as many codes, or others."""
        codes, strings = self.values(layout)
        if codes.shape != (len(layout),) or ((codes < 0) | (codes >= len(strings))).any():
            raise PackageError(f"the feature column {name} gives other codes than one a token, each of a string")
        return vocabulary.ids(codes, [_string(name, string) for string in strings])


@cache
def installed_column(name: str) -> WordColumn | LanguageColumn | LayoutColumn:
    """A column by its name.

    :raises PackageError: if none is installed, it is not what it must be, or what it needs is not installed.
    """
    column = COLUMNS.load(name)
    if not isinstance(column, WordColumn | LanguageColumn | LayoutColumn) or not _NAME.fullmatch(name):
        raise PackageError(
            f"what the package {COLUMNS.packages(name)[0]} registers as the feature column {name} is no column of "
            f"phistack.features.columns.installed, or its name is none: small letters, digits and _"
        )
    found: WordColumn | LanguageColumn | LayoutColumn = column
    if isinstance(found, LanguageColumn) and found.module:
        try:
            need(found.module, found.extra, f"the feature column {name}")
        except MissingResourceError as error:
            raise PackageError(str(error)) from None
    return found


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise PackageError(f"the feature column {name} gives a value of type {type(value).__name__}, not a string")
    return value
