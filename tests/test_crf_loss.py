"""The likelihood of tag sequences in Keras, against the enumeration of all of them."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.submodels.blstm.keras_training import load_keras


@pytest.fixture(scope="module")
def layer() -> Any:
    load_keras(1)
    from phistack.submodels.blstm import network

    return network


def _chain_scores(random: Any, n_tags: Any) -> Any:
    return random.normal(size=(n_tags, n_tags)), random.normal(size=n_tags), random.normal(size=n_tags)


def _score(emissions: Any, tags: Any, begins: Any, transitions: Any, start: Any, end: Any) -> Any:
    """The score of one tag sequence, token by token."""
    total = start[tags[0]] + emissions[0, tags[0]]
    for i in range(1, len(tags)):
        if begins[i]:
            total += end[tags[i - 1]] + start[tags[i]]
        else:
            total += transitions[tags[i - 1], tags[i]]
        total += emissions[i, tags[i]]
    return total + end[tags[-1]]


def _padded(rows: Any) -> Any:
    longest = max(map(len, rows))
    padded = np.zeros((len(rows), longest, *rows[0].shape[1:]), dtype=rows[0].dtype)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded


@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    n_tags=st.integers(1, 4),
    scale=st.sampled_from([0.1, 1.0, 20.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_likelihood_is_that_of_enumeration(layer: Any, lengths: Any, n_tags: Any, scale: Any, seed: Any) -> None:
    random = np.random.default_rng(seed)
    transitions, start, end = _chain_scores(random, n_tags)
    emissions = [scale * random.normal(size=(length, n_tags)) for length in lengths]
    begins = [random.integers(0, 2, size=length) for length in lengths]
    tags = [random.integers(0, n_tags, size=length) for length in lengths]
    totals, gold = [], []
    for row, marks, path in zip(emissions, begins, tags, strict=True):
        paths = product(range(n_tags), repeat=len(row))
        totals.append(np.logaddexp.reduce([_score(row, p, marks, transitions, start, end) for p in paths]))
        gold.append(_score(row, path, marks, transitions, start, end))

    arrays = [a.astype(np.float32) for a in (transitions, start, end)]
    mask = _padded([np.ones(length, dtype=np.int32) for length in lengths])
    inputs = (_padded(emissions).astype(np.float32), _padded(begins).astype(np.int32), mask, *arrays)
    tag_ids = _padded(tags).astype(np.int32)
    tolerance = {"rtol": 1e-4, "atol": 1e-4 * max(1.0, scale)}
    assert np.allclose(layer.log_partition(*inputs), totals, **tolerance)
    lost = layer.negative_log_likelihood(inputs[0], tag_ids, *inputs[1:])
    assert np.allclose(lost, np.array(totals) - np.array(gold), **tolerance)


@pytest.mark.parametrize("compiled", [False, True])
def test_rows_of_one_token_have_a_likelihood_and_a_gradient(layer: Any, compiled: Any) -> None:
    import tensorflow as tf

    random = np.random.default_rng(4)
    transitions, start, end = (a.astype(np.float32) for a in _chain_scores(random, 3))
    emissions = random.normal(size=(2, 1, 3)).astype(np.float32)
    tags, ones = np.array([[0], [2]], dtype=np.int32), np.ones((2, 1), dtype=np.int32)

    def loss_and_gradient(emissions: Any, tags: Any, begins: Any, mask: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(emissions)
            loss = layer.negative_log_likelihood(emissions, tags, begins, mask, transitions, start, end)
        return loss, tape.gradient(loss, emissions)

    if compiled:
        # As in training, where one graph serves batches of any number of rows and tokens.
        marks = tf.TensorSpec([None, None], tf.int32)
        signature = [tf.TensorSpec([None, None, 3], tf.float32), marks, marks, marks]
        loss_and_gradient = tf.function(loss_and_gradient, input_signature=signature)
    loss, gradient = loss_and_gradient(tf.constant(emissions), tags, ones, ones)
    scores = np.exp(start + emissions[:, 0] + end)
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    assert np.allclose(loss, -np.log(probabilities[[0, 1], tags[:, 0]]), atol=1e-5)
    assert np.allclose(gradient[:, 0], probabilities - np.eye(3)[tags[:, 0]], atol=1e-5)
