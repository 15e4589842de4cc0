"""How the learning rate goes in training.

    rates = rates_of("halve on plateau", highest=0.1, patience=3, least=1e-4)
    rates.at(done=0.2)          0.1
    rates.epoch_ended(12.5)     the loss of an epoch; after three in a row that gained nothing, half the rate
    rates.over                  whether the rate has fallen so low that training ends

`rise and fall` rises in the first tenth and then falls to nothing; `constant` stays; `halve on plateau` is halved when
the training loss has not decreased for some epochs in a row, and ends the training when it falls below the least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

_WARM_UP = 0.1
HALVED = "halve on plateau"

_BY_SHARE: Mapping[str, Callable[[float], float]] = {
    "rise and fall": lambda done: min(done / _WARM_UP, (1 - done) / (1 - _WARM_UP) + 0.01),
    "constant": lambda done: 1.0,
}
"""The share of the highest learning rate, by the share of the training that is done."""

SCHEDULES = (*_BY_SHARE, HALVED)


@dataclass
class Rates:
    """The learning rate by the share of the training that is done.

    :param share: of the highest rate.
    :param highest: the highest rate.
    """

    share: Callable[[float], float]
    highest: float

    @property
    def over(self) -> bool:
        """Whether training ends."""
        return False

    def at(self, done: float) -> float:
        """The rate of a step; :param done: the share of the training that is done with it."""
        return self.highest * self.share(done)

    def epoch_ended(self, loss: float) -> None:
        """Hear the training loss of an epoch."""


@dataclass
class _Halved(Rates):
    """A rate that is halved where nothing is gained.

    :param patience: epochs in a row without gain, after which it is.
    :param least: the rate under which training ends.
    """

    patience: int
    least: float
    _best: float = float("inf")
    _without_gain: int = 0

    @property
    def over(self) -> bool:
        return self.highest < self.least

    def epoch_ended(self, loss: float) -> None:
        self._without_gain = 0 if loss < self._best else self._without_gain + 1
        self._best = min(self._best, loss)
        if self._without_gain == self.patience:
            self.highest /= 2
            self._without_gain = 0


def rates_of(schedule: str, *, highest: float, patience: int, least: float) -> Rates:
    """The rates of one of `SCHEDULES`; the last two are for `HALVED` only."""
    if schedule == HALVED:
        return _Halved(_BY_SHARE["constant"], highest, patience, least)
    return Rates(_BY_SHARE[schedule], highest)
