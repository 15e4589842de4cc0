"""The layers below and above the LSTM, forwards and back, for training.

    vectors, back = spelled(characters, weights)             (n_words, length)
    gradients = back(of_vectors)
    scores, back = scored(output, values, weights)           (n, n_tags)
    of_output, of_values, gradients = back(of_scores)

Characters are read by a CNN (Ma and Hovy 2016) or an LSTM (Lample et al. 2016, as in Liu 2017), once for each distinct
word of a batch: the padding before the word, and the word. `WordPrediction` is a second task, in training only: the
forward LSTM predicts the next word and the backward LSTM the previous one (Rei 2017), so their states learn more of the
language than the few mentions of PHI can teach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.submodels.blstm.lstm import DIRECTIONS, BidirectionalLstm
from phistack.submodels.blstm.rows import EncodedNote
from phistack.submodels.blstm.weights import CHARACTERS, NetworkWeights
from phistack.submodels.chain.crf import Lines

PREDICTIONS = ("next_word", "previous_word")
"""The weights of both directions."""

_BOUND = 0.1

SpellingBack = Callable[[Floats32], dict[str, Floats32]]
"""From the gradient of the words' vectors to those of the weights, by name."""

TagsBack = Callable[[Floats32], tuple[Floats32, Floats32 | None, dict[str, Floats32]]]
"""From the gradient of scores to those of the LSTM's output, of the feature values if joined, and of the weights."""


def spelled(characters: Integers32, weights: NetworkWeights) -> tuple[Floats32, SpellingBack]:
    """Vectors of words by the LSTM or CNN that the weights have, `(n_words, length)`; empty ones without either.

    :param characters: ids, padded with 0, of at least as many as the widest kernel: `(n_words, n_characters)`.
    """
    if f"{CHARACTERS}forward" in weights:
        return _spelled_by_lstm(characters, weights)
    return _spelled_by_cnn(characters, weights)


def _spelled_by_cnn(characters: Integers32, weights: NetworkWeights) -> tuple[Floats32, SpellingBack]:
    """The strongest answer of each convolution.

    A convolution adds up what each character contributes at each of its places, so the contributions of the few
    characters are computed once and looked up. The gradient passes through the strongest window alone.
    """
    table, answers_of_all = weights["character"], [np.zeros((len(characters), 0), dtype=np.float32)]
    # Name of a kernel -> the first character of the strongest window of each word and channel, (n_words, channels).
    strongest: dict[str, Integers] = {}
    for name in (name for name in weights if name.startswith("kernel") and not name.endswith("_bias")):
        n_windows = characters.shape[1] - len(weights[name]) + 1
        # (n_characters, channels) looked up for (n_words, n_windows): the character at each place of the window.
        answers = sum(
            (table @ kernel)[characters[:, place : place + n_windows]] for place, kernel in enumerate(weights[name])
        )
        best = strongest[name] = answers.argmax(axis=1)
        found = np.take_along_axis(answers, best[:, None, :], axis=1)[:, 0]
        answers_of_all.append(found + weights[f"{name}_bias"])
    vectors = np.maximum(np.concatenate(answers_of_all, axis=1), 0)

    def back(of_vectors: Floats32) -> dict[str, Floats32]:
        gradients = {"character": np.zeros_like(table)}
        parts = np.split(of_vectors * (vectors > 0), len(strongest), axis=1) if strongest else []
        for (name, first), part in zip(strongest.items(), parts, strict=True):
            channels, of_kernel = np.arange(part.shape[1]), np.empty_like(weights[name])
            for place, kernel in enumerate(weights[name]):
                # (n_words, channels) added up to (n_characters, channels).
                ids = np.take_along_axis(characters, first + place, axis=1) * len(channels) + channels
                summed = np.bincount(ids.ravel(), part.ravel(), minlength=len(table) * len(channels))
                of_characters = summed.reshape(len(table), -1).astype(np.float32)
                of_kernel[place] = table.T @ of_characters
                gradients["character"] += of_characters @ kernel.T
            gradients |= {name: of_kernel, f"{name}_bias": part.sum(axis=0)}
        return gradients

    return vectors, back


def _spelled_by_lstm(characters: Integers32, weights: NetworkWeights) -> tuple[Floats32, SpellingBack]:
    """The last state of each direction of an LSTM over a word's characters, side by side."""
    ids, edges = characters_of(characters)
    own = {name: weights[f"{CHARACTERS}{name}"] for way in DIRECTIONS for name in (way, f"{way}_bias")}
    lstm = BidirectionalLstm(weights["character"][ids], Lines.of(edges, len(ids)), own)
    # (n_words, units) twice: forward it has read the word at its last character, backward at its first.
    first, last = edges[:-1], edges[1:] - 1
    ahead, behind = np.split(lstm.output, 2, axis=1)
    vectors = np.concatenate([ahead[last], behind[first]], axis=1)

    def back(of_vectors: Floats32) -> dict[str, Floats32]:
        # (n, 2 * units): the other states have no gradient.
        units = of_vectors.shape[1] // 2
        of_output = np.zeros((len(ids), 2 * units), dtype=np.float32)
        of_output[last, :units] = of_vectors[:, :units]
        of_output[first, units:] = of_vectors[:, units:]
        of_inputs, gradients = lstm.back(of_output, own)
        of_characters = np.zeros_like(weights["character"])
        np.add.at(of_characters, ids, of_inputs)
        return {"character": of_characters, **{f"{CHARACTERS}{name}": value for name, value in gradients.items()}}

    return vectors, back


def characters_of(characters: Integers32) -> tuple[Integers32, Integers]:
    """The ids of all words end to end, each up to the last that is not padding; where words begin, and the end."""
    lengths = characters.shape[1] - np.argmax(characters[:, ::-1] > 0, axis=1)
    ids = characters[np.arange(characters.shape[1]) < lengths[:, None]]
    return ids, np.concatenate([[0], np.cumsum(lengths)])


def scored(output: Floats32, values: Floats32, weights: NetworkWeights) -> tuple[Floats32, TagsBack]:
    """The scores of the tags, `(n, n_tags)`: one dense layer, before which a hidden layer may join the feature values.

    :param output: of the LSTM, `(n, 2 * units)`.
    :param values: the vectors of a token's feature values side by side, `(n, n_columns * feature)`.
    """
    is_joined = "hidden" in weights
    joined = np.concatenate([output, values], axis=1) if is_joined else output
    hidden = np.tanh(joined @ weights["hidden"] + weights["hidden_bias"]) if is_joined else output

    def back(of_scores: Floats32) -> tuple[Floats32, Floats32 | None, dict[str, Floats32]]:
        gradients = {"dense": hidden.T @ of_scores, "dense_bias": of_scores.sum(axis=0)}
        of_hidden = of_scores @ weights["dense"].T
        if not is_joined:
            return of_hidden, None, gradients
        of_sums = of_hidden * (1 - hidden * hidden)
        gradients |= {"hidden": joined.T @ of_sums, "hidden_bias": of_sums.sum(axis=0)}
        of_output, of_values = np.split(of_sums @ weights["hidden"].T, [output.shape[1]], axis=1)
        return of_output, of_values, gradients

    return hidden @ weights["dense"] + weights["dense_bias"], back


@dataclass(frozen=True)
class WordPrediction:
    """The words to predict, and the weight of the task.

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
        # (n_pairs,): the first of two neighbours of one row. A state has read all words up to its own, so it predicts
        # only the next one.
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
