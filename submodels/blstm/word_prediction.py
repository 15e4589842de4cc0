"""A second task for the network in training: to predict the words of a note.

    task = WordPrediction.of(notes, words=400, weight=0.1)
    task.first_weights(units=128, seed=1)           {"next_word": array, "previous_word": array}

The forward LSTM predicts the next word and the backward LSTM the previous one (Rei 2017), so that their states hold
more of the language than the few mentions of PHI can teach. The task ends with training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.submodels.blstm.rows import EncodedNote
from phistack.submodels.blstm.weights import NetworkWeights

PREDICTIONS = ("next_word", "previous_word")
"""The weights of both directions."""

_BOUND = 0.1


@dataclass(frozen=True)
class WordPrediction:
    """The words to predict, and how much that counts.

    :param classes: for each word id its class; 0 for all rare words: `(n_word_ids,)`.
    :param weight: of this loss relative to that of the tags.
    """

    classes: Integers32 = field(repr=False)
    weight: float

    @classmethod
    def of(cls, notes: Sequence[EncodedNote], *, words: int, weight: float) -> Self:
        """With a class for each of the `words` most frequent words of some notes."""
        counts = np.bincount(np.concatenate([note.words for note in notes]))
        frequent = np.argsort(-counts, kind="stable")[:words]
        classes = np.zeros(len(counts), dtype=np.int32)
        classes[frequent] = 1 + np.arange(len(frequent))
        return cls(classes, weight)

    def first_weights(self, units: int, seed: int) -> dict[str, Floats32]:
        """Random weights, of shape `(units, n_classes)`, for states of `units` in each direction."""
        random = np.random.default_rng(seed)
        shape = (units, int(self.classes.max()) + 1)
        return {name: random.uniform(-_BOUND, _BOUND, shape).astype(np.float32) for name in PREDICTIONS}

    def loss_and_gradients(
        self, output: Floats32, words: Integers32, first: Integers, weights: NetworkWeights
    ) -> tuple[float, Floats32, dict[str, Floats32]]:
        """The summed cross-entropy of all neighbours of words within rows, times the weight.

        :param output: the states of both directions, of shape `(n, 2 * units)`.
        :param words: word ids, of shape `(n,)`.
        :param first: the first token of each row.
        :returns: the loss, the gradient of `output` and those of the weights.
        """
        units = output.shape[1] // 2
        # (n_pairs,): the first of two neighbours of one row. A state has read all words up to its own, and so predicts
        # the next one only.
        pairs = np.setdiff1d(np.arange(len(words) - 1), first - 1)
        classes = self.classes[words]
        asked = ((slice(units), pairs, classes[pairs + 1]), (slice(units, None), pairs + 1, classes[pairs]))
        loss, of_output, gradients = 0.0, np.zeros_like(output), {}
        for name, (side, tokens, wanted) in zip(PREDICTIONS, asked, strict=True):
            states, kernel = output[tokens, side], weights[name]
            # (n_pairs, n_classes): scores, then probabilities, then the gradient.
            scores = states @ kernel
            scores -= scores.max(axis=1, keepdims=True)
            each = np.arange(len(wanted))
            right = scores[each, wanted].sum(dtype=np.float64)
            sums = np.exp(scores, out=scores).sum(axis=1, keepdims=True)
            loss += self.weight * (np.log(sums).sum(dtype=np.float64) - right)
            scores /= sums
            scores[each, wanted] -= 1
            scores *= np.float32(self.weight)
            gradients[name] = states.T @ scores
            of_output[tokens, side] += scores @ kernel.T
        return float(loss), of_output, gradients
