"""Characters read by a bidirectional LSTM, forwards and back: a vector for each distinct word of a batch.

    states = CharacterLstm.of(characters, weights)      states.vectors: (n_words, 2 * units)
    states.back(of_vectors, weights)                    the gradients of its weights

Lample et al. 2016, as in Liu 2017: the last state of each direction, which has read the whole word, side by side. It
takes the place of the character CNN (`submodels.blstm.spelling`), and reads the same characters: the padding before the
word, and the word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.submodels.blstm.lstm import DIRECTIONS, BidirectionalLstm
from phistack.submodels.blstm.weights import CHARACTERS, NetworkWeights
from phistack.submodels.chain.lines import Lines


@dataclass(frozen=True)
class CharacterLstm:
    """The vectors of words, and what was found on the way to them.

    :param ids: of the characters of all words end to end, `(n,)`.
    :param edges: where words begin among them, and `n` at the end: `(n_words + 1,)`.
    :param lstm: what its run left.
    :param vectors: of shape `(n_words, 2 * units)`.
    """

    ids: Integers32 = field(repr=False)
    edges: Integers = field(repr=False)
    lstm: BidirectionalLstm = field(repr=False)
    vectors: Floats32 = field(repr=False)

    @classmethod
    def of(cls, characters: Integers32, weights: NetworkWeights) -> Self:
        """Read words.

        :param characters: ids, padded with 0, of shape `(n_words, n_characters)`.
        """
        # (n_words,): characters up to the last that is not padding.
        lengths = characters.shape[1] - np.argmax(characters[:, ::-1] > 0, axis=1)
        ids = characters[np.arange(characters.shape[1]) < lengths[:, None]]
        edges = np.concatenate([[0], np.cumsum(lengths)])
        lstm = BidirectionalLstm.run(weights["character"][ids], Lines.of(edges, len(ids)), _own(weights))
        # (n, units) twice: forward it has read the word at its last character, backward at its first.
        ahead, back = np.split(lstm.output, 2, axis=1)
        return cls(ids, edges, lstm, np.concatenate([ahead[edges[1:] - 1], back[edges[:-1]]], axis=1))

    def back(self, of_vectors: Floats32, weights: NetworkWeights) -> dict[str, Floats32]:
        """The gradients of the characters' vectors and of the LSTM's weights.

        :param of_vectors: the gradient of `vectors`.
        """
        # (n, 2 * units): only the last state of each direction says something of the word.
        units = of_vectors.shape[1] // 2
        of_output = np.zeros((len(self.ids), 2 * units), dtype=np.float32)
        of_output[self.edges[1:] - 1, :units] = of_vectors[:, :units]
        of_output[self.edges[:-1], units:] = of_vectors[:, units:]
        of_inputs, gradients = self.lstm.back(of_output, _own(weights))
        of_characters = np.zeros_like(weights["character"])
        np.add.at(of_characters, self.ids, of_inputs)
        return {"character": of_characters, **{f"{CHARACTERS}{name}": value for name, value in gradients.items()}}


def _own(weights: NetworkWeights) -> NetworkWeights:
    """The weights of this LSTM under the names of any."""
    names = [name for direction in DIRECTIONS for name in (direction, f"{direction}_bias")]
    return {name: weights[f"{CHARACTERS}{name}"] for name in names}
