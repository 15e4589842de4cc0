"""Mentions replaced by others of their kind: what may change in a note, and what stays."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.layout_columns import LAYOUT_COLUMNS
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.tags import decode
from phistack.submodels.blstm import rows
from phistack.submodels.blstm.encoder import Encoder
from phistack.submodels.blstm.mention_replacement import OF_THE_PLACE, Mentions
from tests.annotated import annotated

NAMES = ["Gorse", "Anna Maria Quillan", "Alder-Smythe", "Osgood Penhale"]
COLUMNS = ("shape", "key", "line_length")
TAGS = ("O", *(f"{prefix}-{label}" for prefix in "BIES" for label in ("DOCTOR", "PATIENT")))


def _note(number: Any, names: Any) -> Any:
    patient, doctor = names
    seen = f"Doctor: [{doctor}|DOCTOR]\nSeen by [{doctor}|DOCTOR] with fever.\nRest {number} days."
    return annotated(f"Patient: [{patient}|PATIENT]\n{seen}", f"n{number}")


def _mentions(documents: Any, columns: Any = COLUMNS) -> Any:
    tables = FeatureSpace(FeatureSettings(split_lines=True)).fit(documents)
    encoder, spellings = Encoder.of(tables, columns), {}
    notes = [encoder.encode(table, spellings, TAGS, scheme="BIOES") for table in tables]
    spans = [decode(table.tags(scheme="BIOES"), scheme="BIOES") for table in tables]
    return Mentions(notes, spans, columns), list(spellings)


def _spans(note: Any) -> Any:
    return decode([TAGS[tag] for tag in note.tags], scheme="BIOES")


def _outside(note: Any, words: Any) -> Any:
    inside = {i for first, last, _ in _spans(note) for i in range(first, last)}
    return [words[spelling] for i, spelling in enumerate(note.spellings) if i not in inside]


def _texts(note: Any, words: Any) -> Any:
    return [(" ".join(words[i] for i in note.spellings[first:last]), label) for first, last, label in _spans(note)]


@given(
    names=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=4),
    share=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 1000),
)
def test_only_mentions_change_and_each_is_one_of_its_kind(names: Any, share: Any, seed: Any) -> None:
    mentions, words = _mentions([_note(number, pair) for number, pair in enumerate(names)])
    changed = mentions.replaced(share, np.random.default_rng(seed))
    for note, before in zip(changed, mentions.notes, strict=True):
        assert _outside(note, words) == _outside(before, words)
        assert [label for *_, label in _spans(note)] == [label for *_, label in _spans(before)]
        for name in ("words", "spellings", "features"):
            assert len(getattr(note, name)) == len(note.tags)
        for name in ("sentences", "lines"):
            bounds, old = getattr(note, name), getattr(before, name)
            assert (bounds[0], bounds[-1]) == (0, len(note.tags))
            assert [words[note.spellings[i]] for i in bounds[:-1] if note.tags[i] == TAGS.index("O")] == [
                words[before.spellings[i]] for i in old[:-1] if before.tags[i] == TAGS.index("O")
            ]
        if share == 0:
            assert all(np.array_equal(getattr(note, name), getattr(before, name)) for name in ("words", "features"))
    known = {pair for note in mentions.notes for pair in _texts(note, words)}
    assert {pair for note in changed for pair in _texts(note, words)} <= known


def test_a_mention_after_a_key_is_replaced_by_one_after_the_same_key() -> None:
    documents = [_note(0, ("Gorse", "Osgood")), _note(1, ("Quillan", "Rusk"))]
    within = Document("n2", "Seen by Larkin-Vance of this ward.", (Span(8, 20, "DOCTOR"),))
    mentions, words = _mentions([*documents, within])
    generator = np.random.default_rng(0)
    found = {_texts(note, words)[1][0] for _ in range(20) for note in mentions.replaced(1.0, generator)[:2]}
    assert found == {"Osgood", "Rusk"}
    mentions, words = _mentions([*documents, within], columns=("shape", "line_length"))
    found = {_texts(note, words)[1][0] for _ in range(20) for note in mentions.replaced(1.0, generator)[:2]}
    assert found == {"Osgood", "Rusk", "Larkin - Vance"}


def test_columns_of_the_place_stay_and_those_of_the_word_come_with_it() -> None:
    mentions, words = _mentions([_note(0, ("Gorse", "Osgood")), _note(1, ("Anna Maria Quillan", "Rusk"))])
    generator = np.random.default_rng(1)
    note = next(
        changed
        for changed in (mentions.replaced(1.0, generator)[0] for _ in range(100))
        if _texts(changed, words)[0][0] == "Anna Maria Quillan"
    )
    gorse, other = mentions.notes
    shape, *places = range(len(COLUMNS))
    assert note.features[2:5, shape].tolist() == other.features[2:5, shape].tolist()
    assert note.features[2:5, places].tolist() == [gorse.features[2, places].tolist()] * 3


def test_the_table_of_columns_for_speed_decides_nothing_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another table gives the same notes, and each column that depends on the place declares what stays."""

    def features() -> Any:
        mentions, _ = _mentions([_note(number, (name, name)) for number, name in enumerate(NAMES)])
        return [note.features.tolist() for note in mentions.replaced(1.0, np.random.default_rng(2))]

    expected = features()
    monkeypatch.setattr(rows, "_TOGETHER", (("shape",),))
    assert features() == expected
    assert {"key", "section", "line_start", "document_position"} < OF_THE_PLACE < set(LAYOUT_COLUMNS)


def test_a_mention_that_a_sentence_divides_stays() -> None:
    document = Document("n", "Seen by Ann\nLee. Rest.", (Span(8, 15, "DOCTOR"),))
    mentions, _ = _mentions([document, _note(1, ("Gorse", "Osgood"))])
    assert mentions.of_notes[0] == []
    assert np.array_equal(mentions.replaced(1.0, np.random.default_rng(0))[0].words, mentions.notes[0].words)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_seed_decides(share: Any) -> None:
    mentions, _ = _mentions([_note(number, (name, name)) for number, name in enumerate(NAMES)])
    first, second = (mentions.replaced(share, np.random.default_rng(5)) for _ in range(2))
    assert all(np.array_equal(a.spellings, b.spellings) for a, b in zip(first, second, strict=True))
