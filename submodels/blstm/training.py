"""Training of the BLSTM-CNN-CRF network.

    plan = TrainingPlan(epochs=12, passes=1, batch_tokens=2048, ...)
    trainer = NumpyTrainer(sizes, characters, plan, prediction, seed=1)
    train(trainer, mentions, plan, seed=1)              the averaged weights

Adam with clipped gradients; the learning rate rises for a tenth of the steps and then falls to nothing. What is kept is
a running average of the weights (Polyak and Juditsky 1992), which is better than the last weights and costs next to
nothing. No notes are held out to decide when to stop: with such a rate the last average was as good as the best one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from features.arrays import Integers32
from features.reporting import report
from submodels.blstm.adam import Adam
from submodels.blstm.encoder import EncodedNote, TokenRange, batches_of, rows_of
from submodels.blstm.gradients import FlatBatch, loss_and_gradients
from submodels.blstm.mention_replacement import Mentions
from submodels.blstm.weights import NetworkSizes, NetworkWeights, first_weights
from submodels.blstm.word_prediction import PREDICTIONS, WordPrediction

__all__ = ["NumpyTrainer", "Trainer", "TrainingPlan", "train"]

_LOG = logging.getLogger("phistack")
_WARM_UP = 0.1


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How the network is trained.

    :param epochs: how many.
    :param passes: passes over the notes in an epoch.
    :param batch_tokens: tokens of a batch, with its padding.
    :param window: see `rows_of`.
    :param learning_rate: the highest.
    :param clip: the largest norm of a gradient.
    :param dropout: rate for the input of the LSTM and for its output.
    :param word_dropout: the share of words that are read as unknown.
    :param value_dropout: the share of feature values that are read as unknown.
    :param unknown_values: the value id of each column that stands for the unknown, of shape `(n_columns,)`.
    :param replacement: the share of mentions that are replaced by others; see `Mentions.replaced`.
    :param average: how much of the average of the weights is kept at each step.
    """

    epochs: int
    passes: int
    batch_tokens: int
    window: int
    learning_rate: float
    clip: float
    dropout: float
    word_dropout: float
    value_dropout: float
    unknown_values: Integers32 = field(repr=False)
    replacement: float
    average: float


class Trainer(Protocol):
    """What learns from one batch after the other."""

    def step(
        self,
        ranges: Sequence[TokenRange],
        notes: Sequence[EncodedNote],
        generator: np.random.Generator,
        *,
        rate: float,
        kept: float,
    ) -> float:
        """One step of training; the loss before it.

        :param ranges: the rows of the batch.
        :param generator: of all that is random.
        :param rate: the learning rate.
        :param kept: how much of the running average of the weights is kept.
        """
        ...

    def averaged(self) -> NetworkWeights:
        """The running average of the weights."""
        ...


class NumpyTrainer:
    """The gradients of `submodels.blstm.gradients`, and Adam.

    :param characters: the spelling of all words, as `Encoder.spell` gives it.
    :param prediction: a second task in training.
    :param seed: decides on the first weights.
    """

    def __init__(
        self,
        sizes: NetworkSizes,
        characters: Integers32,
        plan: TrainingPlan,
        prediction: WordPrediction | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self._sizes, self._characters, self._plan, self._prediction = sizes, characters, plan, prediction
        second = prediction.first_weights(sizes.lstm, seed) if prediction else {}
        self._adam = Adam({**first_weights(sizes, seed), **second}, plan.clip)

    def step(
        self,
        ranges: Sequence[TokenRange],
        notes: Sequence[EncodedNote],
        generator: np.random.Generator,
        *,
        rate: float,
        kept: float,
    ) -> float:
        """See `Trainer.step`."""
        plan, adam = self._plan, self._adam
        batch = FlatBatch.of(ranges, notes, self._characters)
        batch = batch.noised(plan.word_dropout, plan.value_dropout, plan.unknown_values, generator)
        adam.read(batch.words)
        loss, gradients = loss_and_gradients(
            adam.weights, batch, self._sizes, dropout=plan.dropout, generator=generator, prediction=self._prediction
        )
        adam.step(gradients, rate=rate, kept=kept)
        return loss

    def averaged(self) -> NetworkWeights:
        """The running average of the network's weights, without those of the second task."""
        return {name: values for name, values in self._adam.averaged().items() if name not in PREDICTIONS}


def train(
    trainer: Trainer,
    mentions: Mentions,
    plan: TrainingPlan,
    *,
    seed: int,
    reported: Callable[[float, str], None] = report,
) -> NetworkWeights:
    """Train the network.

    :param mentions: those of the training notes.
    :param seed: decides on the order of the notes, what is replaced and what is made unknown.
    :param reported: is called before each step with the share that is done, and in words what is being done.
    :returns: the averaged weights.
    """
    generator = np.random.default_rng(seed)
    n_batches = len(batches_of(rows_of(mentions.notes, window=plan.window), tokens=plan.batch_tokens))
    steps = max(n_batches * plan.passes * plan.epochs, 1)
    done = 0
    for epoch in range(1, plan.epochs + 1):
        losses = []
        for ranges, notes in (batch for _ in range(plan.passes) for batch in _pass(mentions, plan, generator)):
            reported(min(done / steps, 1.0), f"epoch {epoch} of {plan.epochs}")
            done += 1
            # Replaced mentions may be longer, so that there are a few more steps than were counted before.
            share = min(done / steps, 1.0)
            rate = plan.learning_rate * min(share / _WARM_UP, (1 - share) / (1 - _WARM_UP) + 0.01)
            losses.append(trainer.step(ranges, notes, generator, rate=rate, kept=min(plan.average, done / (done + 10))))
        _LOG.info("blstm: epoch %d of %d, loss %.3f a line", epoch, plan.epochs, float(np.mean(losses)))
    return trainer.averaged()


def _pass(
    mentions: Mentions, plan: TrainingPlan, generator: np.random.Generator
) -> Iterator[tuple[list[TokenRange], Sequence[EncodedNote]]]:
    """All notes once, with other mentions in the place of some, as the rows of each batch and the notes.

    Batches come in random order, of rows that are together by chance among those of the same length.
    """
    notes = mentions.replaced(plan.replacement, generator) if plan.replacement else mentions.notes
    rows = rows_of(notes, window=plan.window)
    batches = batches_of([rows[i] for i in generator.permutation(len(rows))], tokens=plan.batch_tokens)
    return ((batches[i], notes) for i in generator.permutation(len(batches)))
