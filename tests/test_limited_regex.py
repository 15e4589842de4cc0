"""Users' regular expressions: no text makes them run for ever, and usual mistakes are found before reading."""

from __future__ import annotations

import pickle
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.errors import SettingsError, UnsafePatternError
from phistack.features.limited_regex import LONGEST, LimitedRegex
from phistack.submodels.regex.pattern_files import Pattern, saved_patterns, shipped_patterns, user_patterns

SLOW = [
    "(a+)+b", "(a*)*b", r"(\w+\s?)*!", "(?i:(?:a|aA)*)b", "a*a*a*a*a*a*a*a*b", r"\w+\s*" * 6 + "!", "(a+)+$",
    "ward: (?:a|a)*b",
]  # fmt: skip
FINE = [
    "(a?)*b", "(?>a+)+b", r"(?:\w+ )+\d", r"(?:\d{3}-?)+x", "(?:ab|ac)+d", r"([A-Z][a-z]+ ?)+!", ".*x.*y", r"\w+\s+\w+",
    r"\d+(?:[.,]\d+)*", r"\((?:[^()]|\([^()]*\))*\)", r"\w+(?:[-.]\w+)*@\w+(?:[-.]\w+)*", "(?:x+y?){0,5}", r"\w+@\w+",
    r"(?:[A-Z]\w+(?: de| la)? ){1,4}x", "(?:a|b)*c", r"(?<!\w)(?:Dr|Prof)\.? (?:[A-Z]\. )*[A-Z]\w+", r"\bWD-\d{4}\b",
]  # fmt: skip


@pytest.mark.parametrize("expression", SLOW)
def test_a_slow_expression_is_found_on_a_short_trial(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phistack.features.limited_regex._TRIAL_SECONDS", 0.5)
    start = time.process_time()
    with pytest.raises(UnsafePatternError, match="the pattern mine took too long on a trial; "):
        LimitedRegex(expression, "", "the pattern mine").try_out()
    assert time.process_time() - start < 2.5


def test_a_trial_ends_within_seconds() -> None:
    start = time.process_time()
    with pytest.raises(UnsafePatternError):
        LimitedRegex(SLOW[0], "", "the pattern mine").try_out()
    assert time.process_time() - start < 5


@pytest.mark.parametrize("expression", FINE)
def test_a_usual_expression_passes_the_trial(expression: str) -> None:
    LimitedRegex(expression, "", "the pattern mine").try_out()


@pytest.mark.parametrize("language", ["common", "de", "en", "es", "fr", "nl", "sv"])
def test_all_shipped_patterns_pass_the_trial(language: str) -> None:
    for pattern in shipped_patterns(language):
        pattern.try_out()


@pytest.mark.parametrize(
    ("expression", "text"),
    [("(a|b|ab)*c", "ab" * 3000 + "!c"), ("((a{1,9}){1,9}){1,9}b", "a" * 200 + "!b")],
)
def test_a_search_ends_within_its_time(expression: str, text: str) -> None:
    slow = LimitedRegex(expression, "", "the pattern slow (line 3 of own.toml)")
    for search in (lambda text: slow.find_all([text]), slow.search, lambda text: slow.match(text, 0)):
        start = time.process_time()
        with pytest.raises(UnsafePatternError, match=r"slow \(line 3 of own\.toml\) took too long on \d+ char"):
            search(text)
        assert time.process_time() - start < 3


def test_many_texts_share_one_limit() -> None:
    slow = LimitedRegex("(a|b|ab)*c", "", "the pattern slow")
    start = time.process_time()
    with pytest.raises(UnsafePatternError, match=r"slow took too long on \d+ characters"):
        slow.find_all(["ab" * 13 + "!c"] * 10_000)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("expression", ["(", "a**", "[b-a]", "(?P<phi>a", r"\1", "x{99999999999}"])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(SettingsError, match=r"the pattern mine is (not a regular expression: |too large)"):
        LimitedRegex(expression, "", "the pattern mine")


@pytest.mark.parametrize("expression", ["a" * (LONGEST + 1), "(" * 6_000 + "a" + ")" * 6_000])
def test_what_is_too_large_is_refused(expression: str) -> None:
    with pytest.raises(SettingsError, match="split it in two"):
        LimitedRegex(expression, "", "the pattern mine")


@given(st.lists(st.sampled_from(["Dr. ", "Soto", "É", "ß", "12", "-", "\n", " ", "ı", "İ", "ſ", "x"])).map("".join))
def test_it_matches_as_python_does(text: str) -> None:
    for expression, flags in (
        (r"(?<!\w)Dr\.? (?P<phi>[A-ZÀ-Þ]\w+)", ""),
        (r"^\s*[s-x]{1,3}$", "im"),
        (r"\b\d+-?", "s"),
    ):
        number = sum({"i": re.I, "m": re.M, "s": re.S}[flag] for flag in flags)
        expected = [match.span() for match in re.finditer(expression, text, number)]
        assert [match.span() for _, match in LimitedRegex(expression, flags, "mine").find_all([text])] == expected


def test_it_goes_to_other_processes() -> None:
    pattern = Pattern("ward", r"WD-(?P<phi>\d+)", {"*": "IDNUM"}, place="line 2 of own.toml")
    assert list(pattern.find("WD-12", "en")) == [(3, 5)]
    again = pickle.loads(pickle.dumps(pattern))
    assert list(again.find("WD-12", "en")) == [(3, 5)] and again.title == "the pattern ward (line 2 of own.toml)"


def test_a_bundle_cannot_pass_off_a_pattern_as_shipped() -> None:
    rows = "[[patterns]]\nname = 'email'\nregex = '(a|b|ab)*c'\nlabel = 'EMAIL'\n"
    [evil] = saved_patterns(rows, shipped_patterns("en"))
    with pytest.raises(UnsafePatternError):
        list(evil.find("ab" * 3000 + "!c", "en"))
    assert shipped_patterns("../patterns/en") == shipped_patterns("xx")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            "[[patterns]]\nname = 'a'\nregex = 'x'\nlabel = 'DATE'\n\n[[patterns]]\nname = 'evil'\nregex = '(a+)+b'\n"
            "label = 'DATE'\n",
            r"^the pattern evil \(line 6 of .*own\.toml\) took too long on a trial; ",
        ),
        (
            "patterns = [{name='evil', regex='(a+)+b', label='DATE'}]",
            r"^the pattern evil \(.*own\.toml\) took too long",
        ),
        ("[[patterns]]\nname = 'a'\nregex = 'a('\nlabel = 'DATE'\n", r"a \(line 1 of .*own\.toml\) is not a regular"),
        (
            "parts = {a = '{{b}}', b = 'x{{a}}'}\n[[patterns]]\nname = 'a'\nregex = '{{a}}'\nlabel = 'DATE'\n",
            "the parts of the pattern a use each other in a circle",
        ),
        (
            f"parts = {{a = '{'x' * 9000}'}}\n[[patterns]]\nname = 'a'\nregex = '{'{{a}}' * 3}'\nlabel = 'DATE'\n",
            "the pattern a has more than 20000 characters with its parts",
        ),
    ],
)
def test_a_users_file_names_the_pattern_and_its_line(tmp_path: Path, toml: str, message: str) -> None:
    (tmp_path / "own.toml").write_text(toml)
    with pytest.raises(SettingsError, match=message):
        user_patterns(tmp_path / "own.toml")
