"""The layers from what the LSTM says to the scores of the tags, forwards and back, for training.

    layers = TagLayers.of(output, values, weights)       layers.scores: (n, n_tags)
    of_output, of_values, gradients = layers.back(of_scores, weights)

One dense layer; with a hidden layer before it, that joins the vectors of feature values to the states, as in Liu 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from phistack.features.arrays import Floats32
from phistack.submodels.blstm.weights import NetworkWeights


@dataclass(frozen=True)
class TagLayers:
    """What was found on the way to the scores.

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
        """The gradients of the LSTM's output, of the feature values where these are joined, and of the weights."""
        gradients = {"dense": self.hidden.T @ of_scores, "dense_bias": of_scores.sum(axis=0)}
        of_hidden = of_scores @ weights["dense"].T
        if self.joined is None:
            return of_hidden, None, gradients
        of_sums = of_hidden * (1 - self.hidden * self.hidden)
        gradients |= {"hidden": self.joined.T @ of_sums, "hidden_bias": of_sums.sum(axis=0)}
        of_output, of_values = np.split(of_sums @ weights["hidden"].T, [self.output.shape[1]], axis=1)
        return of_output, of_values, gradients
