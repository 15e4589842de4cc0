"""The learning rate; Adam and stochastic gradient descent, with clipped gradients and a running average, in place.

    rates = Rates("halve on plateau", highest=0.1, patience=3, least=1e-4)
    rates.at(done=0.2)                              0.1
    rates.epoch_ended(loss=12.5)                    after three epochs in a row that gained nothing, half the rate
    adam = Adam(weights, clip=10.0)
    adam.read(batch.words)                          brings the vectors of these words up to date
    adam.step(gradients, rate=0.01, kept=0.99)      adam.weights have changed
    adam.averaged()                                 the running averages

Kingma and Ba 2015; the average is that of Polyak and Juditsky 1992. All weights but the vectors of words are one array,
so a step takes a few operations. A batch has few of the thousands of words. The others still move by the rest of their
momentum, which is added up when a word is next read: the sum is the same, except for the momentum left after 60 steps,
a five-hundredth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats32, Integers32
from phistack.submodels.blstm.gradients import Gradients
from phistack.submodels.blstm.settings import HALVED, RISE_AND_FALL
from phistack.submodels.blstm.weights import NetworkWeights

_OF_MEAN, _OF_SQUARE, _TINY = 0.9, 0.999, np.float32(1e-7)
"""The share of the running means of gradient and squared gradient that each step keeps; the defaults of Keras."""

_REMEMBERED = 60
"""Steps after which the rest of a momentum is forgotten."""

_NOTHING = 1e-30
"""Replaces 0 in a logarithm; so small that its product vanishes in a 32-bit float."""

_WORD = "word"

_WARM_UP = 0.1


@dataclass
class Rates:
    """The learning rate: it rises in the first tenth and falls to nothing, is constant, or is halved on a plateau.

    :param schedule: one of `settings.SCHEDULES`.
    :param highest: the highest rate from now on.
    :param patience: of `halve on plateau`: epochs in a row without gain, after which the rate is halved.
    :param least: of `halve on plateau`: the rate under which training ends.
    """

    schedule: str
    highest: float
    patience: int = 1
    least: float = 0.0
    _best: float = float("inf")
    _without_gain: int = 0

    @property
    def over(self) -> bool:
        """Whether training ends."""
        return self.schedule == HALVED and self.highest < self.least

    def at(self, done: float) -> float:
        """The rate of a step; :param done: the share of the training that is done after it."""
        if self.schedule != RISE_AND_FALL:
            return self.highest
        return self.highest * min(done / _WARM_UP, (1 - done) / (1 - _WARM_UP) + 0.01)

    def epoch_ended(self, loss: float) -> None:
        """Record the training loss of an epoch."""
        self._without_gain = 0 if loss < self._best else self._without_gain + 1
        self._best = min(self._best, loss)
        if self.schedule == HALVED and self._without_gain == self.patience:
            self.highest /= 2
            self._without_gain = 0


class Adam:
    """Weights, the running means of their gradients, and their running average.

    :param first: the first weights by name.
    :param clip: the largest norm of all gradients together.
    """

    def __init__(self, first: NetworkWeights, clip: float) -> None:
        self._names = [name for name in first if name != _WORD]
        self._flat = np.concatenate([first[name].ravel() for name in self._names])
        self._average = self._flat.copy()
        self._mean, self._square, self._gradient, self._change = (np.zeros_like(self._flat) for _ in range(4))
        self.weights = self._views(self._flat, first) | {_WORD: first[_WORD].copy()}
        self._averages = self._views(self._average, first) | {_WORD: first[_WORD].copy()}
        self._gradients = self._views(self._gradient, first)
        self._word_mean, self._word_square = np.zeros_like(first[_WORD]), np.zeros_like(first[_WORD])
        self._changed = np.zeros(len(first[_WORD]), dtype=np.int64)
        # For each step so far, after a first entry for none: its rate, and the logarithm of the product of all `kept`.
        self._rates, self._log_kept = [0.0], [0.0]
        self._clip = clip

    @property
    def done(self) -> int:
        """The number of steps so far."""
        return len(self._rates) - 1

    def _views(self, flat: Floats32, like: NetworkWeights) -> dict[str, Floats32]:
        sizes = [like[name].size for name in self._names]
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        return {name: part.reshape(like[name].shape) for name, part in zip(self._names, parts, strict=True)}

    def read(self, words: NDArray[np.integer[Any]]) -> None:
        """Move the vectors of some words by their momentum since they were last in a batch."""
        ids = np.unique(words)
        ids = ids[self._changed[ids] < self.done]
        since = self._changed[ids]
        steps = np.arange(1, _REMEMBERED + 1)
        # (n_ids, _REMEMBERED): by the i-th step since, the mean and the root of the square have each shrunk i times.
        rates = np.array([*self._rates, 0.0])[np.minimum(since[:, None] + steps, self.done + 1)]
        moved = (rates @ (_OF_MEAN / np.sqrt(_OF_SQUARE)) ** steps).astype(np.float32)[:, None]
        vectors, averages = self.weights[_WORD], self._averages[_WORD]
        vectors[ids] -= moved * self._word_mean[ids] / (np.sqrt(self._word_square[ids]) + _TINY)
        gone = (self.done - since)[:, None]
        self._word_mean[ids] *= (_OF_MEAN**gone).astype(np.float32)
        self._word_square[ids] *= (_OF_SQUARE**gone).astype(np.float32)
        kept = np.exp(self._log_kept[-1] - np.array(self._log_kept)[since]).astype(np.float32)[:, None]
        averages[ids] = kept * averages[ids] + (1 - kept) * vectors[ids]
        self._changed[ids] = self.done

    def step(self, gradients: Gradients, *, rate: float, kept: float) -> None:
        """One step; the words of the gradients were read before.

        :param rate: the learning rate.
        :param kept: share of the running average that is kept; with 0 it is the weights themselves.
        """
        step = self.done + 1
        # The running means begin at zero, so they are too small by these factors.
        self._rates.append(rate * np.sqrt(1 - _OF_SQUARE**step) / (1 - _OF_MEAN**step))
        self._log_kept.append(self._log_kept[-1] + np.log(max(kept, _NOTHING)))
        for name, values in gradients.dense.items():
            self._gradients[name][...] = values
        norm = np.sqrt(float(self._gradient @ self._gradient) + float((gradients.words**2).sum()))
        scale = np.float32(self._clip / max(norm, self._clip))
        corrected, new = np.float32(self._rates[-1]), np.float32(1 - kept)
        self._step_dense(scale, corrected, new)
        self._step_words(gradients.ids, gradients.words * scale, corrected, new)

    def _step_dense(self, scale: np.float32, rate: np.float32, new: np.float32) -> None:
        """In place, as new arrays of this size take longer than the sums."""
        gradient, change = self._gradient, self._change
        gradient *= scale
        self._mean *= np.float32(_OF_MEAN)
        self._mean += np.multiply(gradient, np.float32(1 - _OF_MEAN), out=change)
        gradient *= gradient
        gradient *= np.float32(1 - _OF_SQUARE)
        self._square *= np.float32(_OF_SQUARE)
        self._square += gradient
        np.sqrt(self._square, out=change)
        change += _TINY
        np.divide(self._mean, change, out=change)
        change *= rate
        self._flat -= change
        np.subtract(self._flat, self._average, out=change)
        change *= new
        self._average += change

    def _step_words(self, ids: Integers32, gradient: Floats32, rate: np.float32, new: np.float32) -> None:
        vectors, averages = self.weights[_WORD], self._averages[_WORD]
        mean = self._word_mean[ids] * np.float32(_OF_MEAN) + gradient * np.float32(1 - _OF_MEAN)
        square = self._word_square[ids] * np.float32(_OF_SQUARE) + gradient**2 * np.float32(1 - _OF_SQUARE)
        self._word_mean[ids], self._word_square[ids] = mean, square
        vectors[ids] -= rate * mean / (np.sqrt(square) + _TINY)
        averages[ids] += new * (vectors[ids] - averages[ids])
        self._changed[ids] = self.done

    def averaged(self) -> NetworkWeights:
        """A copy of the running averages, all words brought up to date."""
        self.read(np.arange(len(self._changed)))
        return {name: average.copy() for name, average in self._averages.items()}


class Sgd:
    """Stochastic gradient descent without momentum, with the methods of `Adam`.

    :param first: the first weights by name.
    :param clip: the largest norm of all gradients together.
    """

    def __init__(self, first: NetworkWeights, clip: float) -> None:
        self.weights = {name: values.copy() for name, values in first.items()}
        self._averages = {name: values.copy() for name, values in first.items()}
        self._clip = clip
        self._kept = 0.0

    def read(self, words: NDArray[np.integer[Any]]) -> None:
        """See `Adam.read`; without momentum no vector has to move."""

    def step(self, gradients: Gradients, *, rate: float, kept: float) -> None:
        """See `Adam.step`."""
        squares = [float((values * values).sum()) for values in (*gradients.dense.values(), gradients.words)]
        scale = np.float32(rate * self._clip / max(np.sqrt(sum(squares)), self._clip))
        for name, values in gradients.dense.items():
            self.weights[name] -= scale * values
        self.weights[_WORD][gradients.ids] -= scale * gradients.words
        self._kept = kept
        for name, average in self._averages.items() if kept else ():
            average += np.float32(1 - kept) * (self.weights[name] - average)

    def averaged(self) -> NetworkWeights:
        """See `Adam.averaged`."""
        return {name: values.copy() for name, values in (self._averages if self._kept else self.weights).items()}
