"""The parse tree of regular expressions: what we read off it is what Python gives, in one file alone."""

import re
from pathlib import Path

import pytest

from phistack.submodels.regex.trees import (
    UNBOUNDED,
    Alternatives,
    Anything,
    At,
    Atomic,
    Character,
    LookAround,
    PatternNode,
    Position,
    Repetition,
    bits_of,
    parsed,
)

ROOT = Path(__file__).parents[1]


def of(letters: str, flags: int = re.UNICODE) -> tuple[PatternNode, ...]:
    """The nodes of some letters."""
    return parsed(re.compile(letters, flags)).nodes


A, B = of("a"), of("b")


@pytest.mark.parametrize(
    ("regex", "nodes"),
    [
        ("ab", (*A, *B)),
        ("(a)(?:b)(?P<phi>a)", (*A, *B, *A)),
        ("(?i:a)b", (*of("a", re.I), *B)),
        ("ab|", (Alternatives((A + B, ())),)),
        ("(a)(?(1)b)", (*A, Alternatives((B, ())))),
        (r"(a)\1", (*A, Anything())),
        ("a{2,3}?", (Repetition(2, 3, A, varies=False, possessive=False),)),
        (
            "(?:ab?)*",
            (Repetition(0, UNBOUNDED, (*A, Repetition(0, 1, B, False, False)), varies=True, possessive=False),),
        ),
        ("a++", (Repetition(1, UNBOUNDED, A, varies=False, possessive=True),)),
        ("(?>ab)", (Atomic(A + B),)),
        ("(?=a)(?!b)", (LookAround(A, behind=False, negative=False), LookAround(B, behind=False, negative=True))),
        ("(?<=a)(?<!b)", (LookAround(A, behind=True, negative=False), LookAround(B, behind=True, negative=True))),
        (
            r"^\A\b\B",
            (At(Position.TEXT_START), At(Position.TEXT_START), At(Position.WORD_BOUNDARY), At(Position.OTHER)),
        ),
        ("(?m:^)$", (At(Position.LINE_START), At(Position.OTHER))),
    ],
)
def test_pythons_parser_gives_what_is_read_off_it(regex: str, nodes: tuple[PatternNode, ...]) -> None:
    """Where this fails after an update of Python, `submodels/regex/trees.py` has to follow `re._parser`."""
    assert parsed(re.compile(regex)).nodes == nodes


@pytest.mark.parametrize(
    ("regex", "flags", "matched"),
    [("a", 0, "a"), ("a", re.I, "aA"), ("[ab]", 0, "ab"), ("[^ab]", 0, "A1\n"), (".", 0, "abA1"), (r"\d", 0, "1")],
)
def test_a_character_matches_what_its_expression_does(regex: str, flags: int, matched: str) -> None:
    [character] = parsed(re.compile(regex, flags)).nodes
    assert isinstance(character, Character)
    sample = tuple("abA1\n")
    assert {one for place, one in enumerate(sample) if bits_of(character, sample) >> place & 1} == set(matched)


@pytest.mark.parametrize(("regex", "least"), [("a*", 0), ("ab?", 1), ("(a|bb)(?=b)a", 2)])
def test_the_length_of_the_shortest_match(regex: str, least: int) -> None:
    assert parsed(re.compile(regex)).least == least


@pytest.mark.parametrize(
    ("private", "home"), [("re._parser", "submodels/regex/trees.py"), ("raw_ops", "submodels/blstm/fused_lstm.py")]
)
def test_what_no_one_promises_to_keep_is_used_in_one_file(private: str, home: str) -> None:
    sources = [path for name in ("features", "tbed", "submodels", "ensemble") for path in (ROOT / name).rglob("*.py")]
    assert [str(path.relative_to(ROOT)) for path in sources if private in path.read_text(encoding="utf-8")] == [home]
