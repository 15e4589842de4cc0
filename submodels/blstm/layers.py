"""The layers below and above the LSTM, forwards and back, for training.

    spelling = Spelling.of(characters, weights, kernels=(2, 3))    spelling.vectors: (n_words, 2 * channels)
    spelling = CharacterLstm.of(characters, weights)               spelling.vectors: (n_words, 2 * units)
    gradients = spelling.back(of_vectors, weights)
    layers = TagLayers.of(output, values, weights)                 layers.scores: (n, n_tags)
    of_output, of_values, gradients = layers.back(of_scores, weights)

Characters are read by a CNN (Ma and Hovy 2016) or an LSTM (Lample et al. 2016, as in Liu 2017), once for each distinct
word of a batch: the padding before the word, and the word. `WordPrediction` is a second task, which ends with training:
the forward LSTM predicts the next word and the backward LSTM the previous one (Rei 2017), so that their states hold
more of the language than the few mentions of PHI can teach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True)
class Spelling:
    """The character CNN's vectors of words, and which windows gave them.

    A convolution adds up what each character contributes at each of its places, so the contributions of the few
    characters are computed once and looked up. The gradient passes through the strongest window alone.

    :param characters: ids, of shape `(n_words, n_characters)`.
    :param vectors: of shape `(n_words, n_kernels * channels)`.
    :param strongest: for each width of a kernel the first character of the strongest window: `(n_words, channels)`.
    """

    characters: Integers32 = field(repr=False)
    vectors: Floats32 = field(repr=False)
    strongest: Mapping[int, Integers] = field(repr=False)

    @classmethod
    def of(cls, characters: Integers32, weights: NetworkWeights, kernels: Sequence[int]) -> Self:
        """Read words of at least as many characters as the widest kernel; without kernels vectors are empty."""
        vectors, strongest = [np.zeros((len(characters), 0), dtype=np.float32)], {}
        for width in kernels:
            n_windows = characters.shape[1] - width + 1
            # (n_characters, channels) looked up for (n_words, n_windows): the character at each place of the window.
            answers = sum(
                (weights["character"] @ kernel)[characters[:, place : place + n_windows]]
                for place, kernel in enumerate(weights[f"kernel{width}"])
            )
            best = strongest[width] = answers.argmax(axis=1)
            found = np.take_along_axis(answers, best[:, None, :], axis=1)[:, 0]
            vectors.append(found + weights[f"kernel{width}_bias"])
        return cls(characters, np.maximum(np.concatenate(vectors, axis=1), 0), strongest)

    def back(self, of_vectors: Floats32, weights: NetworkWeights) -> dict[str, Floats32]:
        """The gradients of the characters' vectors, the kernels and their biases, from that of `vectors`."""
        table = weights["character"]
        gradients = {"character": np.zeros_like(table)}
        parts = np.split(of_vectors * (self.vectors > 0), len(self.strongest), axis=1) if self.strongest else []
        for (width, first), part in zip(self.strongest.items(), parts, strict=True):
            kernel = weights[f"kernel{width}"]
            channels = np.arange(part.shape[1])
            of_kernel = np.empty_like(kernel)
            for place in range(width):
                # (n_words, channels) added up to (n_characters, channels).
                ids = np.take_along_axis(self.characters, first + place, axis=1) * len(channels) + channels
                summed = np.bincount(ids.ravel(), part.ravel(), minlength=len(table) * len(channels))
                of_characters = summed.reshape(len(table), -1).astype(np.float32)
                of_kernel[place] = table.T @ of_characters
                gradients["character"] += of_characters @ kernel[place].T
            gradients |= {f"kernel{width}": of_kernel, f"kernel{width}_bias": part.sum(axis=0)}
        return gradients


