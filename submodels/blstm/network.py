"""The neural network of the BLSTM-CNN-CRF submodel, in Keras.

    word embedding ─┐
    character CNN  ─┼─ dropout ─ bidirectional LSTM ─ dropout ─ dense ─ emissions ─ CRF
    feature embeddings ─┘

Ma and Hovy 2016, with an embedding of each feature column added to the input as in Zhao 2020. The character CNN looks
at each distinct word of a batch once. `submodels.blstm.inference` computes the same without Keras.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from submodels.blstm.crf_loss import negative_log_likelihood
from submodels.blstm.language_model import LanguageModel
from submodels.blstm.weights import NetworkSizes, first_weights

__all__ = ["TaggingNetwork", "scanned_lstm"]


class TaggingNetwork:
    """Weights by name, and what the network computes with them.

    :param sizes: of all parts.
    :param dropout: rate for the input of the LSTM and for its output.
    :param language_model: a second task in training.
    :param seed: decides on the first weights and on dropout.
    """

    def __init__(
        self,
        sizes: NetworkSizes,
        *,
        dropout: float = 0.5,
        language_model: LanguageModel | None = None,
        seed: int = 0,
    ) -> None:
        self.sizes = sizes
        self.dropout = dropout
        self.language_model = language_model
        self._random = keras.random.SeedGenerator(seed)
        self.weights = {name: keras.Variable(value, name=name) for name, value in first_weights(sizes, seed).items()}

    @property
    def trained(self) -> list[keras.Variable]:
        """All that training changes: the weights, and those of the language model."""
        return [*self.weights.values(), *(self.language_model.weights.values() if self.language_model else ())]

    def emissions(self, batch: Mapping[str, Any]) -> Any:
        """How well each tag fits each token, of shape `(n_rows, n_tokens, n_tags)`.

        :param batch: arrays as `submodels.blstm.encoder.with_characters` gives them.
        """
        return self._scores(self._states(batch, training=False))

    def loss(self, batch: Mapping[str, Any]) -> Any:
        """What training makes small: the negative log-likelihood of the gold tags for each sentence of the batch.

        With a language model, its loss is added.
        """
        w = self.weights
        states = self._states(batch, training=True)
        mask = ops.cast(ops.arange(ops.shape(states)[1])[None, :] < batch["lengths"][:, None], "float32")
        rows = negative_log_likelihood(
            self._scores(states), batch["tags"], batch["begins"], mask, w["transitions"], w["start"], w["end"]
        )
        total = ops.sum(rows)
        if self.language_model is not None:
            total += self.language_model.loss(states, batch["words"], mask)
        return total / ops.cast(ops.sum(batch["begins"]), "float32")

    def _scores(self, states: Any) -> Any:
        return ops.matmul(states, self.weights["dense"]) + self.weights["dense_bias"]

    def _states(self, batch: Mapping[str, Any], *, training: bool) -> Any:
        """The states of both directions, of shape `(n_rows, n_tokens, 2 * lstm)`."""
        w = self.weights
        spelling = ops.take(self._spellings(batch["characters"]), batch["spellings"], axis=0)
        features = ops.take(w["feature"], batch["features"], axis=0)
        features = ops.reshape(features, (*ops.shape(features)[:2], self.sizes.columns * self.sizes.feature))
        inputs = ops.concatenate([ops.take(w["word"], batch["words"], axis=0), spelling, features], axis=2)
        return self._drop(self._blstm(self._drop(inputs, training), batch["lengths"]), training)

    def _drop(self, values: Any, training: bool) -> Any:
        return keras.random.dropout(values, self.dropout, seed=self._random) if training and self.dropout else values

    def _spellings(self, characters: Any) -> Any:
        """A vector for each distinct word: the strongest answer of each convolution over its characters."""
        embedded = ops.take(self.weights["character"], characters, axis=0)
        answers = [
            ops.max(ops.conv(embedded, self.weights[f"kernel{width}"]), axis=1) + self.weights[f"kernel{width}_bias"]
            for width in self.sizes.kernels
        ]
        return ops.relu(ops.concatenate(answers, axis=1))

    def _blstm(self, inputs: Any, lengths: Any) -> Any:
        """Both directions of the LSTM, of shape `(n_rows, n_tokens, 2 * lstm)`."""
        w = self.weights
        forward = ops.transpose(inputs, (1, 0, 2))
        backward = _reversed(forward, lengths)
        ahead = _lstm(forward, w["forward"], w["forward_bias"])
        back = _reversed(_lstm(backward, w["backward"], w["backward_bias"]), lengths)
        return ops.transpose(ops.concatenate([ahead, back], axis=2), (1, 0, 2))


def _reversed(values: Any, lengths: Any) -> Any:
    """Each row's tokens from last to first, its padding left where it is; of shape `(n_tokens, n_rows, ...)`."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.reverse_sequence(values, lengths, seq_axis=0, batch_axis=1)
    places = ops.arange(ops.shape(values)[0])[:, None]
    return ops.take_along_axis(values, ops.where(places < lengths, lengths - 1 - places, places)[:, :, None], axis=0)


def _lstm(inputs: Any, kernel: Any, bias: Any) -> Any:
    """An LSTM over `(n_tokens, n_rows, length)`, its gates in the order input, new, forget, output."""
    if keras.backend.backend() == "tensorflow":
        from submodels.blstm.fused_lstm import fused_lstm

        return fused_lstm(inputs, kernel, bias)
    return scanned_lstm(inputs, kernel, bias)


def scanned_lstm(inputs: Any, kernel: Any, bias: Any) -> Any:
    """The same in operations that every backend has."""
    units = kernel.shape[1] // 4

    def step(state: Any, token: Any) -> tuple[Any, Any]:
        hidden, cell = state[:, :units], state[:, units:]
        gates = ops.matmul(ops.concatenate([token, hidden], axis=1), kernel) + bias
        let_in, new, forget, let_out = ops.split(gates, 4, axis=1)
        cell = ops.sigmoid(let_in) * ops.tanh(new) + ops.sigmoid(forget) * cell
        state = ops.concatenate([ops.sigmoid(let_out) * ops.tanh(cell), cell], axis=1)
        return state, state

    _, states = ops.scan(step, ops.zeros((ops.shape(inputs)[1], 2 * units)), inputs)
    return states[:, :, :units]
