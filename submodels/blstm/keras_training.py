"""Training of the network by Keras on TensorFlow: the reference for `submodels.blstm.gradients`, and the way to a GPU.

trainer = KerasTrainer(plan, seed=1)
trainer.step((rows, notes), generator, rate=0.01, kept=0.99)
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, Integers32
from phistack.features.errors import TrainingError, need
from phistack.submodels.blstm.gradients import FlatBatch
from phistack.submodels.blstm.rows import EncodedNote, TokenRange
from phistack.submodels.blstm.training import Batch, TrainingPlan
from phistack.submodels.blstm.weights import InitialValues, NetworkWeights

BatchArrays = dict[str, Any]
"""Name -> array of whole numbers; `states` is of 32-bit floats."""

_LOG = logging.getLogger("phistack")


class KerasTrainer:
    """The trainer of a `TaggingNetwork`; with the arguments of `NumpyTrainer`."""

    def __init__(self, plan: TrainingPlan, *, seed: int = 0, known: Sequence[InitialValues] = ()) -> None:
        settings = plan.settings
        load_keras(settings.threads)
        import keras

        from phistack.submodels.blstm.network import TaggingNetwork

        self._plan = plan
        self._network = TaggingNetwork(
            plan.sizes, dropout=settings.dropout, locked=settings.locked_dropout, prediction=plan.prediction,
            seed=seed, known=known,
        )  # fmt: skip
        self._averages = {name: keras.Variable(value.numpy()) for name, value in self._network.weights.items()}
        optimiser = keras.optimizers.SGD if settings.optimiser == "sgd" else keras.optimizers.Adam
        self._optimiser = optimiser(settings.learning_rate, global_clipnorm=settings.clip)
        self._optimiser.build(self._network.trained)
        self._graph: Callable[..., Any] | None = None

    def step(self, batch: Batch, generator: np.random.Generator, *, rate: float, kept: float) -> Floats:
        """See `Trainer.step`."""
        padded = padded_batch(*batch, self._plan.characters)
        words, features = self._plan.noised(padded["words"], padded["features"], generator)
        padded |= {"words": words, "features": features}
        if self._graph is None:
            self._graph = self._compiled(padded)
        losses: Floats = self._graph(padded, np.float32(rate), np.float32(kept)).numpy()
        return losses

    def averaged(self) -> NetworkWeights:
        """See `Trainer.averaged`."""
        return {name: np.array(average.numpy()) for name, average in self._averages.items()}

    def _compiled(self, batch: BatchArrays) -> Callable[..., Any]:
        """The step as a graph that takes batches of any size, so that it is traced once."""
        import tensorflow as tf

        variables = self._network.trained

        def step(batch: Any, rate: Any, keep: Any) -> Any:
            with tf.GradientTape() as tape:
                loss, of_rows = self._network.loss(batch)
            gradients = tape.gradient(loss, [variable.value for variable in variables])
            self._optimiser.learning_rate.assign(rate)
            self._optimiser.apply(gradients, variables)
            for name, average in self._averages.items():
                average.assign(keep * average + (1 - keep) * self._network.weights[name])
            return of_rows

        fixed = ("characters", "features", "states")
        signature = {
            name: tf.TensorSpec([*[None] * (array.ndim - 1), array.shape[-1] if name in fixed else None], array.dtype)
            for name, array in batch.items()
        }
        number = tf.TensorSpec([], tf.float32)
        compiled: Callable[..., Any] = tf.function(step, input_signature=[signature, number, number], autograph=False)
        return compiled


def padded_batch(rows: Sequence[TokenRange], notes: Sequence[EncodedNote], characters: Integers32) -> BatchArrays:
    """The arrays of some rows, padded with 0 to the longest.

    :param characters: of all words, as `Encoder.spell` gives it.
    :returns: `words`, `spellings`, `begins` (1 where a tag sequence begins), `tags` of shape `(n_rows, n_tokens)`,
        `features` of shape `(n_rows, n_tokens, n_columns)`, `lengths` of shape `(n_rows,)`; the spelling of the
        distinct words as `characters`, in which `spellings` are places; with language models also `states` of shape
        `(n_rows, n_tokens, n_states)`.
    """
    flat = FlatBatch.of(rows, notes, characters)
    lengths = np.array([last - first for _, first, last in rows], dtype=np.int32)
    is_token = np.arange(lengths.max()) < lengths[:, None]

    def padded(values: NDArray[Any]) -> NDArray[Any]:
        found = np.zeros((*is_token.shape, *values.shape[1:]), dtype=values.dtype)
        found[is_token] = values
        return found

    begins, no_tags = np.zeros((2, len(flat.words)), dtype=np.int32)
    begins[flat.sequences[:-1]] = 1
    batch: BatchArrays = {
        "words": padded(flat.words), "spellings": padded(flat.spellings.astype(np.int32)),
        "characters": flat.characters, "features": padded(flat.features), "lengths": lengths, "begins": padded(begins),
        "tags": padded(flat.tags if len(flat.tags) else no_tags),
    }  # fmt: skip
    return batch | {"states": padded(flat.states)} if flat.states.shape[1] else batch


def load_keras(threads: int) -> None:
    """Import Keras on TensorFlow, which takes seconds, without its chatter, and log on what it computes.

    Training needs kernels of TensorFlow, so it overrides the user's choice of another backend for Keras.

    :param threads: within one operation; with 0 TensorFlow chooses.
    :raises MissingResourceError: if TensorFlow is not installed.
    :raises TrainingError: if another backend is already at work in this process.
    """
    need("tensorflow", "tensorflow", "the network's trainer `tensorflow`")
    first = "tensorflow" not in sys.modules
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Otherwise TensorFlow reports on standard error how it changes floating-point sums.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    with _nothing_on_standard_error():
        import tensorflow as tf

    import keras

    if keras.backend.backend() != "tensorflow":
        raise TrainingError(
            f"the BLSTM-CNN-CRF trains with Keras on TensorFlow, and this process has begun to use Keras on "
            f"{keras.backend.backend()}; train in a separate process"
        )
    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        _LOG.debug("blstm: TensorFlow runs already, with the threads it was given before")
    gpus = len(tf.config.list_physical_devices("GPU"))
    _LOG.log(
        logging.WARNING if first else logging.DEBUG,
        "blstm: TensorFlow trains on %s",
        f"{gpus} GPU" if gpus else "the processor, as it sees no GPU",
    )


@contextmanager
def _nothing_on_standard_error() -> Iterator[None]:
    """Hide what TensorFlow's C++ part writes about absent GPUs before its log level is set; exceptions pass."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
