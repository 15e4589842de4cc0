"""Stochastic gradient descent with clipped gradients and without momentum, in the place of Adam.

    sgd = Sgd(weights, clip=5.0)
    sgd.read(batch.words)                          nothing has to be brought up to date
    sgd.step(gradients, rate=0.1, kept=0.0)        sgd.weights have changed
    sgd.averaged()                                 the running averages; with nothing kept, the weights themselves

It has the face of `submodels.blstm.adam.Adam`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.submodels.blstm.gradients import Gradients
from phistack.submodels.blstm.weights import NetworkWeights

_WORD = "word"


class Sgd:
    """Weights and their running average.

    :param first: the first weights by name.
    :param clip: the largest norm of all gradients together.
    """

    def __init__(self, first: NetworkWeights, clip: float) -> None:
        self.weights = {name: values.copy() for name, values in first.items()}
        self._averages = {name: values.copy() for name, values in first.items()}
        self._clip = clip
        self._kept = 0.0

    def read(self, words: NDArray[np.integer[Any]]) -> None:
        """Nothing: no weight moves but by its gradient."""

    def step(self, gradients: Gradients, *, rate: float, kept: float) -> None:
        """One step.

        :param rate: the learning rate.
        :param kept: how much of the running average is kept; 0 for nothing, so that it is the weights themselves.
        """
        squares = [float((values * values).sum()) for values in (*gradients.dense.values(), gradients.words.values)]
        scale = np.float32(rate * self._clip / max(np.sqrt(sum(squares)), self._clip))
        for name, values in gradients.dense.items():
            self.weights[name] -= scale * values
        self.weights[_WORD][gradients.words.ids] -= scale * gradients.words.values
        self._kept = kept
        for name, average in self._averages.items() if kept else ():
            average += np.float32(1 - kept) * (self.weights[name] - average)

    def averaged(self) -> NetworkWeights:
        """A copy of the running averages."""
        return {name: values.copy() for name, values in (self._averages if self._kept else self.weights).items()}
