import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from phistack.ensemble.tools.deadline import deadline
from phistack.features.errors import OverdueError, UnsafePatternError
from phistack.submodels.regex.pattern_files import parse_patterns, shipped_patterns
from phistack.submodels.regex.pattern_safety import LONGEST, _circles, refuse_blow_up

ENDLESS = [
    "(a+)+b", "(a*)*b", "(?:a|a)*b", "(?:a*){1,30}b", "(a|b|ab)*c", r"(\w+\s?)*!", "(?:a{1,3})+b", "(?:[а-я]+)+!",
    "(?=(a+)+b)x", r"([A-Za-z][a-z]+ ?)+!", r"(x+x+)+y", "(.*)*", r"(a|b)*c(\1)+d", "(?:x(?:a?)?)*!", "(a?){25}a{25}",
    r"\d(?:(?:a+)+|b)c", "(a)?(?(1)(b+)+|c)d", "((a{1,9}){1,9}){1,9}", "(?i:(?:a|aA)*)b", "(?:éa?|[à-ÿ]a?)+!",
]  # fmt: skip
HARMLESS = [
    "(a?)*b", "(?>a+)+b", r"(?:\w+ )+\d", r"(?:\d{3}-?)+x", "(?:ab|ac)+d", r"(?:\w++\W*+)+!", r"([A-Z][a-z]+ ?)+!",
    "(?:é|è)+ü", r"\d+(?:[.,]\d+)*", r"\((?:[^()]|\([^()]*\))*\)", r"\w+(?:[-.]\w+)*@\w+(?:[-.]\w+)*", "(?:x+y?){0,5}",
    r"(?:[A-Z]\w+(?: de| la)? ){1,4}x", "(?:a|b)*c", r"(?<!\w)(?:Dr|Prof)\.? (?:[A-Z]\. )*[A-Z]\w+",
]  # fmt: skip


@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n)))
def test_circles_are_the_strongly_connected_places_of_scipy(follow: list[set[int]]) -> None:
    graph = np.array([[n in following for n in range(len(follow))] for following in follow])
    _, numbers = connected_components(graph, connection="strong")
    places = [set(np.flatnonzero(numbers == number).tolist()) for number in set(numbers.tolist())]
    expected = [circle for circle in places if len(circle) > 1 or circle <= follow[min(circle)]]
    assert sorted(map(sorted, _circles(follow))) == sorted(map(sorted, expected))


@pytest.mark.parametrize("regex", ENDLESS)
def test_a_repetition_that_reads_one_text_in_many_ways_is_refused(regex: str) -> None:
    with pytest.raises(UnsafePatternError, match="pattern mine repeats something"):
        refuse_blow_up(re.compile(regex), "mine")


@pytest.mark.parametrize("regex", HARMLESS)
def test_others_are_not(regex: str) -> None:
    refuse_blow_up(re.compile(regex), "mine")


@pytest.mark.parametrize("language", ["da", "de", "en", "es", "fr", "it", "nl", "sv"])
def test_all_shipped_patterns_pass(language: str) -> None:
    for pattern in shipped_patterns(language):
        refuse_blow_up(pattern.compiled, pattern.name)


@pytest.mark.parametrize("regex", ["a" * (LONGEST + 1), "(" * 30 + "a" + ")?" * 30, "(?:" + "ab" * 1_500 + "){8}"])
def test_what_is_too_large_to_look_through_is_refused(regex: str) -> None:
    with pytest.raises(UnsafePatternError, match="make two of it"):
        refuse_blow_up(re.compile(f"(?:{regex})+"), "mine")


def test_a_file_of_patterns_tells_which_one_it_is() -> None:
    with pytest.raises(UnsafePatternError, match="the pattern evil repeats"):
        parse_patterns("[[patterns]]\nname = 'evil'\nregex = '(a+)+b'\nlabel = 'DATE'")


def _joined(parts: Any) -> Any:
    return st.lists(parts, min_size=1, max_size=3).map("".join)


REGEXES = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "a?", "b*", "ab"]),
    lambda inner: st.one_of(
        _joined(inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{0,20}"])),
    ),
    max_leaves=5,
)
WORDS = ["".join(letters) for length in (1, 2, 3) for letters in product("ab", repeat=length)]


@given(REGEXES)
@settings(max_examples=150, deadline=None)
def test_what_passes_ends_soon_on_every_repeated_word(regex: str) -> None:
    pattern = re.compile(f"{regex}!")
    try:
        refuse_blow_up(pattern, "mine")
    except UnsafePatternError:
        return
    for word in WORDS:
        with deadline(2.0, OverdueError, busy=True):
            assert pattern.match(word * 26) is None
