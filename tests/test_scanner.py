"""The scanner of many patterns finds what each pattern's own search finds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from phistack.submodels.regex.pattern_files import Pattern, shipped_patterns
from phistack.submodels.regex.scanner import ANYTHING, Scanner, openings

ROOT = Path(__file__).parents[1]
LANGUAGES = ("de", "en", "es", "fr", "nl", "sv")
FRAGMENTS = (
    "Dr. ", "Dra. Ana ", "Soto", "López-Ruiz", "Nombre: ", "Edad: 70 años", "\n", "\r\n", " ", ".", ",", "12/03/2081",
    "3 de mayo de 2011", "marzo ", "28001 Madrid", "C/ Mayor 3", "Hospital de la Paz", "ann.lee@example.org", "MRN: ",
    "7301946", "617-555-0100", "a 45-year-old man", "Mr. Dunmore", "van der Berg", "Frau ", "Ärztin", "le 3 mai 2011",
    "?", "’", "ﬁ", "ſ", "😀", "İ", "A", "x", "1", "-",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def searched(patterns: Sequence[Pattern], texts: list[str], language: str) -> list[tuple[int, int, int, int]]:
    """The slow twin: every pattern over every text."""
    return [
        (i, number, start, end)
        for number, pattern in enumerate(patterns)
        for i, text in enumerate(texts)
        for start, end in pattern.find(text, language)
    ]


SCANNERS = {language: Scanner(shipped_patterns(language)) for language in LANGUAGES}


@pytest.mark.parametrize("language", LANGUAGES)
@given(texts=st.lists(TEXTS, max_size=3))
def test_shipped_patterns_find_the_same(language: str, texts: list[str]) -> None:
    scanner = SCANNERS[language]
    assert list(scanner.find(texts, language)) == searched(scanner.patterns, texts, language)


# Regular expressions at random

ATOMS = ("a", "b", "B", "1", "@", "é", "s", "K", r"\d", r"\w", r"\W", r"\s", ".", "[ab]", "[^a]", "[1-9é]", r"\?", "\n")
ASSERTIONS = (
    r"\b", r"\B", "^", "$", r"(?<!\w)", "(?<!a)", "(?<=b)", "(?<!ab)", "(?=a)", "(?!b)", r"(?<=[ab1])", "(?<!é)",
    r"(?<!\w|a)", r"\A",
)  # fmt: skip
REPEATS = ("?", "*", "+", "{2}", "{1,3}", "+?", "*?", "++", "{0,2}", "{3,}")
GROUPS = ("(?:{})", "({})", "(?>{})", "(?i:{})", "(?P<phi>{})")

regexes = st.recursive(
    st.sampled_from(ATOMS + ASSERTIONS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds(lambda group, part: group.format(part), st.sampled_from(GROUPS), inner),
        st.builds(lambda part, repeat: f"(?:{part}){repeat}", inner, st.sampled_from(REPEATS)),
    ),
    max_leaves=8,
)


@given(
    regexes, st.sampled_from(["", "i", "m", "im", "s"]), st.lists(st.text("abB1@é \n?ſKs’", max_size=12), max_size=3)
)
@settings(max_examples=400)
def test_any_pattern_finds_the_same(regex: str, flags: str, texts: list[str]) -> None:
    try:
        re.compile(regex)
    except re.error:
        reject()
    pattern = Pattern("p", regex, {"*": "X"}, flags, shipped=True)
    assert list(Scanner([pattern]).find(texts, "en")) == searched([pattern], texts, "en")


def shown(regex: str, flags: int = 0) -> set[str]:
    """Openings with each set written out, `_` for all characters."""

    def letters(allowed: int) -> str:
        return "_" if allowed == ANYTHING else "".join(chr(i) for i in range(256) if allowed >> i & 1 and i != 63)

    return {" ".join(map(letters, opening)) for opening in openings(regex, flags)}


def test_openings_are_the_first_characters_and_the_one_before() -> None:
    assert shown("(Dr|Prof) [A-C]") == {"_ D r   ABC", "_ P r o f"}
    assert shown("dr", re.IGNORECASE) == {"_ Dd Rr"}
    assert shown("[a-c]{2,}") == {"_ abc abc", "_ abc abc abc", "_ abc abc abc abc"}
    assert shown("^ab", re.MULTILINE) == {"\n a b"}
    assert shown("(?<=[.,])ab") == {",. a b"}


@pytest.mark.parametrize("regex", ["a*", "(?:)", r"(a)?\b", "|a"])
def test_a_pattern_that_can_match_nothing_has_no_opening(regex: str) -> None:
    assert openings(regex, re.NOFLAG) == ()


def test_pythons_private_parser_is_used_in_one_file() -> None:
    """If this test or those above fail after an update of Python, adapt `submodels/regex/scanner.py`."""
    sources = [path for name in ("features", "tbed", "submodels", "ensemble") for path in (ROOT / name).rglob("*.py")]
    using = [path.relative_to(ROOT) for path in sources if "re._parser" in path.read_text(encoding="utf-8")]
    assert list(map(str, using)) == ["submodels/regex/scanner.py"]


def test_no_texts_and_no_patterns() -> None:
    pattern = Pattern("p", "ab", {"*": "X"}, shipped=True)
    assert list(Scanner([pattern]).find([], "en")) == list(Scanner([]).find(["ab"], "en")) == []
    assert list(Scanner([pattern]).find(["", "ab", "", "xab ab"], "en")) == [(1, 0, 0, 2), (3, 0, 1, 3), (3, 0, 4, 6)]
