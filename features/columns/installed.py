"""Optional columns, computed only if the settings name them: `[features]`, `extra = ["n_letters", "honorific"]`.

Such a column is computed from a word alone, or from the layout of notes:

    WARD = WordColumn("wards", lambda word: "1" if word in WARDS else "")
    NEAR = LayoutColumn("wards", codes_near_wards)          a function of a `Layout`, as those of `layout_columns`
    STEM = LanguageColumn("wards", lambda language: stemmer(language))      of a word, with a function per language

A package registers such an object under the name of the column, by an entry point in the group `phistack.columns`
(`features.registry`). Ours are:

    n_letters, n_digits, n_others     the number of letters, digits and other characters of the word
    honorific                         whether the word is a title or a medical profession, in any of our languages
    hospital                          `kind` for a word such as sjukhus or clinic, `name` for a well-known hospital
    zip                               whether the word is a postal code of the United States, by the ranges of states
    ascii                             whether the word is ASCII
    lemma                             the lemma, by simplemma; an unknown word in small letters
    frequency                         a step of the Zipf scale, by wordfreq (Speer 2022): the decimal logarithm of the
                                      occurrences per billion words (van Heuven et al. 2014), rounded down; "0" for an
                                      unknown word, empty if the word does not begin with a letter
    usual_case                        how the word is usually written (`a` small, `Aa` capital, `AA` capitals, `?`
                                      unknown) and how it is written here: `Aa/a` for `nguyen`; empty if it does not
                                      begin with a letter
    clinical                          the category of a clinical word, such as `eponyms` or `credentials`
    number_pattern                    `date`, `part` or `phone` where the token is in text that looks like one
    regex_hit                         `email`, `url`, `ip`, or `digits`, a series of five digits or more

Most come from the CRF of Berg and Dalianis (2019), `zip` from Liu (2017), `ascii` from Trienes (2020), `regex_hit` from
AnonyMate (Adams et al. 2019). simplemma and wordfreq include their data and use no server. Words and postal codes are
in `on_request.toml`; the words of `usual_case` in `usual_case/LANGUAGE.txt`, which `benchmarks/safe_words.py` makes;
those of `clinical` in `clinical/LANGUAGE.toml`, written for phistack. An engine does not keep these files: if you
change one, train again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TypeVar

import numpy as np

from phistack.features.arrays import Integers32
from phistack.features.columns.layout import Layout
from phistack.features.columns.vocabulary import Coded, Vocabulary
from phistack.features.columns.word_columns import NONE
from phistack.features.errors import MissingResourceError, PackageError, need
from phistack.features.letters import fold
from phistack.features.registry import Registry, packaged_table, packaged_text

_OURS = (
    "ascii", "n_letters", "n_digits", "n_others", "honorific", "hospital", "frequency", "zip", "lemma",
    "usual_case", "clinical", "number_pattern", "regex_hit",
)  # fmt: skip
COLUMNS = Registry(
    "phistack.columns",
    "feature column",
    {name: f"phistack.features.columns.installed:{name.upper()}" for name in _OURS},
)

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_File = TypeVar("_File")


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
        return layout.of_words(name, lambda words: vocabulary.of_values(_string(name, self.value(w)) for w in words))


@dataclass(frozen=True, slots=True)
class LanguageColumn:
    """A column computed from one word alone, in the language of the notes.

    :param group: as in `WordColumn`.
    :param value_in: language, as an ISO 639-1 code -> the function from a word to its value.
    :param module: the module that it needs; empty for none.
    :param extra: the extra of phistack that installs the module.
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
    column: object = COLUMNS.load(name)
    if not isinstance(column, WordColumn | LanguageColumn | LayoutColumn) or not _NAME.fullmatch(name):
        raise PackageError(
            f"what the package {COLUMNS.packages(name)[0]} registers as the feature column {name} is no column of "
            f"phistack.features.columns.installed, or its name is not made of small letters, digits and _"
        )
    if isinstance(column, LanguageColumn) and column.module:
        try:
            need(column.module, column.extra, f"the feature column {name}")
        except MissingResourceError as error:
            raise PackageError(str(error)) from None
    return column


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise PackageError(f"the feature column {name} gives a value of type {type(value).__name__}, not a string")
    return value


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
    table = packaged_table("phistack.features.columns", "on_request.toml")[name]
    return frozenset(fold(word) for line in table.values() for word in line.split())


def _zip(word: str) -> str:
    # A range is its first and last code; all have five digits, so they compare as strings.
    is_code = len(word) == _ZIP_LENGTH and word.isascii() and word.isdecimal()
    return "1" if is_code and any(r[:_ZIP_LENGTH] <= word <= r[-_ZIP_LENGTH:] for r in _words("zip")) else NONE


def _hospital(word: str) -> str:
    folded = fold(word)
    if folded in _words("hospitals"):
        return "name"
    kinds = _words("hospital_kinds")
    is_kind = folded in kinds or any(folded.endswith(kind) for kind in kinds if len(kind) > _SHORTEST_ENDING)
    return "kind" if is_kind else NONE


