"""The network of the BLSTM-CNN-CRF submodel in NumPy, so that finding PHI needs no TensorFlow.

    emissions_of(weights, notes, characters)      one array of shape (n_tokens, n_tags) for each note

It computes what `submodels.network.TaggingNetwork.emissions` does; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from submodels.blstm_batches import Batch, Note, batch_of, batches_of, rows_of

__all__ = ["batch_emissions", "emissions_of"]

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]

_BATCH_TOKENS = 8192
_WORDS_AT_ONCE = 2048


def emissions_of(weights: Weights, notes: Sequence[Note], characters: NDArray[np.int32], window: int) -> list[Floats]:
    """How well each tag fits each token.

    :param weights: by the names of `network.first_weights`.
    :param notes: as the encoder gives them.
    :param characters: the spelling of all words of the notes, as `Encoder.spell` gives it.
    :param window: as in training; see `rows_of`.
    :returns: for each note an array of shape `(n_tokens, n_tags)`.
    """
    found = [np.zeros((len(note.words), weights["dense"].shape[1]), dtype=np.float32) for note in notes]
    spellings = spelling_vectors(weights, characters)
    for rows in batches_of(rows_of(notes, window=window), tokens=_BATCH_TOKENS):
        batch = batch_of(rows, notes)
        for (number, first, last), row in zip(rows, batch_emissions(weights, batch, spellings), strict=True):
            found[number][first:last] = row[: last - first]
    return found


def batch_emissions(weights: Weights, batch: Batch, spellings: Floats) -> Floats:
    """How well each tag fits each token of a batch, of shape `(n_rows, n_tokens, n_tags)`.

    :param spellings: the vector of each word that `batch["spellings"]` names.
    """
    features = weights["feature"][batch["features"]]
    parts = [
        weights["word"][batch["words"]],
        spellings[batch["spellings"]],
        features.reshape(*features.shape[:2], -1),
    ]
    forward = np.ascontiguousarray(np.concatenate(parts, axis=2).transpose(1, 0, 2))
    places = _backward_places(forward.shape[0], batch["lengths"])
    rows = np.arange(forward.shape[1])
    ahead = lstm(forward, weights["forward"], weights["forward_bias"])
    back = lstm(forward[places, rows], weights["backward"], weights["backward_bias"])[places, rows]
    hidden = np.concatenate([ahead, back], axis=2)
    emissions: Floats = hidden @ weights["dense"] + weights["dense_bias"]
    return emissions.transpose(1, 0, 2)


def spelling_vectors(weights: Weights, characters: NDArray[np.int32]) -> Floats:
    """The answer of the character CNN for each word, of shape `(n_words, n_channels)`.

    A convolution over embedded characters is a sum, over the places of its kernel, of a table with a row for each
    character.
    """
    kernels = sorted((w.shape[0], name) for name, w in weights.items() if name.startswith("kernel") and w.ndim == 3)
    answers = []
    for width, name in kernels:
        tables = [weights["character"] @ place for place in weights[name]]
        n_places = characters.shape[1] - width + 1
        strongest = [
            np.max(sum(table[words[:, j : j + n_places]] for j, table in enumerate(tables)), axis=1)
            for words in np.split(characters, range(_WORDS_AT_ONCE, len(characters), _WORDS_AT_ONCE))
        ]
        answers.append(np.concatenate(strongest) + weights[f"{name}_bias"])
    return np.maximum(np.concatenate(answers, axis=1), 0).astype(np.float32)


def lstm(inputs: Floats, kernel: Floats, bias: Floats) -> Floats:
    """An LSTM over `(n_tokens, n_rows, length)`, its gates in the order input, new, forget, output."""
    n_tokens, n_rows, length = inputs.shape
    units = kernel.shape[1] // 4
    # A sigmoid is a hyperbolic tangent of half the value, which never overflows.
    halves = np.repeat(np.array([0.5, 1.0, 0.5, 0.5], dtype=np.float32), units)
    gates_of_inputs = (inputs.reshape(-1, length) @ (kernel[:length] * halves) + bias * halves).reshape(
        n_tokens, n_rows, 4 * units
    )
    recurrent = kernel[length:] * halves
    hidden = np.zeros((n_tokens, n_rows, units), dtype=np.float32)
    before = cell = np.zeros((n_rows, units), dtype=np.float32)
    for i in range(n_tokens):
        gates = np.tanh(gates_of_inputs[i] + before @ recurrent)
        let_in, new, forget, let_out = (gates[:, k * units : (k + 1) * units] for k in range(4))
        cell = (0.5 + 0.5 * let_in) * new + (0.5 + 0.5 * forget) * cell
        before = hidden[i] = (0.5 + 0.5 * let_out) * np.tanh(cell)
    return hidden


def _backward_places(n_tokens: int, lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Which token is read at each step from the last to the first, padding left in place: `(n_tokens, n_rows)`."""
    places = np.arange(n_tokens, dtype=np.int32)[:, None]
    return np.where(places < lengths, lengths - 1 - places, places).astype(np.int32)
