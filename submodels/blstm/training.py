"""Training of the BLSTM-CNN-CRF network.

    plan = TrainingPlan(epochs=12, passes=1, batch_tokens=2048, ...)
    trainer = NumpyTrainer(sizes, characters, plan, prediction, seed=1)
    train(trainer, mentions, plan, seed=1)              the averaged weights

Adam with clipped gradients, or plain stochastic gradient descent; the learning rate goes as `submodels.blstm.schedules`
says, and may decay from epoch to epoch. What is kept is a running average of the weights (Polyak and Juditsky 1992),
which is better than the last weights and costs next to nothing. No notes are held out to decide when to stop, unless a
system of a paper does so: with a rate that falls the last average was as good as the best one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from features.arrays import Floats, Integers32
from features.reporting import report
from submodels.blstm.adam import Adam
from submodels.blstm.development import EarlyStopping
from submodels.blstm.easy_rows import EasyRows
from submodels.blstm.encoder import UNKNOWN, EncodedNote, TokenRange, batches_of, rows_of
from submodels.blstm.gradients import FlatBatch, loss_and_gradients
from submodels.blstm.mention_replacement import Mentions
from submodels.blstm.schedules import rates_of
from submodels.blstm.sgd import Sgd
from submodels.blstm.weights import NetworkSizes, NetworkWeights, WordStart, first_weights
from submodels.blstm.word_prediction import PREDICTIONS, WordPrediction

__all__ = ["OPTIMISERS", "NumpyTrainer", "Trainer", "TrainingPlan", "TrainingStep", "train"]

_LOG = logging.getLogger("phistack")
OPTIMISERS: Mapping[str, Callable[[NetworkWeights, float], Adam | Sgd]] = {"adam": Adam, "sgd": Sgd}


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How the network is trained.

    :param epochs: how many.
    :param passes: passes over the notes in an epoch.
    :param batch_tokens: tokens of a batch, with its padding.
    :param batch_rows: in its place, rows of a batch; 0 where tokens count.
    :param window: see `rows_of`.
    :param learning_rate: the highest.
    :param schedule: one of `submodels.blstm.schedules.SCHEDULES`.
    :param decay: what the rate is multiplied with after each epoch.
    :param patience: epochs without gain, and
    :param least_rate: the rate that ends the training, where it is halved on a plateau.
    :param optimiser: one of `OPTIMISERS`.
    :param clip: the largest norm of a gradient.
    :param dropout: rate for the input of the LSTM and for its output.
    :param locked_dropout: whether it is the same for all tokens of a row.
    :param word_dropout: the share of words that are read as unknown.
    :param value_dropout: the share of feature values that are read as unknown.
    :param unknown_values: the value id of each column that stands for the unknown, of shape `(n_columns,)`.
    :param replacement: the share of mentions that are replaced by others; see `Mentions.replaced`.
    :param average: how much of the average of the weights is kept at each step.
    :param easy_below: see `EasyRows`.
    :param easy_share: see `EasyRows`.
    """

    epochs: int
    passes: int
    batch_tokens: int
    batch_rows: int
    window: int
    learning_rate: float
    schedule: str
    decay: float
    patience: int
    least_rate: float
    optimiser: str
    clip: float
    dropout: float
    locked_dropout: bool
    word_dropout: float
    value_dropout: float
    unknown_values: Integers32 = field(repr=False)
    replacement: float
    average: float
    easy_below: float
    easy_share: float

    def noised(
        self, words: Integers32, features: Integers32, generator: np.random.Generator
    ) -> tuple[Integers32, Integers32]:
        """Some words and feature values made unknown, as they may be in other notes.

        :param words: of any shape.
        :param features: of shape `(..., n_columns)`.
        """
        forgotten = (generator.random(words.shape) < self.word_dropout) & (words > 0)
        lost = generator.random(features.shape, dtype=np.float32) < self.value_dropout
        return np.where(forgotten, np.int32(UNKNOWN), words), np.where(lost, self.unknown_values, features)


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """What one step of training reads, and how far it goes.

    :param rows: of the batch.
    :param notes: to which the rows belong.
    :param rate: the learning rate.
    :param kept: how much of the running average of the weights is kept.
    """

    rows: Sequence[TokenRange] = field(repr=False)
    notes: Sequence[EncodedNote] = field(repr=False)
    rate: float
    kept: float


class Trainer(Protocol):
    """What learns from one batch after the other."""

    def step(self, step: TrainingStep, generator: np.random.Generator) -> Floats:
        """One step; the losses of the tags of its rows before it, of shape `(n_rows,)`.

        :param generator: of all that is random.
        """
        ...

    def averaged(self) -> NetworkWeights:
        """The running average of the weights."""
        ...


