"""Tokens that are pieces of words: whole-word columns are the same as if no word had been cut."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.features.columns.gazetteers import GAZETTEER_COLUMNS, Gazetteers
from phistack.features.columns.settings import OF_THE_TOKEN, FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.features.saved_files import SavedFiles
from phistack.submodels.crf.crfsuite import read_weights
from phistack.submodels.crf.submodel import CrfSubmodel

TEXT = (
    "PATIENT: Talissa van den BERG\nSeen on 3 March 2081 in San Francisco by Dr. McDonald.\n\nPLAN\n"
    "HealthCare at UNITED KINGDOM hospital, then New York; SmithMD saw her wife.\n"
)
NOTES = [Document("1", TEXT, (Span(9, 29, "PATIENT"),)), Document("2", TEXT.lower()), Document("3", TEXT.upper())]
PIECES = FeatureSettings(tokeniser="zhao2020", byte_pairs_per_word=0.1)


def spaces(notes: Sequence[Document], pieces: FeatureSettings = PIECES) -> tuple[FeatureSpace, FeatureSpace]:
    """Fitted feature spaces of whole words and of pieces."""
    whole, cut = FeatureSpace(FeatureSettings()), FeatureSpace(pieces)
    whole.fit(notes)
    cut.fit(notes)
    return whole, cut


def of_characters(table: FeatureTable, column: str, offset: int = 0) -> dict[int, str]:
    """The value of a column at each character that is in a token, or at its neighbour; empty beyond the note."""
    values = (*table.space.values(column), "")
    ids = np.append(table.column(column), len(values) - 1)
    starts, ends = table.offsets
    rows = zip(
        starts.tolist(), ends.tolist(), (ids[table.neighbours(offset)] if offset else ids).tolist(), strict=False
    )
    return {place: values[number] for start, end, number in rows for place in range(start, end)}


@pytest.mark.parametrize("pieces", [PIECES, FeatureSettings(tokeniser="zhao2020")], ids=["byte pairs", "capitals"])
def test_no_column_but_those_of_the_token_knows_of_the_pieces(pieces: FeatureSettings) -> None:
    whole, cut = spaces(NOTES, pieces)
    assert len(cut.table(NOTES[0])) > len(whole.table(NOTES[0]))
    for one, other in zip(whole.tables(NOTES), cut.tables(NOTES), strict=True):
        for column in set(whole.columns) - OF_THE_TOKEN:
            assert of_characters(one, column) == of_characters(other, column), column


ENTRIES = sorted(" ".join(entry) for of in Gazetteers.of_language("en").entries.values() for entry in of)
MENTIONS = st.builds(
    lambda entry, write: write(entry),
    st.sampled_from(ENTRIES[:: max(1, len(ENTRIES) // 400)]),
    st.sampled_from([str.title, str.upper, str.lower, str.swapcase]),
)


@given(st.lists(MENTIONS | st.sampled_from(["Seen by", ",", "\n", "inJUNE"]), max_size=8).map(" ".join))
def test_the_hits_of_every_gazetteer_are_the_same_with_and_without_byte_pairs(text: str) -> None:
    table, pieces = (space.table(Document("x", text)) for space in FITTED)
    for column in GAZETTEER_COLUMNS:
        assert of_characters(table, column) == of_characters(pieces, column)


FITTED = spaces(NOTES)


ODD = st.text(st.sampled_from("aAbÉñ\u0301 9.\n:-²ªºß😀𐐀ǅ") | st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.lists(ODD, max_size=3))
@settings(max_examples=15)
def test_whatever_is_written_is_read_off_whole_words(texts: list[str]) -> None:
    notes = [Document(str(i), text) for i, text in enumerate(texts)]
    whole, cut = (
        FeatureSpace(FeatureSettings(without=("gazetteers",))),
        FeatureSpace(replace(PIECES, without=("gazetteers",))),
    )
    for one, other in zip(whole.fit(notes), cut.fit(notes), strict=True):
        assert (other.ids > 0).all() and "".join(one.words) == "".join(other.words)
        for column in set(whole.columns) - OF_THE_TOKEN:
            assert of_characters(one, column) == of_characters(other, column), column


def test_a_column_says_where_a_token_stands_in_its_word() -> None:
    [table] = FeatureSpace(FeatureSettings(tokeniser="zhao2020")).fit([Document("x", "of MRI, McX")])
    pieces = [table.space.values("word_piece")[number] for number in table.column("word_piece")]
    assert list(zip(table.words, pieces, strict=True)) == [
        ("of", ""), ("M", "B"), ("R", "I"), ("I", "I"), (",", ""), ("Mc", "B"), ("X", "I"),
    ]  # fmt: skip


def test_the_old_tokeniser_reads_its_columns_off_its_tokens() -> None:
    """Engines that were trained with it must read the same as in training."""
    space = FeatureSpace(FeatureSettings(tokeniser="zhao"))
    [table] = space.fit([Document("1", "HealthCare")])
    assert [space.values("stem")[number] for number in table.column("stem")] == ["health", "care"]


def test_sentences_begin_where_those_of_whole_words_begin() -> None:
    whole, cut = (space.table(Document("x", "Seen by DR. Smith. MRI done.\nB")) for space in FITTED)
    starts = [table.offsets[0][table.sentences[:-1]].tolist() for table in (whole, cut)]
    assert starts[0] == starts[1]


def test_a_word_without_end_is_cut_into_sentences_of_bounded_length() -> None:
    table = FITTED[1].table(Document("x", "A" * 5000))
    assert len(table) == 5000 and np.diff(table.sentences).max() == 200


def test_neighbours_are_words_and_not_pieces() -> None:
    [table] = FeatureSpace(FeatureSettings(tokeniser="zhao2020")).fit([Document("x", "of MRI, McX")])
    # of | M R I | , | Mc X
    assert table.neighbours(-1).tolist() == [-1, 0, 0, 0, 3, 4, 4]
    assert table.neighbours(1).tolist() == [1, 4, 4, 4, 5, -1, -1]
    assert table.neighbours(-2).tolist() == [-1, -1, -1, -1, 0, 3, 3]
    assert FITTED[1].table(Document("x", "")).neighbours(1).tolist() == []


@pytest.mark.parametrize("offset", [-3, -2, -1, 1, 2, 3])
def test_a_neighbour_says_at_every_piece_what_it_says_of_a_whole_word(offset: int) -> None:
    for one, other in zip(*(space.tables(NOTES) for space in spaces(NOTES)), strict=True):
        for column in ("stem", "shape", "section", "city"):
            assert of_characters(one, column, offset) == of_characters(other, column, offset), column


WINDOWS = ((("stem", -1),), (("word", -1), ("word", 0)), (("shape", 0), ("shape", 1), ("word", 2)), (("stem", 0),))


def test_where_no_word_is_cut_windows_of_words_are_windows_of_tokens() -> None:
    tables = FITTED[0].tables(NOTES)
    fits = [CrfSubmodel(templates=WINDOWS, min_count=1, whole_words=given).fit(tables) for given in (False, True)]
    assert np.array_equal(*(np.array(crf.crosses_.read(tables)) for crf in fits))
    assert fits[0].propose(tables) == fits[1].propose(tables)


def test_the_crf_weighs_windows_of_words_as_it_learned_them(tmp_path: Path) -> None:
    tables = FITTED[1].tables(NOTES)
    crf = CrfSubmodel(templates=WINDOWS, min_count=1, whole_words=True).fit(tables)
    weights = read_weights(crf.model_)
    rows = {name: row for row, name in zip(weights.state, weights.attributes, strict=True)}
    read = crf.crosses_.read(tables)
    slow = [
        sum((rows.get(f"{i}:{values[token]}", 0) for i, values in enumerate(read)), np.zeros(len(weights.labels)))
        for token in range(len(read[0]))
    ]
    assert np.allclose(crf.emissions(tables), slow, atol=1e-4)
    crf.save(tmp_path)
    again = CrfSubmodel.load(SavedFiles.of_folder(tmp_path), FITTED[1])
    assert again.whole_words and again.propose(tables) == crf.propose(tables)
    settings = json.loads((tmp_path / "settings.json").read_text())
    del settings["whole_words"]
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    assert not CrfSubmodel.load(SavedFiles.of_folder(tmp_path), FITTED[1]).whole_words, "as in engines before"


def test_byte_pairs_are_as_many_as_the_words_of_the_corpus_ask_for() -> None:
    few, many = ([Document("1", " ".join(f"{a}x{b} {a}x{b}" for a in "abcdefgh" for b in letters))] for letters in
                 ("ij", "ijklmnopqr"))  # fmt: skip
    found = []
    for notes in (few, many):
        space = FeatureSpace(FeatureSettings(tokeniser="zhao2020", byte_pairs_per_word=0.5))
        space.fit(notes)
        assert space.tokeniser_.byte_pairs is not None
        found.append(len(space.tokeniser_.byte_pairs.merges))
    assert found == [8, 40]


def test_the_share_of_phi_that_no_token_boundary_can_say_is_printed(
    phistack: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Both tokenisers have `Dr` and `smithson` as tokens; neither can mark `smith` within it, one can mark `Care`."""
    notes = [
        Document(f"{i}-01", "Seen in HealthCare by smithson.", (Span(14, 18, "HOSPITAL"), Span(22, 27, "DOCTOR")))
        for i in range(4)
    ]
    write_corpus(Corpus(tuple(notes), LabelSet.named("i2b2-2014")), tmp_path / "notes", format="i2b2")
    for tokeniser, share in (("liu", "100.00% of the PHI (8 of 8)"), ("zhao2020", "50.00% of the PHI (4 of 8)")):
        (tmp_path / "own.toml").write_text(
            f"[features]\ntokeniser = '{tokeniser}'\n[submodels.tbed]\nstart = 'empty'\n"
        )
        status, out, error = phistack(
            "train", tmp_path / "notes", "--model", tmp_path / tokeniser, "--details",
            "--config", tmp_path / "own.toml",
        )  # fmt: skip
        assert status == 0, error
        assert f"{share} begin or end within a token" in out
