"""The network of the BLSTM-CNN-CRF submodel in NumPy, for annotating.

    blocks = blocks_of(encoder.columns)
    emissions_of(networks, notes, characters, blocks, window=64)    one array of shape (n_tokens, n_tags) for each note
    states_in(models, [(table, 0, len(table))])                     the states of character language models likewise

It computes the same emissions as training; a test compares them. Three things make it fast. The input to the gates of
the LSTM is a sum over blocks (the word with its own columns, the nearest key, the place in the line), so each distinct
value of a block is multiplied with the weights only once. The rows of a batch are sorted by length, so finished
rows drop out and nothing is padded. A batch is so small that its gates and state fit in the cache of one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.features.columns.table import FeatureTable
from phistack.submodels.blstm.layers import spelled
from phistack.submodels.blstm.lstm import BidirectionalLstm
from phistack.submodels.blstm.rows import EncodedNote, NetworkInput
from phistack.submodels.blstm.weights import NetworkWeights
from phistack.submodels.chain.crf import Lines

if TYPE_CHECKING:
    from phistack.features.character_models import CharacterModels

Inputs = Sequence[tuple[Floats32, Integers]]
"""For each block, the contributions of its distinct values to the gates, and which of them each token has."""

SentenceRun = tuple[FeatureTable, int, int]
"""Some whole sentences of a note: first token, token after the last."""

_TOKENS_AT_ONCE = 40_000
_WORDS_AT_ONCE = 2048

_SENTENCES_AT_ONCE = 128


def emissions_of(
    networks: Sequence[NetworkWeights],
    notes: Sequence[EncodedNote],
    characters: Integers32,
    blocks: Sequence[Sequence[int]],
    window: int,
) -> list[Floats32]:
    """The score of each tag at each token, averaged over networks of one encoder.

    :param networks: the weights of each.
    :param notes: as the encoder gives them.
    :param characters: the spelling of all words of the notes, as `Encoder.spell` gives it.
    :param blocks: of the feature columns, as `blocks_of` gives them.
    :param window: as in training; see `rows_of`.
    :returns: for each note an array of shape `(n_tokens, n_tags)`.
    """
    found: list[Floats32] = []
    for some in _parts(notes):
        edges = np.cumsum([0, *(len(note.words) for note in some)]).tolist()
        if edges[-1]:
            reading = NetworkInput(some, blocks, window)
            of_networks = [token_emissions(weights, reading, characters) for weights in networks]
            emissions = np.stack(of_networks).mean(axis=0)
        else:
            emissions = np.zeros((0, networks[0]["dense"].shape[1]), dtype=np.float32)
        found += [emissions[first:last] for first, last in pairwise(edges)]
    return found


def token_emissions(weights: NetworkWeights, reading: NetworkInput, characters: Integers32) -> Floats32:
    """The score of each tag at each token, of shape `(n_tokens, n_tags)`."""
    units = weights["forward_bias"].size // 4
    parts = _inputs(weights, reading, spelling_vectors(weights, characters))
    # (2 * units + columns * size, n_hidden): the hidden layer that joins the features to the states, if there is one.
    last = "hidden" if "hidden" in weights else "dense"
    ahead, back, of_features = np.split(weights[last], [units, 2 * units])
    emissions = np.tile(weights[f"{last}_bias"], (len(reading.words), 1))
    if len(of_features):
        emissions += weights["feature"][reading.features].reshape(len(emissions), -1) @ of_features
    for direction, dense in (("forward", ahead), ("backward", back)):
        # (n_values, 4 * units) for each block: what its distinct values add to the gates, the first with the bias.
        kernel, bias = halved(weights[direction]), halved(weights[f"{direction}_bias"])
        tables = [values @ kernel[rows] for values, rows in parts]
        tables[0] += bias
        # (n_states, 4 * units): the states of language models come last in the input, and differ at each token.
        of_states = kernel[len(kernel) - units - reading.states.shape[1] : -units]
        for batch in reading.batches:
            # (n_tokens of the batch, units) @ (units, n_tags): the dense layer over both directions is a sum over them.
            order = batch.ahead if direction == "forward" else batch.back
            inputs = [(table, block.places[order]) for table, block in zip(tables, reading.blocks, strict=True)]
            if len(of_states):
                inputs.append((reading.states[order] @ of_states, np.arange(len(order))))
            emissions[order] += lstm(inputs, batch.sizes, kernel[-units:]) @ dense
    return np.tanh(emissions) @ weights["dense"] + weights["dense_bias"] if last == "hidden" else emissions


def _inputs(weights: NetworkWeights, reading: NetworkInput, spellings: Floats32) -> list[tuple[Floats32, Integers]]:
    """For each block its distinct inputs, and the rows of the LSTM's kernel that they are multiplied with."""
    size = weights["feature"].shape[1]
    of_word = weights["word"].shape[1] + spellings.shape[1]
    found = []
    for number, block in enumerate(reading.blocks):
        # (n_values, n_columns of the block * size): the vectors of the columns' values side by side.
        features = weights["feature"][reading.features[block.tokens[:, None], block.columns]]
        values = [features.reshape(len(features), -1)]
        rows = [of_word + np.arange(column * size, (column + 1) * size) for column in block.columns]
        if number == 0:
            # The first block begins with the vectors of word and spelling, as the input of the LSTM does.
            values = [weights["word"][reading.words[block.tokens]], spellings[reading.spellings[block.tokens]], *values]
            rows = [np.arange(of_word), *rows]
        found.append((np.concatenate(values, axis=1), np.concatenate(rows)))
    return found


