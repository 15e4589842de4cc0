"""Training of the BLSTM-CNN-CRF network.

    plan = TrainingPlan(BlstmSettings(epochs=12), shapes, notes, characters, unknown_values)
    train(Trainer(plan, seed=1), mentions, plan, seed=1)              the averaged weights

The result is a running average of the weights (Polyak and Juditsky 1992), which is better than the last weights and
costs next to nothing. By default no notes are held out for early stopping: with a falling rate the last average was as
good as the best one.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from phistack.features.arrays import Floats, Integers32
from phistack.features.columns.table import FeatureTable
from phistack.features.reporting import report
from phistack.submodels.base import Candidate
from phistack.submodels.blstm.encoder import UNKNOWN
from phistack.submodels.blstm.gradients import FlatBatch, loss_and_gradients, read
from phistack.submodels.blstm.layers import PREDICTIONS, WordPrediction
from phistack.submodels.blstm.mention_replacement import Mentions
from phistack.submodels.blstm.optimisers import Adam, Rates, Sgd
from phistack.submodels.blstm.rows import EncodedNote, TokenRange, batches_of, rows_of
from phistack.submodels.blstm.settings import BlstmSettings
from phistack.submodels.blstm.weights import InitialValues, NetworkWeights, first_weights

_LOG = logging.getLogger("phistack")

_BATCHES_OF_A_PASS = 100
"""With few notes, batches are made small enough that a pass has about this many."""

_SMALLEST_BATCH = 128
"""In tokens."""


class TrainingPlan:
    """How networks are trained on some notes; with few, batches are smaller and an epoch may have several passes.

    :param settings: of the network.
    :param shapes: of its weights.
    :param characters: the spelling of all words, as `Encoder.spell` gives it.
    :param unknown_values: the value id of each column that means unknown, of shape `(n_columns,)`.
    """

    def __init__(
        self,
        settings: BlstmSettings,
        shapes: Mapping[str, tuple[int, ...]],
        notes: Sequence[EncodedNote],
        characters: Integers32,
        unknown_values: Integers32,
    ) -> None:
        self.settings, self.shapes, self.characters, self.unknown_values = settings, shapes, characters, unknown_values
        n_tokens = sum(len(note.words) for note in notes)
        self.batch_tokens = min(settings.batch_tokens, max(_SMALLEST_BATCH, n_tokens // _BATCHES_OF_A_PASS))
        steps = max(n_tokens // self.batch_tokens, 1) * settings.epochs
        self.passes = max(1, round(settings.least_steps / steps))
        self.prediction: WordPrediction | None = None
        if settings.language_model:
            self.prediction = WordPrediction.of(notes, words=settings.foreseen_words, weight=settings.language_model)


class Trainer:
    """Learns from one batch after the other.

    :param seed: decides the first weights.
    :param known: initial values that are not random.
    """

    def __init__(self, plan: TrainingPlan, *, seed: int = 0, known: Sequence[InitialValues] = ()) -> None:
        self._plan, self._read = plan, read
        if plan.settings.trainer == "tensorflow":
            from phistack.submodels.blstm import tensorflow_reading

            tensorflow_reading.load_tensorflow(plan.settings.threads)
            self._read = tensorflow_reading.read
        second = plan.prediction.first_weights(plan.settings.lstm_size, seed) if plan.prediction else {}
        optimiser = Sgd if plan.settings.optimiser == "sgd" else Adam
        first = {**first_weights(plan.shapes, seed, known), **second}
        self._optimiser: Adam | Sgd = optimiser(first, plan.settings.clip)

    def step(self, batch: FlatBatch, generator: np.random.Generator, *, rate: float, kept: float) -> Floats:
        """Learn from one batch, in which some words and feature values are made unknown, as in new notes.

        :param generator: for dropout and for what is made unknown.
        :param rate: the learning rate.
        :param kept: share of the running average of the weights that is kept.
        :returns: the losses of the tags of the rows before the step, of shape `(n_rows,)`.
        """
        plan, settings = self._plan, self._plan.settings
        forgotten = (generator.random(batch.words.shape) < settings.word_dropout) & (batch.words > 0)
        lost = generator.random(batch.features.shape, dtype=np.float32) < settings.value_dropout
        batch.words = np.where(forgotten, np.int32(UNKNOWN), batch.words)
        batch.features = np.where(lost, plan.unknown_values, batch.features)
        self._optimiser.read(batch.words)
        _, losses, gradients = loss_and_gradients(
            self._optimiser.weights,
            batch,
            dropout=settings.dropout,
            locked=settings.locked_dropout,
            generator=generator,
            prediction=plan.prediction,
            read=self._read,
        )
        self._optimiser.step(gradients, rate=rate, kept=kept)
        return losses

    def averaged(self) -> NetworkWeights:
        """A copy of the running average of the network's weights, without those of the second task."""
        return {name: values for name, values in self._optimiser.averaged().items() if name not in PREDICTIONS}


