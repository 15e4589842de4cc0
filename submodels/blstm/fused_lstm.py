"""An LSTM over whole sequences in TensorFlow's kernels, with a gradient that multiplies large matrices.

    fused_lstm(inputs, kernel, bias)      (n_tokens, n_rows, units); several times as fast as a loop over tokens

TensorFlow's own gradient of the kernel adds to that of the weights at each token, and takes seven times as long as the
kernel. Here the loop over tokens gives the gradients of the gates alone; those of weights and inputs are then one
product each, which takes a third of the time.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

__all__ = ["fused_lstm"]


def fused_lstm(inputs: Any, kernel: Any, bias: Any) -> Any:
    """The states of an LSTM that begins with zeros, of shape `(n_tokens, n_rows, units)`.

    :param inputs: of shape `(n_tokens, n_rows, length)`.
    :param kernel: rows for the input and then for the state, columns for the gates in the order input, new, forget,
        output; of shape `(length + units, 4 * units)`.
    :param bias: of shape `(4 * units,)`.
    """
    return tf.custom_gradient(_states_and_gradient)(inputs, tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias))


def _states_and_gradient(inputs: Any, kernel: Any, bias: Any) -> Any:
    units = kernel.shape[1] // 4
    nothing = tf.zeros((tf.shape(inputs)[1], units))
    peephole = tf.zeros(units)
    # The second version of the kernel takes the gates in another order than its gradient does (TensorFlow 2.21).
    states = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.cast(tf.shape(inputs)[0], tf.int64), x=inputs, cs_prev=nothing, h_prev=nothing,
        w=kernel, wci=peephole, wcf=peephole, wco=peephole, b=bias,
        forget_bias=0.0, cell_clip=-1.0, use_peephole=False,
    )  # fmt: skip

    def gradient(of_states: Any) -> tuple[Any, Any, Any]:
        length = inputs.shape[2]
        weights_of_input, weights_of_state = kernel[:length], kernel[length:]
        # The kernel of one step looks at the shapes of its input and weights only.
        some_weights = tf.zeros((2 * units, 4 * units))

        def earlier(later: tuple[Any, Any, Any], token: tuple[Any, ...]) -> tuple[Any, Any, Any]:
            """One token back: what its gates are to be changed by, and the state and cell before it."""
            from_later, of_cell, _ = later
            let_in, cell, forget, let_out, new, bent_cell, cell_before, of_this_state = token
            step = tf.raw_ops.LSTMBlockCellGrad(
                x=nothing, cs_prev=cell_before, h_prev=nothing, w=some_weights,
                wci=peephole, wcf=peephole, wco=peephole, b=bias,
                i=let_in, cs=cell, f=forget, o=let_out, ci=new, co=bent_cell,
                cs_grad=of_cell, h_grad=of_this_state + from_later, use_peephole=False,
            )  # fmt: skip
            return tf.matmul(step.dicfo, weights_of_state, transpose_b=True), step.cs_prev_grad, step.dicfo

        tokens = (
            states.i, states.cs, states.f, states.o, states.ci, states.co, _one_later(states.cs, nothing), of_states
        )  # fmt: skip
        last = (nothing, nothing, tf.zeros((tf.shape(inputs)[1], 4 * units)))
        of_gates = tf.reshape(tf.scan(earlier, tokens, last, parallel_iterations=1, reverse=True)[2], (-1, 4 * units))
        read = tf.reshape(tf.concat([inputs, _one_later(states.h, nothing)], axis=2), (-1, length + units))
        of_inputs = tf.reshape(tf.matmul(of_gates, weights_of_input, transpose_b=True), tf.shape(inputs))
        return of_inputs, tf.matmul(read, of_gates, transpose_a=True), tf.reduce_sum(of_gates, axis=0)

    return states.h, gradient


def _one_later(values: Any, first: Any) -> Any:
    """What was there at the token before."""
    return tf.concat([first[None], values[:-1]], axis=0)
