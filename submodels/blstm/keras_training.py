"""Training of the network by Keras on TensorFlow: the reference of `submodels.blstm.gradients`, and the way to a GPU.

trainer = KerasTrainer.of(sizes, characters, plan, prediction, seed=1)
trainer.step(TrainingStep(rows, notes, rate=0.01, kept=0.99), generator)
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from phistack.features.arrays import Floats, Integers32
from phistack.features.errors import TrainingError
from phistack.features.extras import need
from phistack.submodels.blstm.encoder import BatchArrays, batch_of, with_characters
from phistack.submodels.blstm.training import TrainingPlan, TrainingStep
from phistack.submodels.blstm.weights import FirstValues, NetworkSizes, NetworkWeights
from phistack.submodels.blstm.word_prediction import WordPrediction

if TYPE_CHECKING:
    from phistack.submodels.blstm.network import TaggingNetwork

_LOG = logging.getLogger("phistack")


class KerasTrainer:
    """Adam, or plain gradient descent, on the weights of a network, and the running average of them.

    :param network: whose weights are trained.
    :param characters: the spelling of all words, as `Encoder.spell` gives it.
    :param plan: how.
    """

    def __init__(self, network: TaggingNetwork, characters: Integers32, plan: TrainingPlan) -> None:
        import keras

        self._network = network
        self._characters = characters
        self._plan = plan
        self._variables = network.trained
        self._averages = {name: keras.Variable(value.numpy()) for name, value in network.weights.items()}
        optimiser = keras.optimizers.SGD if plan.settings.optimiser == "sgd" else keras.optimizers.Adam
        self._optimiser = optimiser(plan.settings.learning_rate, global_clipnorm=plan.settings.clip)
        self._optimiser.build(self._variables)
        self._graph: Callable[..., Any] | None = None

    @classmethod
    def of(
        cls,
        sizes: NetworkSizes,
        characters: Integers32,
        plan: TrainingPlan,
        prediction: WordPrediction | None = None,
        *,
        seed: int = 0,
        known: Sequence[FirstValues] = (),
    ) -> KerasTrainer:
        """One of a new network, with the arguments of `NumpyTrainer`."""
        load_keras(plan.settings.threads)
        from phistack.submodels.blstm.network import TaggingNetwork

        dropout, locked = plan.settings.dropout, plan.settings.locked_dropout
        network = TaggingNetwork(sizes, dropout=dropout, locked=locked, prediction=prediction, seed=seed, known=known)
        return cls(network, characters, plan)

    def step(self, step: TrainingStep, generator: np.random.Generator) -> Floats:
        """See `Trainer.step`."""
        batch = with_characters(batch_of(step.rows, step.notes), self._characters)
        words, features = self._plan.noised(batch["words"], batch["features"], generator)
        batch |= {"words": words, "features": features}
        if self._graph is None:
            self._graph = self._compiled(batch)
        losses: Floats = self._graph(batch, np.float32(step.rate), np.float32(step.kept)).numpy()
        return losses

    def averaged(self) -> NetworkWeights:
        """A copy of the averaged weights."""
        return {name: np.array(average.numpy()) for name, average in self._averages.items()}

    def _compiled(self, batch: BatchArrays) -> Callable[..., Any]:
        """The step as a graph that takes batches of any size, so that it is traced once."""
        import tensorflow as tf

        def step(batch: Any, rate: Any, keep: Any) -> Any:
            with tf.GradientTape() as tape:
                loss, of_rows = self._network.loss(batch)
            gradients = tape.gradient(loss, [variable.value for variable in self._variables])
            self._optimiser.learning_rate.assign(rate)
            self._optimiser.apply(gradients, self._variables)
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


def load_keras(threads: int) -> None:
    """Import Keras on TensorFlow, which takes seconds, quiet and with so many threads, and say on what it computes.

    Training needs kernels of TensorFlow, so another backend that the user has chosen for Keras does not count here.

    :param threads: within one operation; with 0 TensorFlow chooses.
    :raises MissingResourceError: if TensorFlow is not installed.
    :raises TrainingError: if another backend is already at work in this process.
    """
    need("tensorflow", "tensorflow", "the network's trainer `tensorflow`")
    first = "tensorflow" not in sys.modules
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
    gpus = len(tf.config.list_physical_devices("GPU"))
    _LOG.log(
        logging.WARNING if first else logging.DEBUG,
        "blstm: TensorFlow trains on %s",
        f"{gpus} GPU" if gpus else "the processor, as it sees no GPU",
    )


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
