"""The BLSTM-CNN-CRF submodel on made-up notes: what it learns, keeps and refuses."""

import json
import logging
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Candidate
from phistack.submodels.blstm.encoder import LONGEST_WORD, UNKNOWN, Encoder
from phistack.submodels.blstm.gradients import FlatBatch
from phistack.submodels.blstm.inference import emissions_of
from phistack.submodels.blstm.rows import EncodedNote, NetworkInput, batches_of, blocks_of, rows_of
from phistack.submodels.blstm.settings import BlstmSettings
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.weights import first_weights, from_saved, network_shapes, to_saved
from tests.annotated import annotated
from tests.invented_names import NAMES

QUICK = {"epochs": 3, "least_steps": 100, "lstm_size": 32, "word_size": 32, "learning_rate": 0.01}


def _note(number: int, name: str) -> Document:
    seen = f"Seen by Dr. [{name}|DOCTOR] on [0{number % 9 + 1}/12/2019|DATE]."
    text = f"Patient: [{name}|PATIENT]\nAge: {20 + number} years. {seen}\nRest and fluids."
    return annotated(text, f"{100 + number}-01", f"p{number}")


@pytest.fixture(scope="module")
def tables() -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings()).fit([_note(i, name) for i, name in enumerate(NAMES * 2)])


@pytest.fixture(scope="module")
def fitted(tables: list[FeatureTable]) -> BlstmSubmodel:
    return BlstmSubmodel(**QUICK).fit(tables, seed=3)


@pytest.fixture(scope="module")
def unseen(tables: list[FeatureTable]) -> list[FeatureTable]:
    documents = [_note(i + 40, name) for i, name in enumerate(["Gorse", "Quillan"])]
    return tables[0].space.tables([*documents, Document("empty", ""), Document("blank", " \r\n")])


def _chosen(candidates: list[Candidate]) -> set[Span]:
    return {candidate.span for candidate in candidates if candidate.chosen}


def test_it_finds_names_it_never_saw(fitted: BlstmSubmodel, unseen: list[FeatureTable]) -> None:
    proposals = fitted.propose(unseen)
    for table, candidates in zip(unseen, proposals, strict=True):
        assert _chosen(candidates) == set(table.document.spans)
    assert all(candidate.score > 0.5 for candidate in proposals[0] if candidate.chosen)


def _lstm(inputs: NDArray[np.float32], kernel: NDArray[np.float32], bias: NDArray[np.float32]) -> NDArray[np.float64]:
    """Hochreiter and Schmidhuber's equations, one row after the other."""
    length, units = inputs.shape[2], kernel.shape[1] // 4
    hidden = np.zeros((*inputs.shape[:2], units))
    for row in range(inputs.shape[1]):
        state, cell = np.zeros(units), np.zeros(units)
        for step, token in enumerate(inputs[:, row]):
            gates = token @ kernel[:length] + state @ kernel[length:] + bias
            input_gate, candidate, forget_gate, output_gate = np.split(gates, 4)
            cell = _sigmoid(forget_gate) * cell + _sigmoid(input_gate) * np.tanh(candidate)
            hidden[step, row] = state = _sigmoid(output_gate) * np.tanh(cell)
    return hidden


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-values))


def _slow_emissions(
    weights: dict[str, NDArray[np.float32]], note: EncodedNote, characters: NDArray[np.int32], window: int
) -> NDArray[np.float64]:
    """The network token by token and without any sharing, for one note."""
    size = weights["character"].shape[1]
    spellings = []
    for word in weights["character"][characters]:
        answers = []
        for width in (int(name[6:]) for name in weights if name.startswith("kernel") and "_" not in name):
            kernel = weights[f"kernel{width}"].reshape(width * size, -1)
            windows = [word[i : i + width].ravel() @ kernel for i in range(len(word) - width + 1)]
            answers.append(np.max(windows, axis=0) + weights[f"kernel{width}_bias"])
        spellings.append(np.maximum(np.concatenate(answers), 0))
    features = weights["feature"][note.features].reshape(len(note.words), -1)
    inputs = np.concatenate([weights["word"][note.words], np.array(spellings)[note.spellings], features], axis=1)
    found = []
    for _, first, last in rows_of([note], window=window):
        row = inputs[first:last, None]
        ahead = _lstm(row, weights["forward"], weights["forward_bias"])
        back = _lstm(row[::-1], weights["backward"], weights["backward_bias"])[::-1]
        found.append(np.concatenate([ahead, back], axis=2)[:, 0] @ weights["dense"] + weights["dense_bias"])
    return np.concatenate(found)


