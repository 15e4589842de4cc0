"""The network up to the LSTM's output by TensorFlow, which can use a GPU, in place of `gradients.read`.

load_tensorflow(threads=1)
output, back = read(weights, batch, before, after, kept)
of_before, of_after, gradients = back(of_output)
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from phistack.features.arrays import Floats32, Integers32
from phistack.features.errors import need
from phistack.submodels.blstm.gradients import FlatBatch, ReadBack
from phistack.submodels.blstm.layers import characters_of
from phistack.submodels.blstm.lstm import DIRECTIONS
from phistack.submodels.blstm.weights import CHARACTERS, NetworkWeights
from phistack.submodels.chain.crf import Lines

_LOG = logging.getLogger("phistack")
_READ = ("character", "kernel", *DIRECTIONS)
"""How the names of the weights used here begin."""


def read(
    weights: NetworkWeights, batch: FlatBatch, before: Floats32, after: Floats32, kept: Floats32
) -> tuple[Floats32, ReadBack]:
    """Like `gradients.read`."""
    import tensorflow as tf

    own = {name: tf.constant(value) for name, value in weights.items() if name.startswith(_READ)}
    sources = [tf.constant(before), tf.constant(after), *own.values()]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        spellings = tf.gather(_spelled(batch.characters, own), batch.spellings)
        output = _blstm(tf.concat([sources[0], spellings, sources[1]], axis=1) * kept, batch.rows, own)

    def back(of_output: Floats32) -> tuple[Floats32, Floats32, dict[str, Floats32]]:
        zero = tf.UnconnectedGradients.ZERO
        found = tape.gradient(output, sources, output_gradients=tf.constant(of_output), unconnected_gradients=zero)
        of_before, of_after, *of_own = (tf.convert_to_tensor(gradient).numpy() for gradient in found)
        return of_before, of_after, dict(zip(own, of_own, strict=True))

    return output.numpy(), back


def _spelled(characters: Integers32, weights: Mapping[str, Any]) -> Any:
    """Like `layers.spelled`, with the weights as tensors."""
    import tensorflow as tf

    if f"{CHARACTERS}forward" in weights:
        ids, edges = characters_of(characters)
        states = _blstm(tf.gather(weights["character"], ids), Lines.of(edges, len(ids)), weights, CHARACTERS)
        ahead, back = tf.split(states, 2, axis=1)
        return tf.concat([tf.gather(ahead, edges[1:] - 1), tf.gather(back, edges[:-1])], axis=1)
    # (n_words, n_characters, size) -> for each kernel (n_words, channels): the strongest of the windows of a word.
    embedded = tf.gather(weights["character"], characters)
    answers = [
        tf.reduce_max(tf.nn.conv1d(embedded, kernel, 1, "VALID"), axis=1) + weights[f"{name}_bias"]
        for name, kernel in weights.items()
        if name.startswith("kernel") and not name.endswith("_bias")
    ]
    return tf.nn.relu(tf.concat([embedded[:, 0, :0], *answers], axis=1))


def _blstm(inputs: Any, rows: Lines, weights: Mapping[str, Any], before: str = "") -> Any:
    """Like `BidirectionalLstm`, of shape `(n, 2 * units)`; :param before: prefix of its weights."""
    import tensorflow as tf

    lengths = rows.last - rows.first + 1
    # (n_steps, n_rows): the tokens of each row, the last one over and over after its end.
    tokens = np.minimum(rows.first + np.arange(lengths.max())[:, None], rows.last)
    # (n, 2): the step and the row of each token.
    places = np.stack([np.arange(len(rows.line)) - rows.first[rows.line], rows.line], axis=1)
    forward = tf.gather(inputs, tokens)
    # The backward LSTM begins at each row's last token.
    backward = tf.reverse_sequence(forward, lengths, seq_axis=0, batch_axis=1)
    ahead, back = (
        _lstm(read, weights[f"{before}{direction}"], weights[f"{before}{direction}_bias"])
        for direction, read in zip(DIRECTIONS, (forward, backward), strict=True)
    )
    back = tf.reverse_sequence(back, lengths, seq_axis=0, batch_axis=1)
    return tf.gather_nd(tf.concat([ahead, back], axis=2), places)


def _lstm(inputs: Any, kernel: Any, bias: Any) -> Any:
    """The states of an LSTM over `(n_steps, n_rows, length)`, which begins with zeros: `(n_steps, n_rows, units)`."""
    import tensorflow as tf

    # TensorFlow does not promise to keep `tf.raw_ops`, but an LSTM of its other operations is many times slower. (As of
    # TensorFlow 2.21, the order of the gates in BlockLSTMV2 differs from that in its gradient.)
    units = kernel.shape[1] // 4
    zeros, peephole = tf.zeros((inputs.shape[1], units)), tf.zeros(units)
    return tf.raw_ops.BlockLSTM(
        seq_len_max=tf.constant(inputs.shape[0], tf.int64), x=inputs, cs_prev=zeros, h_prev=zeros,
        w=kernel, wci=peephole, wcf=peephole, wco=peephole, b=bias,
        forget_bias=0.0, cell_clip=-1.0, use_peephole=False,
    ).h  # fmt: skip


def load_tensorflow(threads: int) -> None:
    """Import TensorFlow, which takes seconds, without its chatter, and log which device it uses.

    :param threads: within one operation; with 0 TensorFlow chooses.
    :raises MissingResourceError: if TensorFlow is not installed.
    """
    need("tensorflow", "tensorflow", "the network's trainer `tensorflow`")
    first = "tensorflow" not in sys.modules
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Otherwise TensorFlow reports on standard error how it changes floating-point sums.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    with _nothing_on_standard_error():
        import tensorflow as tf
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
