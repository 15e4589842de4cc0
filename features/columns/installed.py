"""Feature columns that settings name: those of other packages, and ours of `features.columns.on_request`.

Such a column is computed from a word alone, or from the layout of notes:

    WARD = WordColumn("wards", lambda word: "1" if word in WARDS else "")
    NEAR = LayoutColumn("wards", codes_near_wards)          a function of a `Layout`, as those of `layout_columns`
    STEM = LanguageColumn("wards", lambda language: stemmer(language))      of a word, with a function per language

A package registers such an object under the name of the column, by an entry point in the group `phistack.columns`
(`features.registry`). Settings name it: `[features]`, `extra = ["ward"]`.
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

_OURS = (
    "ascii", "n_letters", "n_digits", "n_others", "honorific", "hospital", "frequency", "zip", "lemma",
    "number_pattern", "regex_hit",
)  # fmt: skip
COLUMNS = Registry(
    "phistack.columns",
    "feature column",
    {name: f"phistack.features.columns.on_request:{name.upper()}" for name in _OURS},
)

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class WordColumn:
    """A column computed from one word alone.

    :param group: the column group, ours or a new one; `without` and ablations leave out whole groups.
    :param value: word -> a short string; empty where the column does not apply. Called once for each distinct word.
    """

    group: str
    value: Callable[[str], str] = field(repr=False)

    def ids(self, name: str, layout: Layout, vocabulary: Vocabulary) -> Integers32:
        """The ids of the column, one per token; :raises PackageError: if a value is not a string."""
        return layout.of_words(
            name, lambda words: vocabulary.of_values(_string(name, self.value(word)) for word in words)
        )


@dataclass(frozen=True, slots=True)
class LanguageColumn:
    """A column computed from one word alone, in the language of the notes.

    :param group: as in `WordColumn`.
    :param value_in: language, as an ISO 639-1 code -> the function from a word to its value.
    :param module: must be installed; empty for none.
    :param extra: of phistack, which installs the module.
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
    """A column computed from the tokens of some notes laid end to end.

    :param group: as in `WordColumn`.
    :param values: layout -> codes, one per token, and the strings of the codes 0, 1, 2, ... A note's values must not
        depend on other notes.
    """

    group: str
    values: Callable[[Layout], Coded] = field(repr=False)

    def ids(self, name: str, layout: Layout, vocabulary: Vocabulary) -> Integers32:
        """The ids of the column, one per token; :raises PackageError: for a wrong number of codes, or unknown ones."""
        codes, strings = self.values(layout)
        if codes.shape != (len(layout),) or ((codes < 0) | (codes >= len(strings))).any():
            raise PackageError(f"the feature column {name} gives codes that are not one per token, each of a string")
        return vocabulary.ids(codes, [_string(name, string) for string in strings])


@cache
def installed_column(name: str) -> WordColumn | LanguageColumn | LayoutColumn:
    """A column by its name.

    :raises PackageError: if it is not installed, is of a wrong type or name, or needs a module that is not installed.
    """
    column = COLUMNS.load(name)
    if not isinstance(column, WordColumn | LanguageColumn | LayoutColumn) or not _NAME.fullmatch(name):
        raise PackageError(
            f"what the package {COLUMNS.packages(name)[0]} registers as the feature column {name} is no column of "
            f"phistack.features.columns.installed, or its name is not made of small letters, digits and _"
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
