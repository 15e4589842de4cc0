"""Training of the BLSTM-CNN-CRF network.

    plan = TrainingPlan.of(BlstmSettings(epochs=12), notes, unknown_values)
    trainer = NumpyTrainer(sizes, characters, plan, prediction, seed=1)
    train(trainer, mentions, plan, seed=1)              the averaged weights

Adam with clipped gradients, or plain stochastic gradient descent; the learning rate goes as `submodels.blstm.schedules`
says, and may decay from epoch to epoch. What is kept is a running average of the weights (Polyak and Juditsky 1992),
which is better than the last weights and costs next to nothing. No notes are held out to decide when to stop, unless a
system of a paper does so: with a rate that falls the last average was as good as the best one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from phistack.features.arrays import Floats, Integers32
from phistack.features.reporting import report
from phistack.submodels.blstm.adam import Adam
from phistack.submodels.blstm.development import EarlyStopping
from phistack.submodels.blstm.easy_rows import EasyRows
from phistack.submodels.blstm.encoder import UNKNOWN, EncodedNote, TokenRange, batches_of, rows_of
from phistack.submodels.blstm.gradients import FlatBatch, loss_and_gradients
from phistack.submodels.blstm.mention_replacement import Mentions
from phistack.submodels.blstm.schedules import rates_of
from phistack.submodels.blstm.settings import BlstmSettings
from phistack.submodels.blstm.sgd import Sgd
from phistack.submodels.blstm.weights import FirstValues, NetworkSizes, NetworkWeights, first_weights
from phistack.submodels.blstm.word_prediction import PREDICTIONS, WordPrediction

_LOG = logging.getLogger("phistack")

_BATCHES_OF_A_PASS = 100
"""Where notes are few, batches are so small that there are about so many."""

_SMALLEST_BATCH = 128
"""In tokens."""


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How the network is trained on some notes.

    :param settings: of the network.
    :param passes: passes over the notes in an epoch.
    :param batch_tokens: tokens of a batch, with its padding.
    :param unknown_values: the value id of each column that stands for the unknown, of shape `(n_columns,)`.
    """

    settings: BlstmSettings
    passes: int
    batch_tokens: int
    unknown_values: Integers32 = field(repr=False)

    @classmethod
    def of(cls, settings: BlstmSettings, notes: Sequence[EncodedNote], unknown_values: Integers32) -> TrainingPlan:
        """With few notes, batches are smaller and an epoch may have several passes, so that there are steps enough."""
        n_tokens = sum(len(note.words) for note in notes)
        batch_tokens = min(settings.batch_tokens, max(_SMALLEST_BATCH, n_tokens // _BATCHES_OF_A_PASS))
        steps = max(n_tokens // batch_tokens, 1) * settings.epochs
        return cls(settings, max(1, round(settings.least_steps / steps)), batch_tokens, unknown_values)

    def noised(
        self, words: Integers32, features: Integers32, generator: np.random.Generator
    ) -> tuple[Integers32, Integers32]:
        """Some words and feature values made unknown, as they may be in other notes.

        :param words: of any shape.
        :param features: of shape `(..., n_columns)`.
        """
        forgotten = (generator.random(words.shape) < self.settings.word_dropout) & (words > 0)
        lost = generator.random(features.shape, dtype=np.float32) < self.settings.value_dropout
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
    :param known: what the first weights are that are not random.
    """

    def __init__(
        self,
        sizes: NetworkSizes,
        characters: Integers32,
        plan: TrainingPlan,
        prediction: WordPrediction | None = None,
        *,
        seed: int = 0,
        known: Sequence[FirstValues] = (),
    ) -> None:
        self._sizes, self._characters, self._plan, self._prediction = sizes, characters, plan, prediction
        second = prediction.first_weights(sizes.lstm, seed) if prediction else {}
        optimiser = Sgd if plan.settings.optimiser == "sgd" else Adam
        self._optimiser: Adam | Sgd = optimiser({**first_weights(sizes, seed, known), **second}, plan.settings.clip)

    def step(self, step: TrainingStep, generator: np.random.Generator) -> Floats:
        """See `Trainer.step`."""
        settings, optimiser = self._plan.settings, self._optimiser
        batch = FlatBatch.of(step.rows, step.notes, self._characters)
        words, features = self._plan.noised(batch.words, batch.features, generator)
        optimiser.read(words)
        loss, gradients = loss_and_gradients(
            optimiser.weights,
            replace(batch, words=words, features=features),
            self._sizes,
            dropout=settings.dropout,
            locked=settings.locked_dropout,
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
    settings, generator = plan.settings, np.random.default_rng(seed)
    easy = EasyRows(mentions.notes, below=settings.easy_below, share=settings.easy_share)
    rates = rates_of(
        settings.schedule, highest=settings.learning_rate, patience=settings.patience, least=settings.least_rate
    )
    n_passes, done, loss = settings.epochs * plan.passes, 0, 0.0
    for number in range(n_passes):
        epoch = number // plan.passes + 1
        batches, notes = _pass(mentions, plan, easy, generator)
        for place, rows in enumerate(batches):
            reported((number + place / len(batches)) / n_passes, f"epoch {epoch} of {settings.epochs}")
            done += 1
            rate = rates.at((number + (place + 1) / len(batches)) / n_passes) * settings.decay ** (epoch - 1)
            step = TrainingStep(rows, notes, rate, kept=min(settings.average, done / (done + 10)))
            losses = trainer.step(step, generator)
            loss += float(losses.sum())
            easy.remember(rows, notes, losses)
        _LOG.info("blstm: epoch %d of %d, %d batches", epoch, settings.epochs, len(batches))
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
    settings = plan.settings
    notes = mentions.replaced(settings.replacement, generator) if settings.replacement else mentions.notes
    rows = easy.left_out(rows_of(notes, window=settings.window), notes, generator)
    batches = batches_of(
        [rows[i] for i in generator.permutation(len(rows))], tokens=plan.batch_tokens, at_once=settings.batch_rows
    )
    return [batches[i] for i in generator.permutation(len(batches))], notes
