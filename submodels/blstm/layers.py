"""The layers below and above the LSTM, forwards and back, for training.

    spelling = Spelling.of(characters, weights, kernels=(2, 3))    spelling.vectors: (n_words, 2 * channels)
    spelling = CharacterLstm.of(characters, weights)               spelling.vectors: (n_words, 2 * units)
    gradients = spelling.back(of_vectors, weights)
    layers = TagLayers.of(output, values, weights)                 layers.scores: (n, n_tags)
    of_output, of_values, gradients = layers.back(of_scores, weights)

Characters are read by a CNN (Ma and Hovy 2016) or an LSTM (Lample et al. 2016, as in Liu 2017), once for each distinct
word of a batch: the padding before the word, and the word. `inference` uses the same `CharacterLstm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.submodels.blstm.lstm import DIRECTIONS, BidirectionalLstm
from phistack.submodels.blstm.weights import CHARACTERS, NetworkWeights
from phistack.submodels.chain.lines import Lines


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
