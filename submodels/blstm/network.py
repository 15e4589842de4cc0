"""The neural network of the BLSTM-CNN-CRF submodel, in Keras on TensorFlow.

    word embedding ─┐
    character CNN  ─┼─ dropout ─ bidirectional LSTM ─ dropout ─ dense ─ emissions ─ CRF
    feature embeddings ─┘

Ma and Hovy 2016, with an embedding of each feature column added to the input as in Zhao 2020. As in Liu 2017, an LSTM
may read the characters, and a hidden layer may join the features to the states after the LSTM.
`submodels.blstm.gradients` computes the same in NumPy, with its gradient, and `submodels.blstm.inference` only what
annotating needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from phistack.submodels.blstm.layers import PREDICTIONS, WordPrediction
from phistack.submodels.blstm.weights import CHARACTERS, InitialValues, NetworkSizes, first_weights


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
        self.sizes, self.dropout, self.locked, self.prediction = sizes, dropout, locked, prediction
        self._random = keras.random.SeedGenerator(seed)
        first = first_weights(sizes, seed, known)
        second = prediction.first_weights(sizes.lstm, seed) if prediction else {}
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
        # Without a chain its scores are 0, which makes the loss a softmax for each tag.
        n_tags = self.sizes.tags
        shapes = {"transitions": (n_tags, n_tags), "start": (n_tags,), "end": (n_tags,)}
        chain = [self.weights[name] if self.sizes.chain else ops.zeros(shape) for name, shape in shapes.items()]
        rows = negative_log_likelihood(self._scores(states, batch), batch["tags"], batch["begins"], mask, *chain)
        total = ops.sum(rows)
        if self.prediction is not None:
            total += self._prediction_loss(self.prediction, states, batch["words"], mask)
        return total / ops.cast(ops.sum(batch["begins"]), "float32"), rows

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
        spelling = ops.take(self._spellings(batch["characters"]), batch["spellings"], axis=0)
        vectors = [ops.take(self.weights["word"], batch["words"], axis=0), spelling]
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
        """Both directions of an LSTM, of shape `(n_rows, n_tokens, 2 * lstm)`; :param before: prefix of its weights."""
        # (n_tokens, n_rows, ...): the kernel wants the tokens first. The backward LSTM begins at each row's last token.
        forward = ops.transpose(inputs, (1, 0, 2))
        backward = tf.reverse_sequence(forward, lengths, seq_axis=0, batch_axis=1)
        ahead, back = (
            lstm(read, self.weights[f"{before}{direction}"], self.weights[f"{before}{direction}_bias"])
            for direction, read in (("forward", forward), ("backward", backward))
        )
        back = tf.reverse_sequence(back, lengths, seq_axis=0, batch_axis=1)
        return ops.transpose(ops.concatenate([ahead, back], axis=2), (1, 0, 2))


def lstm(inputs: Any, kernel: Any, bias: Any) -> Any:
    """The states of an LSTM that begins with zeros, of shape `(n_tokens, n_rows, units)`.

    The equations (Hochreiter and Schmidhuber 1997), of a token x and the state h and cell c before it:

        input gate, candidate, forget gate, output gate = [x, h] kernel + bias, through sigmoid, tanh, sigmoid, sigmoid
        c' = forget gate * c + input gate * candidate
        h' = output gate * tanh(c')

    :param inputs: of shape `(n_tokens, n_rows, length)`.
    :param kernel: rows for the input and then for the state, columns for the gates, of shape
        `(length + units, 4 * units)`.
    :param bias: of shape `(4 * units,)`.
    """
    # TensorFlow does not promise to keep `tf.raw_ops`, but `keras.layers.LSTM` is many times slower on a processor. (Of
    # BlockLSTMV2, the gates are in another order than in its gradient, as of TensorFlow 2.21.)
    units = kernel.shape[1] // 4
    zeros, peephole = tf.zeros((tf.shape(inputs)[1], units)), tf.zeros(units)
    return tf.raw_ops.BlockLSTM(
        seq_len_max=tf.cast(tf.shape(inputs)[0], tf.int64), x=inputs, cs_prev=zeros, h_prev=zeros,
        w=tf.convert_to_tensor(kernel), wci=peephole, wcf=peephole, wco=peephole, b=tf.convert_to_tensor(bias),
        forget_bias=0.0, cell_clip=-1.0, use_peephole=False,
    ).h  # fmt: skip


def log_partition(emissions: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any) -> Any:
    """The logarithm of the summed weight of all tag sequences of each row.

    A row holds one or more whole sentences: where one begins, the chain ends and starts anew.

    :param emissions: of shape `(n_rows, n_tokens, n_tags)`.
    :param begins: 1 where a sentence begins, of shape `(n_rows, n_tokens)`; the first token of a row is one.
    :param mask: 1 for a token and 0 for padding at the end, of shape `(n_rows, n_tokens)`.
    :param transitions: how well a tag follows another, [from, to], of shape `(n_tags, n_tags)`.
    :param start: how well a tag begins a sentence, of shape `(n_tags,)`; `end` how well it ends one.
    :returns: of shape `(n_rows,)`.
    """

    def forward(before: Any, token: Any) -> Any:
        # (n_rows, n_tags): the logarithm of the summed weight of all sequences up to this token that end in each tag.
        emission, begin, real = token
        goes_on = ops.logsumexp(before[:, :, None] + transitions, axis=1)
        restarts = ops.logsumexp(before + end, axis=1, keepdims=True) + start
        return ops.where(real, ops.where(begin, restarts, goes_on) + emission, before)

    # (n_tokens - 1, n_rows, n_tags or 1): without the first token, whose sequences are the tags by themselves.
    later = [ops.transpose(emissions, (1, 0, 2))[1:]]
    later += [ops.cast(ops.transpose(marks)[1:, :, None], "bool") for marks in (begins, mask)]
    # `keras.ops.scan` needs a fixed number of tokens, and so a graph for each.
    last = tf.foldl(forward, tuple(later), start + emissions[:, 0], parallel_iterations=1)
    return ops.logsumexp(last + end, axis=1)


def negative_log_likelihood(
    emissions: Any, tags: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any
) -> Any:
    """What training minimises: `log_partition` less the score of the gold tags, of shape `(n_rows,)`.

    :param tags: integers of shape `(n_rows, n_tokens)`; any tag where the mask is 0. The others are as for
        `log_partition`.
    """
    total = log_partition(emissions, begins, mask, transitions, start, end)
    begins, mask = ops.cast(begins, emissions.dtype), ops.cast(mask, emissions.dtype)
    # (n_rows, n_tokens): the score of the gold tag at each token, picked out by one-hot rows.
    fits = ops.sum(emissions * ops.one_hot(tags, transitions.shape[0], dtype=emissions.dtype), axis=2)
    # (n_rows, n_tokens - 1): the score of each pair of neighbours, within a sentence or from one into the next.
    before, after = tags[:, :-1], tags[:, 1:]
    follows = ops.take(ops.reshape(transitions, (-1,)), before * transitions.shape[0] + after)
    restarts = ops.take(end, before) + ops.take(start, after)
    joins = begins[:, 1:] * restarts + (1 - begins[:, 1:]) * follows
    # (n_rows,): padding is at the end, so the last tag is at the number of tokens less one.
    n_tokens = ops.cast(ops.sum(mask, axis=1, keepdims=True), "int32")
    last = ops.squeeze(ops.take_along_axis(tags, n_tokens - 1, axis=1), 1)
    inner = ops.sum(fits * mask, axis=1) + ops.sum(joins * mask[:, 1:], axis=1)
    return total - inner - ops.take(start, tags[:, 0]) - ops.take(end, last)


def _cross_entropy(scores: Any, classes: Any) -> Any:
    return keras.losses.sparse_categorical_crossentropy(classes, scores, from_logits=True)
