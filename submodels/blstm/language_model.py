"""A second task for the network in training: to foresee the words of a note.

    model = LanguageModel.of(notes, words=400, units=128, weight=0.1, seed=1)
    model.loss(states, batch["words"], mask)        how badly the states foresee the words beside them

The forward LSTM has to foresee the next word and the backward LSTM the previous one (Rei 2017), so that their states
hold more of the language than the few mentions of PHI can teach. It is used in training only, and costs nothing after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import keras
import numpy as np
from keras import ops

from features.arrays import Integers32
from submodels.blstm.encoder import EncodedNote

__all__ = ["LanguageModel"]

_BOUND = 0.1


class LanguageModel:
    """Weights by name, and the loss that they give.

    :param classes: for each word id the class that is to be foreseen; 0 for all rare words: `(n_word_ids,)`.
    :param units: length of the LSTM's state in each direction.
    :param weight: of this loss beside that of the tags.
    :param seed: decides on the first weights.
    """

    def __init__(self, classes: Integers32, *, units: int, weight: float, seed: int = 0) -> None:
        self.weight = weight
        random = np.random.default_rng(seed)
        shape = (units, int(classes.max()) + 1)
        self.weights = {
            name: keras.Variable(random.uniform(-_BOUND, _BOUND, shape).astype(np.float32), name=name)
            for name in ("next_word", "previous_word")
        }
        self._classes = ops.convert_to_tensor(classes)

    @classmethod
    def of(cls, notes: Sequence[EncodedNote], *, words: int, units: int, weight: float, seed: int = 0) -> Self:
        """With a class for each of the most frequent words of some notes.

        :param words: how many; the others are as the constructor's.
        """
        counts = np.bincount(np.concatenate([note.words for note in notes]))
        frequent = np.argsort(-counts, kind="stable")[:words]
        classes = np.zeros(len(counts), dtype=np.int32)
        classes[frequent] = 1 + np.arange(len(frequent))
        return cls(classes, units=units, weight=weight, seed=seed)

    def loss(self, states: Any, words: Any, mask: Any) -> Any:
        """The cross-entropy of all words that have one before or after them in their row, summed, times the weight.

        :param states: of both directions, of shape `(n_rows, n_tokens, 2 * units)`.
        :param words: word ids, of shape `(n_rows, n_tokens)`.
        :param mask: 1 for a token and 0 for padding at the end, of shape `(n_rows, n_tokens)`.
        """
        # (n_rows, n_tokens, units) each; a state knows all words up to its own, and so is asked for the next one only.
        ahead, back = ops.split(states, 2, axis=2)
        classes = ops.take(self._classes, words, axis=0)
        missed = _cross_entropy(ops.matmul(ahead[:, :-1], self.weights["next_word"]), classes[:, 1:])
        missed += _cross_entropy(ops.matmul(back[:, 1:], self.weights["previous_word"]), classes[:, :-1])
        # Both losses belong to two neighbouring tokens, which are there where the second one is.
        return self.weight * ops.sum(missed * mask[:, 1:])


def _cross_entropy(scores: Any, classes: Any) -> Any:
    return keras.losses.sparse_categorical_crossentropy(classes, scores, from_logits=True)
