"""An LSTM and the likelihood of tag sequences in TensorFlow, for training with Keras.

    fused_lstm(inputs, kernel, bias)          (n_tokens, n_rows, units); several times as fast as a loop over tokens
    negative_log_likelihood(emissions, tags, begins, mask, transitions, start, end)          (n_rows,)

TensorFlow's own gradient of the LSTM kernel adds to that of the weights at each token, and takes seven times as long as
the kernel; `keras.layers.LSTM` is such a loop on a processor, and cuDNN needs a GPU. Here the loop over tokens gives
the gradients of the gates alone; those of weights and inputs are then one product each, which takes a third of the
time. The kernels are of `tf.raw_ops`, which TensorFlow does not promise to keep.

The equations (Hochreiter and Schmidhuber 1997), of a token x and the state h and cell c before it:

    input gate, candidate, forget gate, output gate = [x, h] kernel + bias     through sigmoid, tanh, sigmoid, sigmoid
    c' = forget gate * c + input gate * candidate
    h' = output gate * tanh(c')

A row holds one or more whole sentences, one after the other: where one begins, `begins` is 1, and the chain ends and
starts anew. So the likelihood of a row is the product of the likelihoods of its sentences (Lafferty 2001; Ma and Hovy
2016, section 2.3). Keras has no such loss, and TensorFlow Addons, which had one for rows of one sentence, has ended.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from keras import ops


def fused_lstm(inputs: Any, kernel: Any, bias: Any) -> Any:
    """The states of an LSTM that begins with zeros, of shape `(n_tokens, n_rows, units)`.

    :param inputs: of shape `(n_tokens, n_rows, length)`.
    :param kernel: rows for the input and then for the state, columns for input gate, candidate, forget gate and output
        gate, in this order; of shape `(length + units, 4 * units)`.
    :param bias: of shape `(4 * units,)`.
    """
    return tf.custom_gradient(_states_and_gradient)(inputs, tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias))


def _states_and_gradient(inputs: Any, kernel: Any, bias: Any) -> Any:
    # (n_rows, units): state and cell before the first token; no peepholes (Gers 2000) look from the cell at the gates.
    units = kernel.shape[1] // 4
    zeros = tf.zeros((tf.shape(inputs)[1], units))
    peephole = tf.zeros(units)
    # Each field is (n_tokens, n_rows, units): h states, cs cells, co tanh of the cells, i, f and o the gates, ci the
    # candidates. (BlockLSTMV2 takes the gates in another order than its gradient does, as of TensorFlow 2.21.)
    run = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.cast(tf.shape(inputs)[0], tf.int64), x=inputs, cs_prev=zeros, h_prev=zeros,
        w=kernel, wci=peephole, wcf=peephole, wco=peephole, b=bias,
        forget_bias=0.0, cell_clip=-1.0, use_peephole=False,
    )  # fmt: skip

    def gradient(of_states: Any) -> tuple[Any, Any, Any]:
        length = inputs.shape[2]
        weights_of_input, weights_of_state = kernel[:length], kernel[length:]
        # The kernel of one step looks at the shapes of its input and weights only.
        some_weights = tf.zeros((2 * units, 4 * units))

        def earlier(later: tuple[Any, Any, Any], token: tuple[Any, ...]) -> tuple[Any, Any, Any]:
            """One token back: the gradients of the state and the cell before it, and of its gates before sigmoid."""
            # (n_rows, units), but for `dicfo`, the gates' gradient, which is (n_rows, 4 * units): a state acts on the
            # loss by itself and through the gates of the next token.
            from_later, of_cell, _ = later
            input_gate, cell, forget_gate, output_gate, candidate, tanh_of_cell, cell_before, of_this_state = token
            step = tf.raw_ops.LSTMBlockCellGrad(
                x=zeros, cs_prev=cell_before, h_prev=zeros, w=some_weights,
                wci=peephole, wcf=peephole, wco=peephole, b=bias,
                i=input_gate, cs=cell, f=forget_gate, o=output_gate, ci=candidate, co=tanh_of_cell,
                cs_grad=of_cell, h_grad=of_this_state + from_later, use_peephole=False,
            )  # fmt: skip
            return tf.matmul(step.dicfo, weights_of_state, transpose_b=True), step.cs_prev_grad, step.dicfo

        # (n_tokens * n_rows, 4 * units): from the last token to the first, as a state acts on all later ones.
        tokens = (run.i, run.cs, run.f, run.o, run.ci, run.co, _one_later(run.cs, zeros), of_states)
        last = (zeros, zeros, tf.zeros((tf.shape(inputs)[1], 4 * units)))
        of_gates = tf.reshape(tf.scan(earlier, tokens, last, parallel_iterations=1, reverse=True)[2], (-1, 4 * units))
        # (n_tokens, n_rows, length) and (length + units, 4 * units): as gates = [inputs, states before] kernel + bias,
        # their gradient goes to the inputs through the kernel, and to the kernel through what it was multiplied with.
        of_inputs = tf.reshape(tf.matmul(of_gates, weights_of_input, transpose_b=True), tf.shape(inputs))
        read = tf.reshape(tf.concat([inputs, _one_later(run.h, zeros)], axis=2), (-1, length + units))
        return of_inputs, tf.matmul(read, of_gates, transpose_a=True), tf.reduce_sum(of_gates, axis=0)

    return run.h, gradient


def _one_later(values: Any, first: Any) -> Any:
    """What was there at the token before."""
    return tf.concat([first[None], values[:-1]], axis=0)


def log_partition(emissions: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any) -> Any:
    """The logarithm of the summed weight of all tag sequences of each row.

    The sums are products of matrices of exponentials, scaled by the best tag of the token before. With many tags this
    is several times faster than a sum over logarithms, and as exact while scores are within about 80.

    :param emissions: of shape `(n_rows, n_tokens, n_tags)`.
    :param begins: 1 where a sentence begins, of shape `(n_rows, n_tokens)`; the first token of a row is one.
    :param mask: 1 for a token and 0 for padding at the end, of shape `(n_rows, n_tokens)`.
    :param transitions: how well a tag follows another, [from, to], of shape `(n_tags, n_tags)`.
    :param start: how well a tag begins a sentence, of shape `(n_tags,)`; `end` how well it ends one.
    :returns: of shape `(n_rows,)`.
    """
    # (n_tags, 2 * n_tags): the weight of each tag after each tag, within a sentence and from one into the next.
    steps = ops.exp(transitions)
    restarts = ops.outer(ops.exp(end), ops.exp(start))
    both = ops.concatenate([steps, restarts], axis=1)
    n_tags = transitions.shape[0]

    def forward(carry: Any, token: Any) -> Any:
        # (n_rows, n_tags): the logarithm of the summed weight of all sequences up to this token that end in each tag.
        emission, begin, real = token
        best = ops.max(carry, axis=1, keepdims=True)
        sums = ops.matmul(ops.exp(carry - best), both)
        moved = ops.where(begin, sums[:, n_tags:], sums[:, :n_tags])
        score = ops.log(moved) + best + emission
        return ops.where(real, score, carry)

    # (n_tokens - 1, n_rows, n_tags or 1): without the first token, whose sequences are the tags by themselves.
    by_token = (
        ops.transpose(emissions, (1, 0, 2))[1:],
        ops.cast(ops.transpose(begins)[1:, :, None], "bool"),
        ops.cast(ops.transpose(mask)[1:, :, None], "bool"),
    )
    # `keras.ops.scan` needs a fixed number of tokens, and so a graph for each.
    last = tf.foldl(forward, by_token, start + emissions[:, 0], parallel_iterations=1)
    return ops.logsumexp(last + end, axis=1)


def path_score(emissions: Any, tags: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any) -> Any:
    """The score of one tag sequence of each row.

    :param tags: integers of shape `(n_rows, n_tokens)`; any tag where the mask is 0. The others are as for
        `log_partition`.
    :returns: of shape `(n_rows,)`.
    """
    n_tags = transitions.shape[0]
    begins, mask = ops.cast(begins, emissions.dtype), ops.cast(mask, emissions.dtype)
    # (n_rows, n_tokens): the score of the gold tag at each token, picked out by one-hot rows.
    fits = ops.sum(emissions * ops.one_hot(tags, n_tags, dtype=emissions.dtype), axis=2)
    # (n_rows, n_tokens - 1): the score of each pair of neighbours, within a sentence or from one into the next.
    before, after = tags[:, :-1], tags[:, 1:]
    follows = ops.take(ops.reshape(transitions, (-1,)), before * n_tags + after)
    restarts = ops.take(end, before) + ops.take(start, after)
    joins = begins[:, 1:] * restarts + (1 - begins[:, 1:]) * follows
    # (n_rows,): padding is at the end, so the last tag is at the number of tokens less one.
    n_tokens = ops.cast(ops.sum(mask, axis=1, keepdims=True), "int32")
    last = ops.squeeze(ops.take_along_axis(tags, n_tokens - 1, axis=1), 1)
    inner = ops.sum(fits * mask, axis=1) + ops.sum(joins * mask[:, 1:], axis=1)
    return inner + ops.take(start, tags[:, 0]) + ops.take(end, last)


def negative_log_likelihood(
    emissions: Any, tags: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any
) -> Any:
    """What training minimises: `log_partition` minus `path_score`, of shape `(n_rows,)`."""
    total = log_partition(emissions, begins, mask, transitions, start, end)
    return total - path_score(emissions, tags, begins, mask, transitions, start, end)