class EasyRows:
    """The rows that the network already knows, most of which a pass over the notes leaves out.

    Most lines of a note are learned in a few passes, and then teach nothing: half of the tokens of a pass have less
    than a hundredth of its loss. So the loss of a row when it was last read decides whether it is read again (selective
    backpropagation, Jiang et al. 2019, with the losses of the pass before instead of an extra forward run). Rows begin
    at other lines in each pass, so losses are kept by line.

    :param below: a row with a smaller loss is easy; 0 for none.
    :param share: how likely an easy row is to be read all the same.
    """

    def __init__(self, notes: Sequence[EncodedNote], *, below: float, share: float) -> None:
        self._losses = [np.full(len(note.lines), np.inf) for note in notes]
        self._below, self._share = below, share

    def left_out(
        self, rows: Sequence[TokenRange], notes: Sequence[EncodedNote], generator: np.random.Generator
    ) -> list[TokenRange]:
        """The rows without most of the easy ones."""
        lucky = generator.random(len(rows)) < self._share
        return [row for row, kept in zip(rows, lucky, strict=True) if kept or self._of(row, notes).sum() >= self._below]

    def remember(self, rows: Sequence[TokenRange], notes: Sequence[EncodedNote], losses: Floats) -> None:
        """Keep the losses of rows, of shape `(n_rows,)`."""
        for row, loss in zip(rows, losses, strict=True):
            lines = self._of(row, notes)
            lines[:] = loss / len(lines)

    def _of(self, row: TokenRange, notes: Sequence[EncodedNote]) -> Floats:
        """The losses of the lines of a row, as a view."""
        number, first, last = row
        bounds = notes[number].lines
        return self._losses[number][np.searchsorted(bounds, first, "right") - 1 : np.searchsorted(bounds, last)]


def held_back(
    tables: Sequence[FeatureTable], share: float, *, seed: int
) -> tuple[list[FeatureTable], list[FeatureTable]]:
    """Notes to train on, and notes of this share of the patients for early stopping; none of fewer than two patients.

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
    """The best of the epochs so far (as in Berg and Dalianis 2019, three epochs without a better one end a training).

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
    :param seed: decides the order of the notes, what is replaced and what is made unknown.
    :param reported: is called before each step with the share done and a description.
    :param stopping: ends the training once it no longer improves.
    :returns: the averaged weights, with `stopping` those of the best epoch.
    """
    settings, generator = plan.settings, np.random.default_rng(seed)
    easy = EasyRows(mentions.notes, below=settings.easy_below, share=settings.easy_share)
    rates = Rates(settings.schedule, settings.learning_rate, settings.patience, settings.least_rate)
    n_passes, done, loss = settings.epochs * plan.passes, 0, 0.0
    for number in range(n_passes):
        epoch = number // plan.passes + 1
        batches, notes = _pass(mentions, plan, easy, generator)
        for place, rows in enumerate(batches):
            reported((number + place / len(batches)) / n_passes, f"epoch {epoch} of {settings.epochs}")
            done += 1
            rate = rates.at((number + (place + 1) / len(batches)) / n_passes) * settings.decay ** (epoch - 1)
            batch = FlatBatch(rows, notes, plan.characters)
            losses = trainer.step(batch, generator, rate=rate, kept=min(settings.average, done / (done + 10)))
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
    """One pass over the notes: batches of rows in random order, and the notes with some mentions replaced.

    The rows of a batch are drawn at random, from those of similar length if tokens are counted; most easy rows are
    left out.
    """
    settings = plan.settings
    notes = mentions.replaced(settings.replacement, generator) if settings.replacement else mentions.notes
    rows = easy.left_out(rows_of(notes, window=settings.window), notes, generator)
    batches = batches_of(
        [rows[i] for i in generator.permutation(len(rows))], tokens=plan.batch_tokens, at_once=settings.batch_rows
    )
    return [batches[i] for i in generator.permutation(len(batches))], notes
