"""The unified feature set: values of its columns on notes, tables that stay equal when saved, unseen values."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.features.columns.layout_columns import LAYOUT_COLUMNS
from phistack.features.columns.settings import COLUMN_GROUPS, FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.columns.vocabulary import Vocabulary
from phistack.features.columns.word_columns import LANGUAGES, STEM, WORD_COLUMNS, word_column
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.plain_view import plain_text
from phistack.features.saved_files import SavedFiles
from phistack.features.tags import decode

NOTE = (
    "\ufeffNombre: Ana.\r\nApellidos: Medina Prado.\r\nEdad: 70 años Sexo: M.\r\nANTECEDENTES\r\nLa Sra. Medina fuma."
)
SPANS = (Span(9, 12, "NAME"), Span(26, 38, "NAME"))
NOTES = [Document("1-01", NOTE, SPANS), Document("1-02", "Medina, 𝐀na 😀 (12/03/2081"), Document("2-01", "")]
TEXTS = st.text(st.one_of(st.sampled_from("aB9 é\u0301\n\r:.(\ufeff😀"), st.characters(exclude_categories=["Cs"])))


@pytest.fixture(scope="module")
def space() -> FeatureSpace:
    fitted = FeatureSpace(FeatureSettings(language="es"))
    fitted.fit(NOTES)
    return fitted


def read(table: FeatureTable, column: str) -> list[str]:
    values = table.space.values(column)
    return [values[number] for number in table.column(column)]


WORDS = {
    "shape": {"Smith12": "Aaaaa00"}, "short_shape": {"Smith12": "Aa0"},
    "pattern": {"Smith12": "smith00"}, "has_digit": {"Smith12": "1"}, "all_upper": {"MADRID": "1", "A": ""},
    "has_upper": {"McDonald": "1"}, "starts_upper": {"Ana": "1"},
    "number": {
        "7": "month", "31": "day", "99": "two", "2081": "year", "9999": "digits4", "9" * 30: "digits12", "x": "",
    },
    "punctuation": {"-": "-", "😀": "😀"}, "prefix3": {"ab": "", "ABCD": "abc"}, "suffix3": {"ABCD": "bcd"},
    "stem": {"corriendo": "corr"},
}  # fmt: skip


@pytest.mark.parametrize("column", WORDS)
def test_word_columns(column: str) -> None:
    assert {word: word_column(column, "es")(word) for word in WORDS[column]} == WORDS[column]


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@given(word=st.text(min_size=1, max_size=20))
def test_any_word_has_every_column(word: str, language: str) -> None:
    values = {name: word_column(name, language)(word) for name in (*WORD_COLUMNS, STEM)}
    assert all(isinstance(value, str) for value in values.values())
    assert values["word"] == word


def test_a_vocabulary_counts_up_and_freezes() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.ids(np.array([1, 3, 1]), ["never", "b", "nor", "a"]).tolist() == [1, 2, 1]
    assert vocabulary.freeze().ids(np.array([0, 1, 2]), ["a", "c", "b"]).tolist() == [2, 0, 1]
    assert len(vocabulary) == 3
    again = Vocabulary(vocabulary.values).freeze()
    assert [again.id(value) for value in ("b", "a", "c")] == [1, 2, 0]


def test_the_name_of_the_unseen_value_is_a_value_like_others() -> None:
    vocabulary = Vocabulary()
    unseen = vocabulary.values[0]
    assert vocabulary.id(unseen) == 1
    assert Vocabulary(vocabulary.values).freeze().id(unseen) == 1


def test_a_table_has_a_row_a_token_and_a_column_a_name(space: FeatureSpace) -> None:
    for document in NOTES:
        table = space.table(document)
        assert table.ids.shape == (len(table), len(space.columns)) == (len(table.words), len(space.columns))
        assert table.ids.dtype == np.int32


def test_values_are_read_back(space: FeatureSpace) -> None:
    table = space.table(NOTES[0])
    words = read(table, "word")
    assert words == table.words
    assert words[:3] == ["Nombre", ":", "Ana"]
    assert read(table, "key")[words.index("Medina")] == "apellidos"
    assert read(table, "section")[-2] == "antecedentes"
    assert read(table, "first_name")[words.index("Ana")] == "B"


def test_training_tables_are_those_of_later_reading() -> None:
    space = FeatureSpace(FeatureSettings(language="es"))
    for trained, again in zip(space.fit(NOTES), space.tables(NOTES), strict=True):
        assert np.array_equal(trained.ids, again.ids) and trained.ids.all()


def test_a_value_unseen_in_training_has_the_id_zero(space: FeatureSpace) -> None:
    table = space.table(Document("3-01", "Zacarías: Ana"))
    assert table.column("word")[0] == 0 and table.column("word")[2] != 0
    assert table.column("key")[2] == 0
    assert table.column("starts_upper").all()


def test_an_empty_note_has_an_empty_table(space: FeatureSpace) -> None:
    table = space.table(Document("3-02", ""))
    assert table.ids.shape == (0, len(space.columns))
    assert table.sentences.tolist() == [0]
    assert table.tags() == []


def test_a_space_fitted_to_no_notes_reads_notes() -> None:
    space = FeatureSpace()
    assert space.fit([]) == []
    assert not space.table(Document("a", "Ann")).ids.any()


def test_gold_tags_and_back(space: FeatureSpace) -> None:
    for scheme in ("BIO", "BIOES"):
        counts: Counter[str] = Counter()
        table = space.table(NOTES[0])
        starts, ends = table.offsets
        found = [
            Span(int(starts[first]), int(ends[last - 1]), label)
            for first, last, label in decode(table.tags(scheme=scheme, counts=counts), scheme=scheme)
        ]
        assert tuple(map(table.view.in_note, found)) == SPANS
        assert not +counts


def test_a_space_that_was_saved_with_stems_reads_the_same(space: FeatureSpace, tmp_path: Path) -> None:
    space.save(tmp_path)
    path = tmp_path / "features.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**state, "stems": [0, 3]}), encoding="utf-8")
    older = FeatureSpace.load(SavedFiles.of_folder(tmp_path))
    assert older.table(NOTES[0]).ids.tolist() == space.table(NOTES[0]).ids.tolist()


@pytest.mark.parametrize(
    "feature_settings",
    [
        FeatureSettings(language="es"),
        FeatureSettings(language="en", tokeniser="zhao2020", byte_pairs=20, split_lines=False),
        FeatureSettings(language="sv", without=("gazetteers", "layout")),
    ],
    ids=["spanish", "byte pairs", "without"],
)
def test_a_saved_space_reads_equal_tables(feature_settings: FeatureSettings, tmp_path: Path) -> None:
    space = FeatureSpace(feature_settings)
    space.fit(NOTES)
    space.save(tmp_path)
    again = FeatureSpace.load(SavedFiles.of_folder(tmp_path))
    assert again.settings == space.settings
    unseen = Document("9", "Ana Medina\nnueva: Zzyzx 70")
    for one, other in zip(space.tables([*NOTES, unseen]), again.tables([*NOTES, unseen]), strict=True):
        assert np.array_equal(one.ids, other.ids) and np.array_equal(one.sentences, other.sentences)
        assert all(np.array_equal(a, b) for a, b in zip(one.offsets, other.offsets, strict=True))


def test_fitting_again_starts_anew() -> None:
    space = FeatureSpace()
    first = space.fit([Document("a", "one two")])
    second = space.fit([Document("b", "two one")])
    assert first[0].column("word").tolist() == second[0].column("word").tolist() == [1, 2]
    assert space.values("word")[1:] == ["two", "one"]


@given(st.lists(TEXTS, max_size=3))
@settings(max_examples=25)
def test_any_notes_give_tables(texts: list[str]) -> None:
    space = FeatureSpace(FeatureSettings(without=("gazetteers",)))
    tables = space.fit([Document(str(i), text) for i, text in enumerate(texts)])
    for text, table in zip(texts, tables, strict=True):
        assert "".join(table.words) == "".join(plain_text(text).split())
        assert (table.ids > 0).all()


@pytest.mark.parametrize(
    ("texts", "split"), [(["ab\ncd"], False), (["abcd"], True), ([], True), (["abcd"] * 400 + ["ab\ncd"], True)]
)
def test_spans_over_line_ends_join_lines(texts: list[str], split: bool) -> None:
    space = FeatureSpace()
    space.fit([Document(str(i), text, (Span(0, len(text), "A"),)) for i, text in enumerate(texts)])
    assert space.split_lines_ is split


def test_groups_name_all_columns_once() -> None:
    names = [name for names in COLUMN_GROUPS.values() for name in names]
    assert len(names) == len(set(names))
    assert set(names) >= {*WORD_COLUMNS, *LAYOUT_COLUMNS, "stem"}
    without = FeatureSettings(without=tuple(set(COLUMN_GROUPS) - {"affixes"}))
    assert set(without.columns) == set(COLUMN_GROUPS["affixes"])


def test_tagging_columns_are_there_only_on_request() -> None:
    assert "pos" not in FeatureSettings().columns
    assert "pos" in FeatureSettings(pos="nltk").columns


def test_a_column_that_is_not_there_is_refused(space: FeatureSpace) -> None:
    with pytest.raises(SettingsError, match="pos"):
        space.table(NOTES[0]).column("pos")


def test_repr_shows_no_text(space: FeatureSpace) -> None:
    shown = repr(space.table(NOTES[0])) + repr(space)
    assert "Medina" not in shown and "1-01" in shown
