"""Word lists from Faker and Babel, and the tokens that they mark."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.gazetteers import GAZETTEER_COLUMNS, Gazetteers
from phistack.features.columns.layout import Layout
from phistack.features.columns.word_columns import LANGUAGES

SMALL = Gazetteers(
    {
        "first_name": frozenset({("jose",), ("ann",)}),
        "city": frozenset({("san",), ("san", "jose"), ("san", "jose", "del", "monte"), ("del", "rio")}),
    }
)


def columns(gazetteers: Gazetteers, *texts: str) -> dict[str, list[str]]:
    layout = Layout.of(texts)
    coded = {name: gazetteers.column(name, layout) for name in GAZETTEER_COLUMNS}
    return {name: [strings[code] for code in codes] for name, (codes, strings) in coded.items()}


FAKER_LACKS = {"no": {"region", "occupation"}, "it": {"occupation"}, "nl": {"occupation"}, "sv": {"occupation"}}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_has_lists(language: str) -> None:
    entries = Gazetteers.of_language(language).entries
    assert {column for column in GAZETTEER_COLUMNS if not entries[column]} <= FAKER_LACKS.get(language, set())
    assert len(entries["country"]) > 200 and len(entries["month"]) >= 12 and len(entries["weekday"]) >= 7


def test_an_unknown_language_has_empty_lists() -> None:
    gazetteers = Gazetteers.of_language("xx")
    assert columns(gazetteers, "madrid") == {column: [""] for column in GAZETTEER_COLUMNS}


@pytest.mark.parametrize(
    ("language", "text", "column", "values"),
    [
        ("es", "José García", "first_name", "B -"),
        ("es", "José García", "last_name", "- B"),
        ("es", "nace en enero", "month", "- - B"),
        ("es", "el lunes", "weekday", "- B"),
        ("es", "Estados Unidos y España", "country", "B I - B"),
        ("en", "in North Carolina", "region", "- B I"),
        ("en", "on Tuesday", "weekday", "- B"),
        ("de", "in München", "city", "- B"),
        ("nl", "te Amsterdam", "city", "- B"),
    ],
)
def test_known_words_are_marked(language: str, text: str, column: str, values: str) -> None:
    found = columns(Gazetteers.of_language(language), text)[column]
    assert found == [value.replace("-", "") for value in values.split()]


def test_the_longest_entry_wins_and_entries_do_not_overlap() -> None:
    assert columns(SMALL, "San José del Monte")["city"] == ["B", "I", "I", "I"]
    assert columns(SMALL, "San José del Rio")["city"] == ["B", "I", "B", "I"]
    assert columns(SMALL, "San Bo")["city"] == ["B", ""]


def test_no_entry_reaches_into_the_next_note() -> None:
    assert columns(SMALL, "vive del", "rio", "", "San", "José")["city"] == ["", "", "", "B", ""]


@pytest.mark.parametrize("spelling", ["José", "JOSE", "jose", "José"])
def test_accents_and_case_do_not_count(spelling: str) -> None:
    assert columns(SMALL, spelling)["first_name"] == ["B"]


@pytest.mark.parametrize("language", ["en", "es"])
def test_no_entry_is_short_or_a_function_word(language: str) -> None:
    entries = Gazetteers.of_language(language).entries
    joined = {" ".join(entry) for found in entries.values() for entry in found}
    assert all(len(entry) >= 3 for entry in joined)
    assert joined.isdisjoint({"the", "and", "los", "del", "para"})


def test_lists_survive_json() -> None:
    for gazetteers in (SMALL, Gazetteers.of_language("es"), Gazetteers()):
        assert Gazetteers.from_dict(json.loads(json.dumps(gazetteers.to_dict()))) == gazetteers


@given(st.lists(st.lists(st.sampled_from(["San", "José", "del", "monte", "rio", "x", "ann", "."])), max_size=3))
def test_a_batch_is_marked_like_each_note_by_a_loop(notes: list[list[str]]) -> None:
    found = columns(SMALL, *map(" ".join, notes))
    for column in ("first_name", "city"):
        assert found[column] == [mark for words in notes for mark in slowly(words, SMALL.entries[column])]


def slowly(words: list[str], entries: frozenset[tuple[str, ...]]) -> list[str]:
    """The slow twin: the longest entry at each free token."""
    plain = tuple(word.lower().replace("é", "e") for word in words)
    marks: list[str] = []
    while (i := len(marks)) < len(plain):
        longest = next((n for n in range(len(plain) - i, 0, -1) if plain[i : i + n] in entries), 0)
        marks += ["B"] + ["I"] * (longest - 1) if longest else [""]
    return marks
