"""Both directions of an LSTM over many rows at once, forwards and back, for training.

    states = BidirectionalLstm(inputs, rows, weights)          states.output: (n_tokens, 2 * units)
    of_inputs, gradients = states.back(of_output, weights)

Tokens lie end to end, without padding. The first tokens of all rows are computed together, then the second tokens of
all that have one, and so on (`submodels.chain.crf`); the backward direction counts from the last token of each row.
The inputs enter the gates by one matrix product for all tokens, as do the gradients of the weights; only what depends
on the previous state is in the loop. No library does this on a processor: Keras and PyTorch loop over padded rows, and
their graphs take seconds to load and compile, which is longer than a small training.

The equations (Hochreiter and Schmidhuber 1997), of a token x and the state h and cell c before it:

    input gate, candidate, forget gate, output gate = [x, h] kernel + bias, through sigmoid, tanh, sigmoid, sigmoid
    c' = forget gate * c + input gate * candidate
    h' = output gate * tanh(c')
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from phistack.features.arrays import Floats32, Integers
from phistack.submodels.blstm.weights import NetworkWeights
from phistack.submodels.chain.crf import Lines

DIRECTIONS = ("forward", "backward")


class BidirectionalLstm:
    """A run over rows in both directions.

    :param inputs: of shape `(n, length)`, in the order of the text.
    :param rows: the rows of the batch.
    """

    def __init__(self, inputs: Floats32, rows: Lines, weights: NetworkWeights) -> None:
        (n, length), units = inputs.shape, weights["forward_bias"].size // 4
        # (2, n): the place of each token in the order of the steps of a direction.
        places = np.stack([rows.place, _places_from_the_end(rows)])
        # (2, n, length) and (2, n, 4 * units), direction by direction with the tokens in the order of its steps: the
        # inputs' part of the gates, before sigmoid and tanh.
        ordered = np.empty((2, n, length), dtype=np.float32)
        gates = np.empty((2, n, 4 * units), dtype=np.float32)
        for direction, name in enumerate(DIRECTIONS):
            ordered[direction][places[direction]] = inputs
            np.matmul(ordered[direction], weights[name][:length], out=gates[direction])
            gates[direction] += weights[f"{name}_bias"]
        # As sigmoid(x) = tanh(x / 2) / 2 + 1 / 2, one tanh serves all gates if all but the candidate are halved.
        halved = np.repeat(np.array([0.5, 1.0, 0.5, 0.5], dtype=np.float32), units)
        raised = 1 - halved
        recurrent = _recurrent(weights, length) * halved
        gates *= halved
        # (2, n, units) each; `tanhs` are those of the cells.
        cells, tanhs, states = (np.empty((2, n, units), dtype=np.float32) for _ in range(3))
        before: slice | None = None
        for now in _steps(rows, n):
            of_step = gates[:, now]
            earlier = slice(before.start, before.start + now.stop - now.start) if before else None
            if earlier:
                of_step += states[:, earlier] @ recurrent
            np.tanh(of_step, out=of_step)
            of_step *= halved
            of_step += raised
            input_gate, candidate, forget_gate, output_gate = _parts(of_step)
            cell = np.multiply(input_gate, candidate, out=cells[:, now])
            if earlier:
                cell += forget_gate * cells[:, earlier]
            np.multiply(output_gate, np.tanh(cell, out=tanhs[:, now]), out=states[:, now])
            before = now
        self.rows, self.places, self.inputs, self.gates = rows, places, ordered, gates
        self.cells, self.tanhs, self.states = cells, tanhs, states

    @property
    def output(self) -> Floats32:
        """The states of both directions side by side, in the order of the text, of shape `(n, 2 * units)`."""
        return np.concatenate([states[places] for states, places in zip(self.states, self.places, strict=True)], axis=1)

    def back(self, of_output: Floats32, weights: NetworkWeights) -> tuple[Floats32, Mapping[str, Floats32]]:
        """The gradients of the inputs, in the order of the text, and of the weights by name.

        :param of_output: the gradient of `output`.
        """
        length = self.inputs.shape[2]
        of_gates = self._of_gates(of_output, _recurrent(weights, length))
        # (n - n_rows,): the states before those of all steps but the first.
        earlier = self.rows.before
        of_inputs = np.zeros(self.inputs.shape[1:], dtype=np.float32)
        gradients: dict[str, Floats32] = {}
        for direction, name in enumerate(DIRECTIONS):
            inputs, states, gates = self.inputs[direction], self.states[direction], of_gates[direction]
            gradients[name] = np.concatenate([inputs.T @ gates, states[earlier].T @ gates[len(gates) - len(earlier) :]])
            gradients[f"{name}_bias"] = gates.sum(axis=0)
            of_inputs += (gates @ weights[name][:length].T)[self.places[direction]]
        return of_inputs, gradients

    def _of_gates(self, of_output: Floats32, recurrent: Floats32) -> Floats32:
        """The gradients of the gates before sigmoid and tanh, of the shape of `gates`."""
        n, units = self.states.shape[1:]
        of_states = np.empty_like(self.states)
        for direction, places in enumerate(self.places):
            of_states[direction][places] = of_output[:, direction * units : (direction + 1) * units]
        # The factors that need no gradient of a later token.
        input_gate, candidate, forget_gate, output_gate = _parts(self.gates)
        to_cell = output_gate * (1 - self.tanhs * self.tanhs)
        of_gates = np.empty_like(self.gates)
        of_parts = _parts(of_gates)
        np.multiply(input_gate * (1 - input_gate), candidate, out=of_parts[0])
        np.multiply(input_gate, 1 - candidate * candidate, out=of_parts[1])
        np.multiply(forget_gate, 1 - forget_gate, out=of_parts[2])
        first = n - len(self.rows.before)
        of_parts[2][:, :first] = 0
        of_parts[2][:, first:] *= self.cells[:, self.rows.before]
        np.multiply(output_gate * (1 - output_gate), self.tanhs, out=of_parts[3])
        # (2, n, 3, units): the gates that act on the cell.
        on_cell = of_gates.reshape(2, n, 4, units)[:, :, :3]
        transposed = np.ascontiguousarray(recurrent.transpose(0, 2, 1))
        later: slice | None = None
        for now in reversed(_steps(self.rows, n)):
            of_state, of_cell = of_states[:, now], to_cell[:, now]
            n_later = later.stop - later.start if later else 0
            if later:
                of_state[:, :n_later] += of_gates[:, later] @ transposed
            of_cell *= of_state
            if later:
                # The cell reaches the next one through that one's forget gate.
                of_cell[:, :n_later] += to_cell[:, later] * forget_gate[:, later]
            on_cell[:, now] *= of_cell[:, :, None]
            of_parts[3][:, now] *= of_state
            later = now
        return of_gates


def _parts(gates: Floats32) -> list[Floats32]:
    """Input gate, candidate, forget gate and output gate, as views."""
    units = gates.shape[-1] // 4
    return [gates[..., begin : begin + units] for begin in range(0, 4 * units, units)]


def _recurrent(weights: NetworkWeights, length: int) -> Floats32:
    """The kernels from the previous state to the gates, of shape `(2, units, 4 * units)`."""
    return np.stack([weights[name][length:] for name in DIRECTIONS])


def _steps(rows: Lines, n: int) -> list[slice]:
    edges = [*rows.steps.tolist(), n]
    return [slice(begin, end) for begin, end in pairwise(edges) if end > begin]


def _places_from_the_end(rows: Lines) -> Integers:
    """The place of each token in the order of the steps, with each row read from its last token."""
    from_the_end = rows.last[rows.line] - np.arange(len(rows.line))
    places: Integers = rows.steps[from_the_end] + rows.line
    return places