class NumpyTrainer:
    """The gradients of `submodels.blstm.gradients`, and what follows them.

    :param characters: the spelling of all words, as `Encoder.spell` gives it.
    :param prediction: a second task in training.
    :param seed: decides on the first weights.
    :param start: the first vectors of some words.
    """

    def __init__(
        self,
        sizes: NetworkSizes,
        characters: Integers32,
        plan: TrainingPlan,
        prediction: WordPrediction | None = None,
        *,
        seed: int = 0,
        start: WordStart | None = None,
    ) -> None:
        self._sizes, self._characters, self._plan, self._prediction = sizes, characters, plan, prediction
        second = prediction.first_weights(sizes.lstm, seed) if prediction else {}
        self._optimiser = OPTIMISERS[plan.optimiser]({**first_weights(sizes, seed, start), **second}, plan.clip)

    def step(self, step: TrainingStep, generator: np.random.Generator) -> Floats:
        """See `Trainer.step`."""
        plan, optimiser = self._plan, self._optimiser
        batch = FlatBatch.of(step.rows, step.notes, self._characters)
        words, features = plan.noised(batch.words, batch.features, generator)
        optimiser.read(words)
        loss, gradients = loss_and_gradients(
            optimiser.weights,
            replace(batch, words=words, features=features),
            self._sizes,
            dropout=plan.dropout,
            locked=plan.locked_dropout,
            generator=generator,
            prediction=self._prediction,
        )
        optimiser.step(gradients, rate=step.rate, kept=step.kept)
        return loss.of_rows

    def averaged(self) -> NetworkWeights:
        """The running average of the network's weights, without those of the second task."""
        return {name: values for name, values in self._optimiser.averaged().items() if name not in PREDICTIONS}


def train(
    trainer: Trainer,
    mentions: Mentions,
    plan: TrainingPlan,
    *,
    seed: int,
    reported: Callable[[float, str], None] = report,
    stopping: EarlyStopping | None = None,
) -> NetworkWeights:
    """Train the network.

    :param mentions: those of the training notes.
    :param seed: decides on the order of the notes, what is replaced and what is made unknown.
    :param reported: is called before each step with the share that is done, and in words what is being done.
    :param stopping: ends the training once it is no longer better.
    :returns: the averaged weights, where there is one to judge those of the best epoch.
    """
    generator = np.random.default_rng(seed)
    easy = EasyRows(mentions.notes, below=plan.easy_below, share=plan.easy_share)
    rates = rates_of(plan.schedule, highest=plan.learning_rate, patience=plan.patience, least=plan.least_rate)
    n_passes, done, loss = plan.epochs * plan.passes, 0, 0.0
    for number in range(n_passes):
        epoch = number // plan.passes + 1
        batches, notes = _pass(mentions, plan, easy, generator)
        for place, rows in enumerate(batches):
            reported((number + place / len(batches)) / n_passes, f"epoch {epoch} of {plan.epochs}")
            done += 1
            rate = rates.at((number + (place + 1) / len(batches)) / n_passes) * plan.decay ** (epoch - 1)
            step = TrainingStep(rows, notes, rate, kept=min(plan.average, done / (done + 10)))
            losses = trainer.step(step, generator)
            loss += float(losses.sum())
            easy.remember(rows, notes, losses)
        _LOG.info("blstm: epoch %d of %d, %d batches", epoch, plan.epochs, len(batches))
        if (number + 1) % plan.passes == 0:
            rates.epoch_ended(loss)
            loss = 0.0
            no_better = stopping is not None and stopping.seen(trainer.averaged())
            if no_better or rates.over:
                break
    return trainer.averaged() if stopping is None else stopping.best


def _pass(
    mentions: Mentions, plan: TrainingPlan, easy: EasyRows, generator: np.random.Generator
) -> tuple[list[list[TokenRange]], Sequence[EncodedNote]]:
    """All notes once but for rows that are easy, with other mentions in the place of some: batches of rows, and notes.

    Batches come in random order, of rows that are together by chance; where tokens are counted, among those of the
    same length.
    """
    notes = mentions.replaced(plan.replacement, generator) if plan.replacement else mentions.notes
    rows = easy.left_out(rows_of(notes, window=plan.window), notes, generator)
    batches = batches_of(
        [rows[i] for i in generator.permutation(len(rows))], tokens=plan.batch_tokens, at_once=plan.batch_rows
    )
    return [batches[i] for i in generator.permutation(len(batches))], notes