def spelling_vectors(weights: NetworkWeights, characters: Integers32) -> Floats32:
    """The vectors of words by the character CNN or LSTM, of shape `(n_words, length)`.

    :param characters: as `Encoder.spell` gives it.
    """
    parts = np.split(characters, range(_WORDS_AT_ONCE, len(characters), _WORDS_AT_ONCE))
    return np.concatenate([spelled(part, weights)[0] for part in parts])


def lstm(inputs: Inputs, sizes: Sequence[int], recurrent: Floats32) -> Floats32:
    """An LSTM over rows of a batch; see `submodels.blstm.lstm` for its equations.

    A sigmoid is computed as `0.5 + 0.5 * tanh(x / 2)`, which never overflows; all weights must be `halved` for this.

    :param inputs: the sum over these of `table[places]` enters the gates; `places` in the order of the steps.
    :param sizes: how many rows there are at each step; the first rows of a step are those of the next.
    :param recurrent: from the state to input gate, candidate, forget gate and output gate: `(units, 4 * units)`.
    :returns: the state at each token, `(n_tokens, units)`, in the order of the steps.
    """
    units = len(recurrent)
    hidden = np.empty((sum(sizes), units), dtype=np.float32)
    all_gates, all_more = (np.empty((sizes[0], 4 * units), dtype=np.float32) for _ in range(2))
    before = np.zeros((sizes[0], units), dtype=np.float32)
    cells = before.copy()
    now = 0
    for n in sizes:
        # (n, 4 * units): from the previous states, and from each block of the input. All steps share buffers, as new
        # ones would not be in the cache.
        gates, more, cell = all_gates[:n], all_more[:n], cells[:n]
        np.matmul(before[:n], recurrent, out=gates)
        for table, places in inputs:
            gates += np.take(table, places[now : now + n], axis=0, out=more, mode="clip")
        np.tanh(gates, out=gates)
        input_gate, candidate, forget_gate, output_gate = (gates[:, k * units : (k + 1) * units] for k in range(4))
        # (n, units): the cell, and then the state.
        cell *= 0.5 + 0.5 * forget_gate
        cell += (0.5 + 0.5 * input_gate) * candidate
        before = hidden[now : now + n]
        np.multiply(0.5 + 0.5 * output_gate, np.tanh(cell), out=before)
        now += n
    return hidden


def halved(kernel: Floats32) -> Floats32:
    """Weights of input gate, candidate, forget gate and output gate, with those of the three sigmoids halved."""
    halved: Floats32 = kernel * np.repeat(np.array([0.5, 1.0, 0.5, 0.5], dtype=np.float32), kernel.shape[-1] // 4)
    return halved


def _parts(notes: Sequence[EncodedNote]) -> Iterator[Sequence[EncodedNote]]:
    """Consecutive notes, in groups of about `_TOKENS_AT_ONCE` tokens."""
    first = n_tokens = 0
    for after, note in enumerate(notes, 1):
        n_tokens += len(note.words)
        if n_tokens >= _TOKENS_AT_ONCE or after == len(notes):
            yield notes[first:after]
            first, n_tokens = after, 0


def states_in(models: CharacterModels, runs: Sequence[SentenceRun]) -> list[Floats32]:
    """Contextual string embeddings (Akbik 2018) of the tokens of each run, of shape `(n_tokens, models.size)`.

    A token's vector is the forward state after its last character, which has read the sentence so far, and the backward
    state before its first. Each sentence is read alone.
    """
    found = [np.zeros((0, models.size), dtype=np.float32)]
    sentences = [sentence for run in runs for sentence in _sentences(*run)]
    for number in range(0, len(sentences), _SENTENCES_AT_ONCE):
        some = sentences[number : number + _SENTENCES_AT_ONCE]
        # (n,): the characters of all sentences end to end, each between two line ends.
        ids = [models.ids(text) for text, _, _ in some]
        bounds = np.cumsum([0, *map(len, ids)])
        rows, vectors = Lines.of(bounds, int(bounds[-1])), models.weights["word"][np.concatenate(ids)]
        output = BidirectionalLstm(vectors, rows, models.weights).output
        # (n_tokens,): the places of the first and last character of each token.
        first = np.concatenate([begin + 1 + starts for begin, (_, starts, _) in zip(bounds, some, strict=False)])
        last = np.concatenate([begin + ends for begin, (_, _, ends) in zip(bounds, some, strict=False)])
        found.append(np.concatenate([output[last, : models.units], output[first, models.units :]], axis=1))
    edges = np.cumsum([0, *(last - first for _, first, last in runs)]).tolist()
    every = np.concatenate(found)
    return [every[a:b] for a, b in pairwise(edges)]


def _sentences(table: FeatureTable, first: int, last: int) -> Iterator[tuple[str, Integers, Integers]]:
    """The text of each sentence from its first token to its last, and where in it tokens begin and end."""
    starts, ends = (places.astype(np.int64) for places in table.offsets)
    for a, b in pairwise(np.unique(np.clip(table.sentences, first, last)).tolist()):
        at = int(starts[a])
        yield table.document.text[at : int(ends[b - 1])], starts[a:b] - at, ends[a:b] - at
