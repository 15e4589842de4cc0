"""Characters read by a bidirectional LSTM: against a loop over single words, and within a submodel."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.saved_files import SavedFiles
from phistack.submodels.blstm.inference import spelling_vectors
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.weights import NetworkSizes, NetworkWeights, first_weights

UNITS = 3
SIZES = NetworkSizes(
    words=4, characters=9, values=0, columns=0, tags=3, character=5, kernels=(), character_lstm=UNITS, lstm=4
)


def last_state(vectors: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The textbook's LSTM, a character at a time."""
    state, cell = np.zeros(UNITS), np.zeros(UNITS)
    for vector in vectors:
        gates = np.concatenate([vector, state]) @ kernel + bias
        enter, candidate, forget, show = np.split(gates, 4)
        cell = cell / (1 + np.exp(-forget)) + np.tanh(candidate) / (1 + np.exp(-enter))
        state = np.tanh(cell) / (1 + np.exp(-show))
    return state


def read_one(word: list[int], weights: NetworkWeights) -> np.ndarray:
    vectors = weights["character"][[0, *word]]
    ends = [(vectors, "forward"), (vectors[::-1], "backward")]
    return np.concatenate(
        [last_state(v, weights[f"characters_{name}"], weights[f"characters_{name}_bias"]) for v, name in ends]
    )


@given(words=st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=6), min_size=1, max_size=5))
def test_the_vector_of_a_word_is_the_last_state_of_each_direction(words: list[list[int]]) -> None:
    weights = first_weights(SIZES, seed=1)
    padded = np.array([[0, *word, *[0] * (7 - len(word))] for word in words], dtype=np.int32)
    expected = np.array([read_one(word, weights) for word in words])
    np.testing.assert_allclose(spelling_vectors(weights, padded), expected, atol=1e-5)


def test_without_it_the_first_weights_are_as_they_were() -> None:
    plain = first_weights(replace(SIZES, kernels=(2,), character_lstm=0), seed=1)
    assert not [name for name in plain if name.startswith("characters_")]
    assert (first_weights(SIZES, seed=1)["characters_forward_bias"].reshape(4, UNITS)[2] == 1).all()


def test_a_submodel_learns_names_by_it_and_is_saved() -> None:
    names = ["Orlen", "Birch", "Talbot", "Wren", "Ashdown", "Corbel", "Fenwick", "Hale"]
    texts = [f"Seen by Dr. {name} today." for name in names]
    notes = [Document(str(i), t, (Span(12, t.index(" today"), "DOCTOR"),)) for i, t in enumerate(texts)]
    space = FeatureSpace()
    tables = space.fit(notes)
    model = BlstmSubmodel(columns=(), networks=1, character_lstm=4, lstm_size=8, word_size=8, epochs=6).fit(tables)
    assert model.weights_[0]["characters_forward"].shape == (16 + 4, 16) and "kernel2" not in model.weights_[0]
    unseen = space.tables([Document("new", "Seen by Dr. Marlowe today.")])
    assert [c.span for c in model.propose(unseen)[0] if c.chosen] == [Span(12, 19, "DOCTOR")]
    again = BlstmSubmodel.load(SavedFiles.written_by(model.save), space)
    np.testing.assert_array_equal(model.emissions(unseen)[0], again.emissions(unseen)[0])
