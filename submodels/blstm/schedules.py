"""How the learning rate goes in training, and when training ends.

    rates = Rates("halve on plateau", highest=0.1, patience=3, least=1e-4)
    rates.at(done=0.2)                     0.1
    rates.epoch_ended(loss=12.5)           after three epochs in a row that gained nothing, half the rate
    rates.over                             whether the rate has fallen below the least
    training, development = held_back(tables, 0.1, seed=1)             a tenth of the patients
    stopping = EarlyStopping(lambda weights: f1_of(...), patience=3)
    stopping.seen(weights)                 True once three epochs in a row were no better
    stopping.best                          the weights of the best epoch

`rise and fall` rises in the first tenth and then falls to nothing; `constant` stays; `halve on plateau` is halved when
the training loss has not decreased for some epochs in a row. Berg and Dalianis (2019) stop after three epochs without
improvement on a tenth of their records.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from phistack.features.columns.table import FeatureTable
from phistack.submodels.base import Candidate
from phistack.submodels.blstm.weights import NetworkWeights

_LOG = logging.getLogger("phistack")
_WARM_UP = 0.1
_RISE_AND_FALL, _HALVED = "rise and fall", "halve on plateau"

SCHEDULES = (_RISE_AND_FALL, "constant", _HALVED)


@dataclass
class Rates:
    """The learning rate.

    :param schedule: one of `SCHEDULES`.
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
        return self.schedule == _HALVED and self.highest < self.least

    def at(self, done: float) -> float:
        """The rate of a step; :param done: the share of the training that is done with it."""
        if self.schedule != _RISE_AND_FALL:
            return self.highest
        return self.highest * min(done / _WARM_UP, (1 - done) / (1 - _WARM_UP) + 0.01)

    def epoch_ended(self, loss: float) -> None:
        """Take note of the training loss of an epoch."""
        self._without_gain = 0 if loss < self._best else self._without_gain + 1
        self._best = min(self._best, loss)
        if self.schedule == _HALVED and self._without_gain == self.patience:
            self.highest /= 2
            self._without_gain = 0


def held_back(
    tables: Sequence[FeatureTable], share: float, *, seed: int
) -> tuple[list[FeatureTable], list[FeatureTable]]:
    """Notes to train on, and notes of about this share of the patients to stop by; none of fewer than two patients.

    Notes that no fold splits are not split here either.
    """
    groups = sorted({table.document.unsplit for table in tables})
    random.Random(seed).shuffle(groups)
    n_chosen = min(max(1, round(share * len(groups))), len(groups) - 1) if share else 0
    chosen = set(groups[:n_chosen])
    parts: tuple[list[FeatureTable], list[FeatureTable]] = [], []
    for table in tables:
        parts[table.document.unsplit in chosen].append(table)
    return parts


def f1_of(tables: Sequence[FeatureTable], proposals: Sequence[Sequence[Candidate]]) -> float:
    """Strict micro F1 of a submodel's chosen candidates in annotated notes."""
    found = [{c.span for c in of_note if c.chosen} for of_note in proposals]
    gold = [set(table.document.spans) for table in tables]
    n_right = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 2 * n_right / max(sum(map(len, found)) + sum(map(len, gold)), 1)


@dataclass
class EarlyStopping:
    """The best of the epochs so far.

    :param judge: how good weights are; more is better.
    :param patience: epochs in a row no better than the best, after which training ends.
    """

    judge: Callable[[NetworkWeights], float] = field(repr=False)
    patience: int
    best: NetworkWeights = field(default_factory=dict, repr=False, init=False)
    scores: list[float] = field(default_factory=list, init=False)

    def seen(self, weights: NetworkWeights) -> bool:
        """Judge the weights after an epoch; :returns: whether training ends."""
        score = self.judge(weights)
        if not self.scores or score > max(self.scores):
            self.best = weights
        self.scores.append(score)
        n_since = len(self.scores) - 1 - self.scores.index(max(self.scores))
        _LOG.info("blstm: F1 %.4f on development notes after epoch %d", score, len(self.scores))
        return n_since >= self.patience
