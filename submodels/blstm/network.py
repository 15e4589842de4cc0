"""The neural network of the BLSTM-CNN-CRF submodel, in Keras on TensorFlow.

    word embedding ─┐
    character CNN  ─┼─ dropout ─ bidirectional LSTM ─ dropout ─ dense ─ emissions ─ CRF
    feature embeddings ─┘

Ma and Hovy 2016, with an embedding of each feature column added to the input as in Zhao 2020. The character CNN looks
at each distinct word of a batch once. As in Liu 2017, an LSTM may read the characters, and a hidden layer may join the
features to the states after the LSTM. `submodels.blstm.gradients` computes the same in NumPy, with its gradient, and
`submodels.blstm.inference` only what annotating needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from phistack.submodels.blstm.keras_layers import fused_lstm, negative_log_likelihood
from phistack.submodels.blstm.weights import CHARACTERS, InitialValues, NetworkSizes, first_weights
from phistack.submodels.blstm.word_prediction import PREDICTIONS, WordPrediction


class TaggingNetwork:
    """Weights by name, and what the network computes with them.

    :param sizes: of all parts.
    :param dropout: rate for the input of the LSTM and for its output.
    :param locked: whether dropout sets the same numbers to zero at all tokens of a row.
    :param prediction: a second task in training.
    :param seed: decides on the first weights and on dropout.
    :param known: initial values that are not random.
    """

    def __init__(
        self,
        sizes: NetworkSizes,
        *,
        dropout: float = 0.5,
        locked: bool = False,
        prediction: WordPrediction | None = None,
        seed: int = 0,
        known: Sequence[InitialValues] = (),
    ) -> None:
        self.sizes = sizes
        self.dropout = dropout
        self.locked = locked
        self.prediction = prediction
        self._random = keras.random.SeedGenerator(seed)
        second = prediction.first_weights(sizes.lstm, seed) if prediction else {}
        first = first_weights(sizes, seed, known)
        self.weights = {name: keras.Variable(value, name=name) for name, value in first.items()}
        self._second = [keras.Variable(second[name], name=name) for name in PREDICTIONS if prediction]

    @property
    def trained(self) -> list[keras.Variable]:
        """All that training changes: the weights, and those of the second task."""
        return [*self.weights.values(), *self._second]

    def emissions(self, batch: Mapping[str, Any]) -> Any:
        """How well each tag fits each token, of shape `(n_rows, n_tokens, n_tags)`.

        :param batch: arrays as `submodels.blstm.keras_training.padded_batch` gives them.
        """
        return self._scores(self._states(batch, training=False), batch)

    def loss(self, batch: Mapping[str, Any]) -> tuple[Any, Any]:
        """The mean negative log-likelihood of the gold tags of a sentence, with the loss of the second task.

        :returns: also the negative log-likelihood of the gold tags of each row, of shape `(n_rows,)`.
        """
        # (n_rows, n_tokens): 1 for a token, 0 for the padding after it.
        states = self._states(batch, training=True)
        mask = ops.cast(ops.arange(ops.shape(states)[1])[None, :] < batch["lengths"][:, None], "float32")
        rows = negative_log_likelihood(
            self._scores(states, batch), batch["tags"], batch["begins"], mask, *self._chain()
        )
        total = ops.sum(rows)
        if self.prediction is not None:
            total += self._prediction_loss(self.prediction, states, batch["words"], mask)
        return total / ops.cast(ops.sum(batch["begins"]), "float32"), rows

    def _chain(self) -> tuple[Any, Any, Any]:
        """Transitions, start and end; without a chain they are 0, which makes the loss a softmax for each tag."""
        if self.sizes.chain:
            return self.weights["transitions"], self.weights["start"], self.weights["end"]
        n_tags = self.sizes.tags
        return ops.zeros((n_tags, n_tags)), ops.zeros(n_tags), ops.zeros(n_tags)

    def _prediction_loss(self, prediction: WordPrediction, states: Any, words: Any, mask: Any) -> Any:
        """As `WordPrediction.loss_and_gradients`; `mask`, of shape `(n_rows, n_tokens)`, is 0 for padding."""
        # (n_rows, n_tokens, units) each; a state has read all words up to its own, and so predicts the next one only.
        ahead, back = ops.split(states, 2, axis=2)
        classes = ops.take(ops.convert_to_tensor(prediction.classes), words, axis=0)
        next_word, previous_word = self._second
        missed = _cross_entropy(ops.matmul(ahead[:, :-1], next_word), classes[:, 1:])
        missed += _cross_entropy(ops.matmul(back[:, 1:], previous_word), classes[:, :-1])
        # A loss belongs to two neighbouring tokens: both are real if the second one is.
        return prediction.weight * ops.sum(missed * mask[:, 1:])

    def _scores(self, states: Any, batch: Mapping[str, Any]) -> Any:
        if self.sizes.feature_layer:
            joined = ops.concatenate([states, self._features(batch)], axis=2)
            states = ops.tanh(ops.matmul(joined, self.weights["hidden"]) + self.weights["hidden_bias"])
        return ops.matmul(states, self.weights["dense"]) + self.weights["dense_bias"]

    def _features(self, batch: Mapping[str, Any]) -> Any:
        """The vectors of all feature values of a token side by side, `(n_rows, n_tokens, columns * feature)`."""
        features = ops.take(self.weights["feature"], batch["features"], axis=0)
        return ops.reshape(features, (*ops.shape(features)[:2], self.sizes.columns * self.sizes.feature))

    def _states(self, batch: Mapping[str, Any], *, training: bool) -> Any:
        """The states of both directions, of shape `(n_rows, n_tokens, 2 * lstm)`."""
        # (n_rows, n_tokens, ...): the vectors of word, spelling and all feature values of a token, side by side. A
        # batch has fewer distinct words than tokens, so each spelling is read once and then looked up.
        w = self.weights
        spelling = ops.take(self._spellings(batch["characters"]), batch["spellings"], axis=0)
        vectors = [ops.take(w["word"], batch["words"], axis=0), spelling]
        vectors += [] if self.sizes.feature_layer else [self._features(batch)]
        vectors += [batch["states"]] if self.sizes.states else []
        inputs = ops.concatenate(vectors, axis=2)
        return self._drop(self._blstm(self._drop(inputs, training), batch["lengths"]), training)

    def _drop(self, values: Any, training: bool) -> Any:
        if not (training and self.dropout):
            return values
        shape = (ops.shape(values)[0], 1, ops.shape(values)[2]) if self.locked else None
        return keras.random.dropout(values, self.dropout, noise_shape=shape, seed=self._random)

    def _spellings(self, characters: Any) -> Any:
        """A vector for each distinct word: the strongest answer of each convolution over its characters.

        With an LSTM instead of the convolutions, its last state in each direction.
        """
        # (n_words, n_characters, size) -> for each width (n_words, channels): the strongest of the windows of a word.
        embedded = ops.take(self.weights["character"], characters, axis=0)
        if self.sizes.character_lstm:
            lengths = ops.shape(characters)[1] - ops.argmax(ops.flip(characters, axis=1) > 0, axis=1)
            ahead, back = ops.split(self._blstm(embedded, lengths, CHARACTERS), 2, axis=2)
            last = ops.take_along_axis(ahead, ops.cast(lengths, "int32")[:, None, None] - 1, axis=1)
            return ops.concatenate([last[:, 0], back[:, 0]], axis=1)
        if not self.sizes.kernels:
            return embedded[:, 0, :0]
        answers = [
            ops.max(ops.conv(embedded, self.weights[f"kernel{width}"]), axis=1) + self.weights[f"kernel{width}_bias"]
            for width in self.sizes.kernels
        ]
        return ops.relu(ops.concatenate(answers, axis=1))

    def _blstm(self, inputs: Any, lengths: Any, before: str = "") -> Any:
        """Both directions of an LSTM, of shape `(n_rows, n_tokens, 2 * lstm)`.

        :param before: prefix of the names of its weights.
        """
        # (n_tokens, n_rows, ...): the kernel wants the tokens first. The backward LSTM begins at each row's last token.
        w = self.weights
        forward = ops.transpose(inputs, (1, 0, 2))
        backward = _reversed(forward, lengths)
        ahead = fused_lstm(forward, w[f"{before}forward"], w[f"{before}forward_bias"])
        back = _reversed(fused_lstm(backward, w[f"{before}backward"], w[f"{before}backward_bias"]), lengths)
        return ops.transpose(ops.concatenate([ahead, back], axis=2), (1, 0, 2))


def _reversed(values: Any, lengths: Any) -> Any:
    """Each row's tokens from last to first, its padding left where it is; of shape `(n_tokens, n_rows, ...)`."""
    return tf.reverse_sequence(values, lengths, seq_axis=0, batch_axis=1)


def _cross_entropy(scores: Any, classes: Any) -> Any:
    return keras.losses.sparse_categorical_crossentropy(classes, scores, from_logits=True)
