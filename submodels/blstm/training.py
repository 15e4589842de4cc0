"""Training of the BLSTM-CNN-CRF network.

    plan = TrainingPlan(epochs=12, passes=1, batch_tokens=2048, ...)
    train(network, mentions, characters, plan, ...)    the averaged weights

Adam with clipped gradients; the learning rate rises for a tenth of the steps and then falls to nothing. What is kept is
a running average of the weights (Polyak and Juditsky 1992), which is better than the last weights and costs next to
nothing. No notes are held out to decide when to stop: with such a rate the last average was as good as the best one.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from features.arrays import Integers32
from features.errors import TrainingError
from features.reporting import report
from submodels.blstm.encoder import UNKNOWN, BatchArrays, TokenRange, batch_of, batches_of, rows_of, with_characters
from submodels.blstm.mention_replacement import Mentions
from submodels.blstm.weights import NetworkWeights

if TYPE_CHECKING:
    from submodels.blstm.network import TaggingNetwork

__all__ = ["TrainingPlan", "load_keras", "train"]

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
    :param word_dropout: the share of words that are read as unknown.
    :param value_dropout: the share of feature values that are read as unknown.
    :param replacement: the share of mentions that are replaced by others; see `Mentions.replaced`.
    :param average: how much of the average of the weights is kept at each step.
    """

    epochs: int
    passes: int
    batch_tokens: int
    window: int
    learning_rate: float
    clip: float
    word_dropout: float
    value_dropout: float
    replacement: float
    average: float


def train(
    network: TaggingNetwork,
    mentions: Mentions,
    characters: Integers32,
    plan: TrainingPlan,
    *,
    unknown_values: Integers32,
    seed: int,
    reported: Callable[[float, str], None] = report,
) -> NetworkWeights:
    """Train the network.

    :param mentions: those of the training notes.
    :param characters: the spelling of all words, as `Encoder.spell` gives it.
    :param unknown_values: the value id of each column that stands for the unknown, of shape `(n_columns,)`.
    :param reported: is called before each step with the share that is done, and in words what is being done.
    :returns: the averaged weights.
    """
    generator = np.random.default_rng(seed)
    n_batches = len(batches_of(rows_of(mentions.notes, window=plan.window), tokens=plan.batch_tokens))
    optimiser = _Optimiser(network, plan, n_batches * plan.passes * plan.epochs)
    for epoch in range(1, plan.epochs + 1):
        losses = []
        for batch in (batch for _ in range(plan.passes) for batch in _pass(mentions, plan, generator)):
            reported(optimiser.share, f"epoch {epoch} of {plan.epochs}")
            losses.append(optimiser.step(with_characters(_noised(batch, plan, unknown_values, generator), characters)))
        _LOG.info("blstm: epoch %d of %d, loss %.3f a line", epoch, plan.epochs, float(np.mean(losses)))
    return optimiser.averaged()


class _Optimiser:
    """Adam on the weights of a network, and the running average of them."""

    def __init__(self, network: TaggingNetwork, plan: TrainingPlan, steps: int) -> None:
        import keras

        self._network = network
        self._plan = plan
        self._steps = steps
        self._done = 0
        self._variables = network.trained
        self._averages = {name: keras.Variable(value.numpy()) for name, value in network.weights.items()}
        self._adam = keras.optimizers.Adam(plan.learning_rate, global_clipnorm=plan.clip)
        self._adam.build(self._variables)
        self._graph: Callable[..., Any] | None = None

    def step(self, batch: BatchArrays) -> float:
        """One step of training; the loss before it."""
        self._done += 1
        if self._graph is None:
            self._graph = self._compiled(batch)
        keep = min(self._plan.average, self._done / (self._done + 10))
        return float(self._graph(batch, np.float32(self._rate()), np.float32(keep)))

    @property
    def share(self) -> float:
        """How many of the steps are done, in [0, 1]."""
        return min(self._done / max(self._steps, 1), 1.0)

    def averaged(self) -> NetworkWeights:
        """A copy of the averaged weights."""
        return {name: np.array(average.numpy()) for name, average in self._averages.items()}

    def _rate(self) -> float:
        # Replaced mentions may be longer, so that there are a few more steps than were counted before.
        done = self.share
        return self._plan.learning_rate * min(done / _WARM_UP, (1 - done) / (1 - _WARM_UP) + 0.01)

    def _compiled(self, batch: BatchArrays) -> Callable[..., Any]:
        """The step as a graph that takes batches of any size, so that it is traced once."""
        import tensorflow as tf

        def step(batch: Any, rate: Any, keep: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = self._network.loss(batch)
            gradients = tape.gradient(loss, [variable.value for variable in self._variables])
            self._adam.learning_rate.assign(rate)
            self._adam.apply(gradients, self._variables)
            for name, average in self._averages.items():
                average.assign(keep * average + (1 - keep) * self._network.weights[name])
            return loss

        fixed = ("characters", "features")
        signature = {
            name: tf.TensorSpec([*[None] * (array.ndim - 1), array.shape[-1] if name in fixed else None], tf.int32)
            for name, array in batch.items()
        }
        number = tf.TensorSpec([], tf.float32)
        compiled: Callable[..., Any] = tf.function(step, input_signature=[signature, number, number], autograph=False)
        return compiled


def _pass(mentions: Mentions, plan: TrainingPlan, generator: np.random.Generator) -> Iterator[BatchArrays]:
    """All notes once, with other mentions in the place of some."""
    notes = mentions.replaced(plan.replacement, generator) if plan.replacement else mentions.notes
    for batch in _shuffled(rows_of(notes, window=plan.window), plan.batch_tokens, generator):
        yield batch_of(batch, notes)


def _shuffled(rows: Sequence[TokenRange], tokens: int, generator: np.random.Generator) -> list[list[TokenRange]]:
    """Batches in random order, of rows that are together by chance among those of the same length."""
    batches = batches_of([rows[i] for i in generator.permutation(len(rows))], tokens=tokens)
    return [batches[i] for i in generator.permutation(len(batches))]


def _noised(
    batch: BatchArrays, plan: TrainingPlan, unknown_values: Integers32, generator: np.random.Generator
) -> BatchArrays:
    """The batch with some words and feature values made unknown, as they may be in other notes."""
    words, features = batch["words"], batch["features"]
    forgotten = (generator.random(words.shape) < plan.word_dropout) & (words > 0)
    lost = generator.random(features.shape, dtype=np.float32) < plan.value_dropout
    return batch | {
        "words": np.where(forgotten, np.int32(UNKNOWN), words),
        "features": np.where(lost, unknown_values, features),
    }


def load_keras(threads: int) -> None:
    """Import Keras on TensorFlow, which takes seconds, quiet and with so many threads.

    Training needs kernels of TensorFlow, so another backend that the user has chosen for Keras does not count here.

    :raises TrainingError: if another backend is already at work in this process.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # With it, TensorFlow says on standard error what it does to floating-point sums.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    with _nothing_on_standard_error():
        import tensorflow as tf

    import keras

    if keras.backend.backend() != "tensorflow":
        raise TrainingError(
            f"the BLSTM-CNN-CRF trains with Keras on TensorFlow, and this process has begun to use Keras on "
            f"{keras.backend.backend()}; train in a process of its own"
        )
    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        _LOG.debug("blstm: TensorFlow runs already, with the threads it was given before")


@contextmanager
def _nothing_on_standard_error() -> Iterator[None]:
    """Keep off the screen what TensorFlow's C++ part says of absent GPUs before its log level is set.

    Exceptions are not touched. Python's own standard error has its own buffer, which is emptied first.
    """
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
