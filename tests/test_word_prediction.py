"""The network's second task in training: its loss against a slow one, and what it leaves behind."""

from typing import Any

import numpy as np
import pytest

from phistack.submodels.blstm.rows import EncodedNote
from phistack.submodels.blstm.word_prediction import WordPrediction

UNITS = 3


@pytest.fixture(scope="module")
def prediction() -> WordPrediction:
    words = np.array([2, 5, 5, 3, 2, 5, 4], dtype=np.int32)
    bounds = np.array([0, len(words)], dtype=np.int32)
    note = EncodedNote(words, words, words[:, None], bounds, bounds, words)
    return WordPrediction.of([note], words=2, weight=0.5)


def missed(state: Any, weights: Any, word: Any) -> float:
    """Cross-entropy of one word; the two most frequent words, 5 and 2, have the classes 1 and 2."""
    scores = state @ weights
    return np.log(np.exp(scores).sum()) - scores[{5: 1, 2: 2}.get(word, 0)]


def test_the_loss_is_that_of_both_neighbours_of_each_token(prediction: WordPrediction) -> None:
    rows = [[5, 2, 3, 5], [2, 4]]
    states = np.random.default_rng(0).normal(size=(6, 2 * UNITS)).astype(np.float32)
    weights = prediction.first_weights(UNITS, seed=1)
    of_rows = zip(rows, np.split(states, [4]), strict=True)
    expected = sum(
        missed(of_row[i, :UNITS], weights["next_word"], row[i + 1])
        + missed(of_row[i + 1, UNITS:], weights["previous_word"], row[i])
        for row, of_row in of_rows
        for i in range(len(row) - 1)
    )
    words = np.concatenate(rows).astype(np.int32)
    loss, _, _ = prediction.loss_and_gradients(states, words, np.array([0, 4]), weights)
    assert loss == pytest.approx(0.5 * expected, rel=1e-5)


def test_weights_come_from_the_seed_and_have_a_class_for_rare_words(prediction: WordPrediction) -> None:
    first, same, other = (prediction.first_weights(UNITS, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first["next_word"], same["next_word"])
    assert not np.array_equal(first["next_word"], other["next_word"])
    assert first["next_word"].shape == (UNITS, 3)