HONORIFIC = WordColumn("gazetteers", lambda word: "1" if fold(word) in _words("honorifics") else NONE)
HOSPITAL = WordColumn("gazetteers", _hospital)
ZIP = WordColumn("gazetteers", _zip)


def _lemmas(language: str) -> Callable[[str], str]:
    from simplemma import lemmatize

    return lambda word: str(lemmatize(word, lang=language)).lower() if word[0].isalpha() else word


def _frequencies(language: str) -> Callable[[str], str]:
    from wordfreq import zipf_frequency

    try:
        zipf_frequency("a", language)
    except LookupError:
        raise PackageError(
            f"wordfreq has no words of the language {language}; leave the column frequency out"
        ) from None
    except ModuleNotFoundError as error:
        raise PackageError(
            f"wordfreq needs {error.name} to read words of the language {language}; install it, or leave the column "
            f"frequency out"
        ) from None
    return lambda word: str(int(zipf_frequency(word, language))) if word[0].isalpha() else NONE


LEMMA = LanguageColumn("words", _lemmas, module="simplemma", extra="lemmas")
FREQUENCY = LanguageColumn("words", _frequencies, module="wordfreq", extra="frequencies")


def _usual_case(language: str) -> Callable[[str], str]:
    usual = _usual_cases(language)
    return lambda word: f"{usual.get(word.lower(), '?')}/{_case(word)}" if word[0].isalpha() else NONE


@cache
def _usual_cases(language: str) -> dict[str, str]:
    words = _of_language("usual_case", packaged_text, f"usual_case/{language}.txt", language).split()
    return {word.lower(): _case(word) for word in words}


def _of_language(column: str, read: Callable[[str, str], _File], file: str, language: str) -> _File:
    try:
        return read("phistack.features.columns", file)
    except FileNotFoundError:
        raise PackageError(
            f"there is no list of words of the language {language}; leave the column {column} out"
        ) from None


def _case(word: str) -> str:
    return "a" if word.islower() else "AA" if len(word) > 1 and word.isupper() else "Aa"


@cache
def clinical_words(language: str) -> Mapping[str, tuple[str, ...]]:
    """Category -> clinical words in small letters; :raises PackageError: for a language that has none."""
    table = _of_language("clinical", packaged_table, f"clinical/{language}.toml", language)
    return {category: tuple(words.split()) for category, words in table.items()}


def _clinical(language: str) -> Callable[[str], str]:
    known = {word: category for category, words in clinical_words(language).items() for word in words}
    return lambda word: known.get(word.lower(), NONE)


USUAL_CASE = LanguageColumn("words", _usual_case)
CLINICAL = LanguageColumn("words", _clinical)

_LooksLike = Sequence[tuple[str, str]]
"""Values and their patterns; the first match counts."""

_DAY, _MONTH = "(?:0[1-9]|[12]\\d|3[01])", "(?:0[1-9]|1[0-2])"
_NUMBERS: _LooksLike = (
    ("date", rf"(?<![\d/.-])(?:19|20)\d\d([-/.]?){_MONTH}\1{_DAY}(?![\d/-])"),
    ("date", r"(?<![\d/.-])\d{1,2}([/.-])\d{1,2}\1(?:\d{4}|\d\d)(?![\d/-])"),
    ("date", rf"(?<![\d/.-])(?:\d\d{_MONTH}{_DAY}|\d{{1,2}}/\d{{1,2}}[ -](?:\d{{4}}|\d\d))(?![\d/-])"),
    ("phone", r"(?<![\w/.])(?:\+\d{1,3}[ -]?)?\(?0?\d{1,4}\)?[-/ ]\d(?:[ -]?\d){4,8}(?![\w/])|(?<!\w)0\d{8,9}(?!\w)"),
    ("part", r"(?<![\d/.,-])(?:0?[1-9]|[12]\d|3[01])[/.](?:0?[1-9]|1[0-2])(?![\d/.,-])"),
)
_ADDRESSES: _LooksLike = (
    ("email", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    ("url", r"(?<!\w)(?:https?://|www\.)[^\s<>\"]{2,2000}"),
    ("ip", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"),
    ("digits", r"(?<!\w)\+?\d(?:[ .()/-]{0,2}\d){4,40}(?!\w)"),
)


def _codes(patterns: _LooksLike, layout: Layout) -> Coded:
    values = [NONE, *dict.fromkeys(value for value, _ in patterns)]
    codes = np.zeros(len(layout), dtype=np.int32)
    first = 0
    for number, text in enumerate(layout.texts):
        starts, ends = layout.offsets(number)
        for value, pattern in reversed(patterns):
            for match in re.finditer(pattern, text):
                begin, end = np.searchsorted(ends, match.start(), "right"), np.searchsorted(starts, match.end(), "left")
                codes[first + begin : first + end] = values.index(value)
        first += len(starts)
    return codes, values


NUMBER_PATTERN = LayoutColumn("orthography", partial(_codes, _NUMBERS))
REGEX_HIT = LayoutColumn("orthography", partial(_codes, _ADDRESSES))