@settings(max_examples=20)
@given(data=st.data())
def test_emissions_are_those_of_the_network_without_any_sharing(data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sizes = BlstmSettings(lstm_size=4, kernels=(3, 1, 22), channels=2, word_size=3, character_size=2)
    shapes = network_shapes(sizes, words=6, characters=5, values=12, columns=3, tags=3)
    weights = {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    characters = random.integers(1, 5, (7, LONGEST_WORD + 2), dtype=np.int32)
    characters[np.arange(22) > random.integers(0, 22, (7, 1))] = 0
    characters[:, [0, -1]] = 0
    blocks = data.draw(st.sampled_from([((0, 1, 2),), ((1,), (0, 2)), ((), (), (2, 1), (0,)), ((2, 0), (1,), ())]))
    notes = []
    for lengths in data.draw(st.lists(st.lists(st.integers(1, 9), max_size=5), min_size=1, max_size=4)):
        n_tokens = sum(lengths)
        bounds = np.cumsum([0, *lengths], dtype=np.int32) if lengths else np.zeros(0, dtype=np.int32)
        spellings = random.integers(0, 7, n_tokens, dtype=np.int32)
        words = spellings // 2  # a word follows from its spelling
        features = random.integers(0, 4, (n_tokens, 3), dtype=np.int32) + np.array([0, 4, 8], dtype=np.int32)
        notes.append(EncodedNote(words, spellings, features, bounds, bounds, words[:0]))
    ours = emissions_of([weights], notes, characters, blocks, window=10)
    for note, emissions in zip(notes, ours, strict=True):
        assert emissions.shape == (len(note.words), 3)
        if len(note.words):
            assert np.allclose(emissions, _slow_emissions(weights, note, characters, 10), atol=1e-5)


@given(most=st.sampled_from([2, 5, 2**31 - 1]), seed=st.integers(0, 2**32))
def test_tokens_of_one_value_have_the_same_word_and_columns_of_the_block(most: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    spellings = random.integers(0, 3, 30, dtype=np.int32)
    features = random.integers(0, most, (5, 4), dtype=np.int32)[random.integers(0, 5, 30)]
    bounds = np.array([0, 30], dtype=np.int32)
    blocks = ((3, 0, 1), (2,))
    reading = NetworkInput(
        [EncodedNote(spellings, spellings, features, bounds, bounds, spellings[:0])], blocks, window=8
    )
    for columns, block in zip(blocks, reading.blocks, strict=True):
        values = features[:, columns]
        if block is reading.blocks[0]:
            values = np.column_stack([spellings, values])
        assert np.array_equal(values[block.tokens][block.places], values)
        assert len(block.tokens) == len(np.unique(values, axis=0))


def test_every_column_is_in_one_block() -> None:
    assert blocks_of(["shape", "key", "line_length", "number", "section"]) == ((0, 3), (1, 4), (2,))
    assert blocks_of(["key"]) == ((), (0,), ())


def test_files_are_json_and_arrays_without_objects(fitted: BlstmSubmodel, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    names = ["settings.json", "vocabularies.json", "weights-1.npz", "weights-2.npz"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    vocabularies = json.loads((tmp_path / "vocabularies.json").read_text(encoding="utf-8"))
    assert vocabularies["tags"] == ["B-DATE", "E-DATE", "I-DATE", "O", "S-DOCTOR", "S-PATIENT"]
    with np.load(tmp_path / "weights-1.npz", allow_pickle=False) as weights:
        assert all(weights[name].dtype == np.float32 for name in weights.files)


@pytest.mark.parametrize(("bits", "kinds"), [(16, {"float16"}), (8, {"float16", "int8"})])
def test_rounded_weights_say_the_same_before_and_after_they_are_saved(
    tables: list[FeatureTable], unseen: list[FeatureTable], tmp_path: Path, bits: int, kinds: set[str]
) -> None:
    model = BlstmSubmodel(**QUICK, bits=bits).fit(tables[:8], seed=3)
    model.save(tmp_path)
    with np.load(tmp_path / "weights-1.npz", allow_pickle=False) as weights:
        assert {str(weights[name].dtype) for name in weights.files} == kinds
    loaded = BlstmSubmodel.load(SavedFiles.of_folder(tmp_path), tables[0].space)
    assert loaded.propose(unseen) == model.propose(unseen)


def test_weights_of_8_bits_are_within_a_127th_of_the_greatest_of_their_row(fitted: BlstmSubmodel) -> None:
    for weights in fitted.weights_:
        shapes = {name: array.shape for name, array in weights.items()}
        rounded = from_saved(to_saved(weights, 8), shapes, 8)
        for name, array in weights.items():
            rows = np.abs(array.reshape(len(array), -1))
            assert (np.abs(rounded[name] - array).reshape(rows.shape).max(axis=1) <= rows.max(axis=1) / 127).all()


def test_a_network_saved_before_there_were_bits_is_read(
    tables: list[FeatureTable], unseen: list[FeatureTable], tmp_path: Path
) -> None:
    model = BlstmSubmodel(**QUICK, bits=16).fit(tables[:8], seed=3)
    model.save(tmp_path)
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    del settings["bits"]
    (tmp_path / "settings.json").write_text(json.dumps(settings | {"half_precision": True}), encoding="utf-8")
    loaded = BlstmSubmodel.load(SavedFiles.of_folder(tmp_path), tables[0].space)
    assert loaded.propose(unseen) == model.propose(unseen)


@pytest.mark.parametrize("change", ["words", "tags", "columns", "values"])
def test_files_that_do_not_belong_together_are_refused(
    fitted: BlstmSubmodel, tables: list[FeatureTable], tmp_path: Path, change: str
) -> None:
    fitted.save(tmp_path)
    path = tmp_path / "vocabularies.json"
    vocabularies = json.loads(path.read_text(encoding="utf-8"))
    vocabularies[change] = vocabularies[change][1:]
    path.write_text(json.dumps(vocabularies), encoding="utf-8")
    with pytest.raises(BundleError):
        BlstmSubmodel.load(SavedFiles.of_folder(tmp_path), tables[0].space)


def test_a_space_without_its_columns_is_refused(fitted: BlstmSubmodel, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    bare = FeatureSpace(FeatureSettings(without=("layout",)))
    with pytest.raises(BundleError, match="feature columns"):
        BlstmSubmodel.load(SavedFiles.of_folder(tmp_path), bare)


def test_columns_that_are_left_out_are_dropped_and_said_so(caplog: pytest.LogCaptureFixture) -> None:
    space = FeatureSpace(FeatureSettings(without=("layout", "gazetteers")))
    tables = space.fit([_note(i, name) for i, name in enumerate(NAMES)])
    with caplog.at_level(logging.INFO, logger="phistack"):
        model = BlstmSubmodel(networks=1, epochs=1, least_steps=2, lstm_size=8).fit(tables)
    assert "shape" in model.encoder_.columns
    assert not {"key", "section", "city"} & set(model.encoder_.columns)
    assert "as the features lack key" in caplog.text
    assert "epoch 1 of 1" in caplog.text
    assert not any(name in caplog.text for name in NAMES)


def test_networks_are_averaged(fitted: BlstmSubmodel, tables: list[FeatureTable]) -> None:
    """The emissions of two networks are the mean of theirs."""
    one, other = (copy(fitted) for _ in range(2))
    one.weights_, other.weights_ = fitted.weights_[:1], fitted.weights_[1:]
    assert len(fitted.weights_) == 2
    for both, first, second in zip(*(model.emissions(tables) for model in (fitted, one, other)), strict=True):
        assert not np.allclose(first, second)
        np.testing.assert_allclose(both, (first + second) / 2, atol=1e-5)


def test_words_are_looked_up_without_case_and_digits_and_rare_ones_are_unknown(tables: list[FeatureTable]) -> None:
    encoder = Encoder.of(tables, ["shape"])
    spellings = {}
    note = encoder.encode(tables[0].space.table(Document("a", "PATIENT patient 17 2019 3141 zymurgy")), spellings)
    assert note.words[0] == note.words[1] > UNKNOWN
    assert note.words[3] == note.words[4] > UNKNOWN
    assert note.words[5] == UNKNOWN
    assert list(spellings) == ["PATIENT", "patient", "17", "2019", "3141", "zymurgy"]
    characters = encoder.spell(["ab" * 30, "", "\N{STETHOSCOPE}"])
    assert characters.shape == (3, LONGEST_WORD + 2)
    assert (characters[0] > 0).sum() == LONGEST_WORD
    assert not characters[1].any()
    assert characters[2, 1] == UNKNOWN


@given(
    lines=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=6),
    window=st.integers(1, 20),
)
def test_rows_hold_every_token_once_and_lines_are_cut_only_where_too_long(lines: list[list[int]], window: int) -> None:
    sentences = np.cumsum([0, *(length for line in lines for length in line)], dtype=np.int32)
    bounds = np.cumsum([0, *map(sum, lines)], dtype=np.int32)
    n_tokens = int(bounds[-1])
    nothing = np.zeros(n_tokens, dtype=np.int32)
    note = EncodedNote(nothing, nothing, nothing[:, None], sentences, bounds, nothing)
    rows = rows_of([note], window=window)
    assert [i for _, first, last in rows for i in range(first, last)] == list(range(n_tokens))
    for _, first, last in rows:
        # A row longer than the window is one line of up to twice the window, or one sentence.
        inside = sentences[(sentences > first) & (sentences < last)]
        assert (
            last - first <= window or (last - first <= 2 * window and {first, last} <= set(bounds)) or not len(inside)
        )
        assert first in bounds or max(map(sum, lines)) > 2 * window
    batches = batches_of(rows, tokens=24)
    assert sorted(row for batch in batches for row in batch) == rows
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(last - first for _, first, last in batch) <= 24
        flat, begin = FlatBatch(batch, [note], np.zeros((1, 1), dtype=np.int32)), 0
        for _, first, last in batch:
            expected = {first, *(bound for bound in bounds.tolist() if first < bound < last)}
            assert {first + i - begin for i in flat.sequences.tolist() if begin <= i < begin + last - first} == expected
            begin += last - first


def test_first_weights_come_from_the_seed_alone() -> None:
    shapes = network_shapes(BlstmSettings(lstm_size=4), words=5, characters=6, values=7, columns=2, tags=3)
    first, again, other = (first_weights(shapes, seed) for seed in (1, 1, 2))
    assert {name: array.shape for name, array in first.items()} == shapes
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["word"], other["word"])