@dataclass(frozen=True)
class CharacterLstm:
    """The last state of each direction of an LSTM over a word's characters, side by side.

    :param ids: of the characters of all words end to end, `(n,)`.
    :param edges: where words begin among them, and `n` at the end: `(n_words + 1,)`.
    :param lstm: the run over them.
    :param vectors: of shape `(n_words, 2 * units)`.
    """

    ids: Integers32 = field(repr=False)
    edges: Integers = field(repr=False)
    lstm: BidirectionalLstm = field(repr=False)
    vectors: Floats32 = field(repr=False)

    @classmethod
    def of(cls, characters: Integers32, weights: NetworkWeights) -> Self:
        """Read words; :param characters: ids, padded with 0, of shape `(n_words, n_characters)`."""
        # (n_words,): characters up to the last that is not padding.
        lengths = characters.shape[1] - np.argmax(characters[:, ::-1] > 0, axis=1)
        ids = characters[np.arange(characters.shape[1]) < lengths[:, None]]
        edges = np.concatenate([[0], np.cumsum(lengths)])
        lstm = BidirectionalLstm.run(weights["character"][ids], Lines.of(edges, len(ids)), cls._own(weights))
        # (n, units) twice: forward it has read the word at its last character, backward at its first.
        ahead, back = np.split(lstm.output, 2, axis=1)
        return cls(ids, edges, lstm, np.concatenate([ahead[edges[1:] - 1], back[edges[:-1]]], axis=1))

    def back(self, of_vectors: Floats32, weights: NetworkWeights) -> dict[str, Floats32]:
        """The gradients of the characters' vectors and of the LSTM's weights, from that of `vectors`."""
        # (n, 2 * units): the other states have no gradient.
        units = of_vectors.shape[1] // 2
        of_output = np.zeros((len(self.ids), 2 * units), dtype=np.float32)
        of_output[self.edges[1:] - 1, :units] = of_vectors[:, :units]
        of_output[self.edges[:-1], units:] = of_vectors[:, units:]
        of_inputs, gradients = self.lstm.back(of_output, self._own(weights))
        of_characters = np.zeros_like(weights["character"])
        np.add.at(of_characters, self.ids, of_inputs)
        return {"character": of_characters, **{f"{CHARACTERS}{name}": value for name, value in gradients.items()}}

    @staticmethod
    def _own(weights: NetworkWeights) -> NetworkWeights:
        names = [name for direction in DIRECTIONS for name in (direction, f"{direction}_bias")]
        return {name: weights[f"{CHARACTERS}{name}"] for name in names}


@dataclass(frozen=True)
class TagLayers:
    """The scores of the tags: one dense layer, before which a hidden layer may join the feature values' vectors.

    :param output: of the LSTM, `(n, 2 * units)`.
    :param joined: what the hidden layer reads, `(n, 2 * units + n_columns * feature)`; `None` without one.
    :param hidden: what the dense layer reads.
    :param scores: of the tags, `(n, n_tags)`.
    """

    output: Floats32 = field(repr=False)
    joined: Floats32 | None = field(repr=False)
    hidden: Floats32 = field(repr=False)
    scores: Floats32 = field(repr=False)

    @classmethod
    def of(cls, output: Floats32, values: Floats32, weights: NetworkWeights) -> Self:
        """Score the tags of tokens; :param values: the vectors of a token's feature values side by side."""
        joined, hidden = None, output
        if "hidden" in weights:
            joined = np.concatenate([output, values], axis=1)
            hidden = np.tanh(joined @ weights["hidden"] + weights["hidden_bias"])
        return cls(output, joined, hidden, hidden @ weights["dense"] + weights["dense_bias"])

    def back(
        self, of_scores: Floats32, weights: NetworkWeights
    ) -> tuple[Floats32, Floats32 | None, dict[str, Floats32]]:
        """The gradients of the LSTM's output, of the feature values if these are joined, and of the weights."""
        gradients = {"dense": self.hidden.T @ of_scores, "dense_bias": of_scores.sum(axis=0)}
        of_hidden = of_scores @ weights["dense"].T
        if self.joined is None:
            return of_hidden, None, gradients
        of_sums = of_hidden * (1 - self.hidden * self.hidden)
        gradients |= {"hidden": self.joined.T @ of_sums, "hidden_bias": of_sums.sum(axis=0)}
        of_output, of_values = np.split(of_sums @ weights["hidden"].T, [self.output.shape[1]], axis=1)
        return of_output, of_values, gradients


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
