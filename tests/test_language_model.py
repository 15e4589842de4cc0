"""The network's second task in training: its loss against a slow one, and what it leaves behind."""

from typing import Any

import numpy as np
import pytest
from numpy import float32, int32
from numpy.typing import NDArray

from submodels.blstm.encoder import EncodedNote
from submodels.blstm.training import load_keras

UNITS = 3


@pytest.fixture(scope="module")
def language_model() -> Any:
    load_keras(1)
    from submodels.blstm.language_model import LanguageModel

    words = np.array([2, 5, 5, 3, 2, 5, 4], dtype=np.int32)
    bounds = np.array([0, len(words)], dtype=np.int32)
    note = EncodedNote(words, words, words[:, None], bounds, bounds, words)
    return LanguageModel.of([note], words=2, units=UNITS, weight=0.5, seed=1)


def _missed(state: NDArray[np.float32], weights: NDArray[np.float32], word: int32) -> float32:
    """Cross-entropy of one word; the two most frequent words, 5 and 2, have the classes 1 and 2."""
    scores = state @ weights
    return np.log(np.exp(scores).sum()) - scores[{5: 1, 2: 2}.get(int(word), 0)]


def test_the_loss_is_that_of_both_neighbours_of_each_token(language_model: Any) -> None:
    random = np.random.default_rng(0)
    words = np.array([[5, 2, 3, 5], [2, 4, 0, 0]], dtype=np.int32)
    states = random.normal(size=(2, 4, 2 * UNITS)).astype(np.float32)
    lengths = [4, 2]
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=np.float32)
    after, before = (np.asarray(language_model.weights[name]) for name in ("next_word", "previous_word"))
    expected = sum(
        _missed(states[row, i, :UNITS], after, words[row, i + 1])
        + _missed(states[row, i + 1, UNITS:], before, words[row, i])
        for row, length in enumerate(lengths)
        for i in range(length - 1)
    )
    assert float(language_model.loss(states, words, mask)) == pytest.approx(0.5 * expected, rel=1e-5)


def test_weights_come_from_the_seed_and_have_a_class_for_rare_words(language_model: Any) -> None:
    from submodels.blstm.language_model import LanguageModel

    classes = np.array([0, 0, 1, 0], dtype=np.int32)
    first, same, other = (LanguageModel(classes, units=UNITS, weight=1.0, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.weights["next_word"], same.weights["next_word"])
    assert not np.array_equal(first.weights["next_word"], other.weights["next_word"])
    assert language_model.weights["next_word"].shape == (UNITS, 3)
