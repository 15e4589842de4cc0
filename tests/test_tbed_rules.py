"""Atoms, templates and the text of rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.errors import SettingsError
from phistack.tbed.rules import EDGE, Rule, RuleFile, format_rules, parse_rules
from phistack.tbed.templates import TEMPLATES, Atom, named_templates, read_templates, restricted

COLUMNS = ("word", "lower", "key")
TAGS = ("O", "B-AGE", "I-AGE", "B-DOCTOR")

offsets = st.tuples(st.integers(-20, 20), st.integers(-20, 20)).map(sorted)
atoms = st.builds(lambda column, pair: Atom(column, *pair), st.sampled_from(COLUMNS), offsets)
tag_atoms = st.builds(lambda pair: Atom("tag", *pair), offsets)
values = st.text(st.characters(exclude_categories=["Cs"])) | st.none()
conditions = st.tuples(atoms, values) | st.tuples(tag_atoms, st.sampled_from(TAGS) | st.none())
comments = st.lists(st.sampled_from(["", "# a reviewer's remark", "  # another"]), max_size=2).map(tuple)
rules = st.builds(
    lambda pair, c, gain, broken, example, off, above: Rule(  # type: ignore[call-arg]
        *pair, tuple(c), gain, broken if gain is not None else 0, example if gain is not None else None, off, above
    ),
    st.permutations(TAGS).map(lambda tags: tags[:2]),
    st.lists(conditions, max_size=4),
    st.none() | st.integers(-5, 999),
    st.integers(0, 99),
    st.none() | st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(0, 9999)),
    st.booleans(),
    comments,
)
files = st.builds(lambda r, ending: RuleFile(tuple(r), ending), st.lists(rules, max_size=5), comments)


@given(files)
def test_rules_and_their_text_are_the_same_thing(file: RuleFile) -> None:
    text = format_rules(file)
    again = parse_rules(text, tags=TAGS, columns=COLUMNS)
    assert again == file
    assert format_rules(again) == text


def test_a_rule_reads_as_a_sentence() -> None:
    (rule,) = parse_rules(
        'O -> B-DOCTOR if lower[-1] = "dr" and tag[1..3] = "O" and key[0] = "" and word[2] = edge'
    ).rules
    assert rule.conditions[3] == (Atom("word", 2, 2), EDGE)
    assert rule.sentence() == (
        'O becomes B-DOCTOR where the lower before is "dr" and a tag 1 to 3 tokens after is "O" and the key is none '
        "and the word 2 tokens after is beyond the sentence"
    )


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        ("O => B-AGE", 3, '"->" is expected here'),
        ("O -> B-AGE when x", 12, "the rule should end here"),
        ("O -> O", 6, "a different one"),
        ("O -> B-NAME", 6, "the tag is not one of those"),
        ('B-AGE -> O if tag[1] = "B-NAME"', 24, "the tag is not one of those"),
        ('O -> B-AGE if words[0] = "x"', 15, "no feature column words"),
        ('O -> B-AGE if word[3..1] = "x"', 15, "not a range"),
        ('O -> B-AGE if word[0] "x"', 23, '"=" is expected here'),
        ("O -> B-AGE if word[0] = x", 25, "a value in double quotes"),
        (r'O -> B-AGE if word[0] = "\q"', 25, "not a JSON string"),
        ('O -> B-AGE if word[0] = "x"; gain many', 35, "a number is expected here"),
        ("-> B-AGE", 1, "the tag is not"),
    ],
)
def test_a_mistake_in_a_rule_file_is_named_with_its_line_and_column(line: str, column: int, what: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_rules(f"# first line\nO -> B-AGE\n{line}\n", name="rules.txt", tags=TAGS, columns=COLUMNS)
    assert str(caught.value).startswith(f"rules.txt, line 3, column {column}: ")
    assert what in str(caught.value)
    assert '"x"' not in str(caught.value)


def test_braces_stand_for_each_alternative() -> None:
    found = read_templates("{word, lower}[{-1, 1}] & tag[-1]  # four\n\n# none\n{word, key}[0] & {word, key}[0]")
    assert list(map(str, found)) == [
        "word[-1] & tag[-1]",
        "word[1] & tag[-1]",
        "lower[-1] & tag[-1]",
        "lower[1] & tag[-1]",
        "word[0] & key[0]",
    ]


@pytest.mark.parametrize("text", ["word", "word[0] & ", "word[2..1]", "word[0] & word[0]", "word[99]", "{word[0]"])
def test_a_template_that_cannot_be_read_is_named_with_its_line(text: str) -> None:
    with pytest.raises(SettingsError, match="line 2: "):
        read_templates(f"tag[1]\n{text}\n")


def test_the_shipped_sets() -> None:
    sizes = {name: len(named_templates(name)) for name in TEMPLATES.names}
    assert sizes["brill24"] == 24
    assert sizes["fntbl37"] == 37
    assert sizes["default"] > 200
    assert sizes["zhao"] > 100
    with pytest.raises(SettingsError, match=r"named brill25 \(did you mean brill24\?\); there are brill24, "):
        named_templates("brill25")


def test_templates_without_their_column_are_left_out_but_a_column_that_never_is_is_an_error() -> None:
    templates = read_templates("word[0] & tag[-1]\nkey[0]")
    assert restricted(templates, ["word"]) == templates[:1]
    with pytest.raises(SettingsError, match="names kye, which is not a feature column"):
        restricted(read_templates("kye[0]"), ["word"])
