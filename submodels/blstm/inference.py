"""The network of the BLSTM-CNN-CRF submodel in NumPy, so that finding PHI needs no TensorFlow.

    blocks = blocks_of(encoder.columns)
    emissions_of(networks, notes, characters, blocks, window=64)    one array of shape (n_tokens, n_tags) for each note
    reading = NetworkInput.of(notes, blocks, window=64)             what several networks over the same notes can share
    token_emissions(weights, reading, characters)                   (n_tokens, n_tags), all notes end to end

It computes what `submodels.blstm.network.TaggingNetwork.emissions` does; a test holds the two together. Three things
make it fast. What enters the gates of the LSTM is a sum over blocks of the input (the word with what its columns say of
it, the nearest key, the place in the line), so each distinct value of a block is multiplied with the weights only once.
The rows of a batch are sorted by length, so that rows at their end drop out and nothing is padded. And a batch is so
small that its gates and state stay in the cache of one core. Keras, which trains the network, does none of these and
takes seconds to start; `benchmarks/decoding.py` measures both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from features.arrays import Floats32, Integers, Integers32
from submodels.blstm.character_lstm import CharacterLstm
from submodels.blstm.encoder import EncodedNote, TokenRange, rows_of, states_of
from submodels.blstm.weights import CHARACTERS, NetworkWeights

__all__ = [
    "NetworkInput",
    "RowBatch",
    "blocks_of",
    "emissions_of",
    "halved",
    "lstm",
    "spelling_vectors",
    "token_emissions",
]

Inputs = Sequence[tuple[Floats32, Integers]]
"""For each block, what its distinct values add to the gates, and which of them each token has."""

_TOGETHER = (
    ("key", "key_distance", "key_in_document", "section", "document_position"),
    ("line_start", "line_end", "line_position", "line_from_start", "line_from_end", "line_length", "times_in_document"),
)
"""Columns that have few combinations of values in a note. It decides on the speed and on nothing else."""

_TOKENS_AT_ONCE = 40_000
_ROWS_AT_ONCE = 128
_WORDS_AT_ONCE = 2048


def blocks_of(columns: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The places of the columns that are looked up together: first those that nearly follow from the word.

    Within a block few combinations of values occur, and each of them is multiplied with the weights once.
    """
    place = {name: i for i, name in enumerate(columns)}
    others = [tuple(place[name] for name in names if name in place) for names in _TOGETHER]
    elsewhere = {i for block in others for i in block}
    return tuple(i for i in place.values() if i not in elsewhere), *others


@dataclass(frozen=True)
class Block:
    """The distinct values of some parts of the input.

    :param columns: places of the feature columns in it.
    :param tokens: a token that has the value, for each distinct value: `(n_values,)`.
    :param places: the place among the distinct values, for each token: `(n_tokens,)`.
    """

    columns: tuple[int, ...]
    tokens: Integers = field(repr=False)
    places: Integers = field(repr=False)


@dataclass(frozen=True)
class RowBatch:
    """Rows that are read at once, their tokens in the order of the steps: first tokens, then second tokens, and so on.

    :param sizes: how many rows have a token at each step; never rising.
    :param ahead: the token numbers from the first of each row to the last, `(n_tokens,)`.
    :param back: the same from the last of each row to the first.
    """

    sizes: list[int]
    ahead: Integers = field(repr=False)
    back: Integers = field(repr=False)

    @classmethod
    def of(cls, first: Integers, last: Integers) -> RowBatch:
        """From the first token of each row and the token after its last, the longest row first."""
        # (n_steps,): as rows are sorted by length, those that have a step are the first ones.
        steps = np.arange(int((last - first).max()))
        sizes = [int(n) for n in (last - first > steps[:, None]).sum(axis=1)]
        # (n_tokens,) each: step by step, and within a step row by row.
        ahead = np.concatenate([first[:n] + step for step, n in enumerate(sizes)])
        back = np.concatenate([last[:n] - 1 - step for step, n in enumerate(sizes)])
        return cls(sizes, ahead, back)


@dataclass(frozen=True)
class NetworkInput:
    """What depends on notes alone: the distinct values of their tokens, and the rows in which they are read.

    :param words: word ids of all notes end to end, `(n_tokens,)`.
    :param spellings: likewise the numbers of the words.
    :param features: likewise the feature values, `(n_tokens, n_columns)`.
    :param blocks: the blocks of the input; the first one has the word in it.
    :param batches: together they hold every token once.
    :param states: what language models say of each token, `(n_tokens, n_states)`.
    """

    words: Integers32 = field(repr=False)
    spellings: Integers32 = field(repr=False)
    features: Integers32 = field(repr=False)
    blocks: tuple[Block, ...]
    batches: tuple[RowBatch, ...]
    states: Floats32 = field(repr=False)

    @classmethod
    def of(cls, notes: Sequence[EncodedNote], blocks: Sequence[Sequence[int]], window: int) -> NetworkInput:
        """Read notes of one encoder, at least one of them with a token.

        :param blocks: every feature column in one of them, as `blocks_of` gives them.
        :param window: see `rows_of`.
        """
        words, spellings = (np.concatenate([getattr(note, name) for note in notes]) for name in ("words", "spellings"))
        features = np.concatenate([note.features for note in notes])
        of_word, *others = blocks
        distinct = (
            _block(of_word, [spellings, *features.T[list(of_word)]]),
            *(_block(columns, list(features.T[list(columns)])) for columns in others if columns),
        )
        batches = tuple(_batches(rows_of(notes, window=window), notes))
        states = np.concatenate([states_of(note, slice(0, len(note.words))) for note in notes])
        return cls(words, spellings, features, distinct, batches, states)


def _batches(rows: Sequence[TokenRange], notes: Sequence[EncodedNote]) -> Iterator[RowBatch]:
    # (n_rows, 3): first token and token after the last within the note, number of the note; the longest row first.
    begins = np.cumsum([0, *(len(note.words) for note in notes)])
    edges = np.array(sorted(((first, last, number) for number, first, last in rows), key=lambda row: row[0] - row[1]))
    # (n_rows,) each: the same as tokens of all notes end to end.
    first, last = (edges[:, i] + begins[edges[:, 2]] for i in range(2))
    for i in range(0, len(first), _ROWS_AT_ONCE):
        yield RowBatch.of(first[i : i + _ROWS_AT_ONCE], last[i : i + _ROWS_AT_ONCE])


def _block(columns: Sequence[int], values: Sequence[Integers32]) -> Block:
    """Tokens with equal values put together.

    The values of a token are read as the digits of one number; where it grows too long, the numbers so far are first
    replaced by their places in order.
    """
    numbers, most = np.zeros(len(values[0]), dtype=np.int64), 1
    for column in values:
        least = int(column.min())
        base = int(column.max()) - least + 1
        if most * base >= 2**62:
            numbers = np.unique(numbers, return_inverse=True)[1]
            most = len(numbers)
        numbers, most = numbers * base + (column - least), most * base
    # (n_values,) and (n_tokens,): of the tokens with a value any may stand for it.
    distinct, places = np.unique(numbers, return_inverse=True)
    tokens = np.zeros(len(distinct), dtype=np.int64)
    tokens[places] = np.arange(len(places))
    return Block(tuple(columns), tokens, places)


def emissions_of(
    networks: Sequence[NetworkWeights],
    notes: Sequence[EncodedNote],
    characters: Integers32,
    blocks: Sequence[Sequence[int]],
    window: int,
) -> list[Floats32]:
    """How well each tag fits each token, as the mean over some networks that read the same.

    :param networks: the weights of each, by the names of `network.first_weights`.
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
            reading = NetworkInput.of(some, blocks, window)
            of_networks = [token_emissions(weights, reading, characters) for weights in networks]
            emissions = np.stack(of_networks).mean(axis=0)
        else:
            emissions = np.zeros((0, networks[0]["dense"].shape[1]), dtype=np.float32)
        found += [emissions[first:last] for first, last in pairwise(edges)]
    return found


def token_emissions(weights: NetworkWeights, reading: NetworkInput, characters: Integers32) -> Floats32:
    """How well each tag fits each token of a reading, of shape `(n_tokens, n_tags)`."""
    units = weights["forward_bias"].size // 4
    parts = _inputs(weights, reading, spelling_vectors(weights, characters))
    # (2 * units + columns * size, n_hidden): with a layer that joins the features to the states, that comes first.
    last = "hidden" if "hidden" in weights else "dense"
    ahead, back, of_features = np.split(weights[last], [units, 2 * units])
    emissions = np.tile(weights[f"{last}_bias"], (len(reading.words), 1))
    if len(of_features):
        emissions += weights["feature"][reading.features].reshape(len(emissions), -1) @ of_features
    for direction, dense in (("forward", ahead), ("backward", back)):
        # (n_values, 4 * units) for each block: what its distinct values add to the gates. One of them brings the bias.
        kernel, bias = halved(weights[direction]), halved(weights[f"{direction}_bias"])
        tables = [values @ kernel[rows] for values, rows in parts]
        tables[0] += bias
        # (n_states, 4 * units): the states of language models differ at each token, and come last in the input.
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
            # The first block begins with the vectors of the word and of its spelling, as the input of the LSTM does.
            values = [weights["word"][reading.words[block.tokens]], spellings[reading.spellings[block.tokens]], *values]
            rows = [np.arange(of_word), *rows]
        found.append((np.concatenate(values, axis=1), np.concatenate(rows)))
    return found


def spelling_vectors(weights: NetworkWeights, characters: Integers32) -> Floats32:
    """What the character CNN, or the LSTM in its place, says of each word, of shape `(n_words, n_channels)`.

    The kernels of all widths are taken as one, as wide as the widest. The windows over a word are gone through from
    its first character, and a word is left at the first window that sees nothing of it.

    :param characters: as `Encoder.spell` gives it.
    """
    if f"{CHARACTERS}forward" in weights:
        parts = np.split(characters, range(_WORDS_AT_ONCE, len(characters), _WORDS_AT_ONCE))
        return np.concatenate([CharacterLstm.of(part, weights).vectors for part in parts])
    if not any(_is_kernel(name, values) for name, values in weights.items()):
        return np.zeros((len(characters), 0), dtype=np.float32)
    # (n_words,): characters up to the last that is not padding, with the padding before the word.
    lengths = characters.shape[1] - np.argmax(characters[:, ::-1] > 0, axis=1)
    order = np.argsort(-lengths, kind="stable")
    answers = [
        _strongest(weights, characters[words], lengths[words])
        for words in np.split(order, range(_WORDS_AT_ONCE, len(order), _WORDS_AT_ONCE))
    ]
    vectors = np.empty((len(characters), answers[0].shape[1]), dtype=np.float32)
    vectors[order] = np.maximum(np.concatenate(answers), 0)
    return vectors


def _is_kernel(name: str, values: Floats32) -> bool:
    return name.startswith("kernel") and values.ndim == 3


def _strongest(weights: NetworkWeights, characters: Integers32, lengths: Integers) -> Floats32:
    """The strongest answer of each convolution over words that are sorted by length, the longest first.

    :param lengths: of the words, with the padding before them.
    """
    # (widest, size, n_channels): the kernels side by side, narrow ones filled up with zeros; `widths` is (n_channels,).
    kernels = sorted((w for name, w in weights.items() if _is_kernel(name, w)), key=len)
    widths = np.repeat([len(kernel) for kernel in kernels], [kernel.shape[2] for kernel in kernels])
    widest = max(widths)
    joint = np.concatenate([np.pad(kernel, ((0, widest - len(kernel)), (0, 0), (0, 0))) for kernel in kernels], axis=2)
    # (n_words, n_characters * size): a window is then a stretch of columns, and its answers are one product.
    size = weights["character"].shape[1]
    embedded = weights["character"][characters].reshape(len(characters), -1)
    strongest = np.full((len(characters), len(widths)), -np.inf, dtype=np.float32)
    for place in range(characters.shape[1]):
        # Kernels that reach beyond the word's end are the last channels, words that are over are the last rows.
        channels = slice(np.count_nonzero(place + widths <= characters.shape[1]))
        words = slice(np.count_nonzero(lengths >= place))
        window = embedded[words, place * size : (place + widest) * size]
        answers = window @ joint.reshape(-1, len(widths))[: window.shape[1], channels]
        np.maximum(strongest[words, channels], answers, out=strongest[words, channels])
    biases = [weights[f"kernel{len(kernel)}_bias"] for kernel in kernels]
    found: Floats32 = strongest + np.concatenate(biases)
    return found


def lstm(inputs: Inputs, sizes: Sequence[int], recurrent: Floats32) -> Floats32:
    """An LSTM over rows of a batch; see `fused_lstm` for its equations.

    A sigmoid is taken as a hyperbolic tangent of half the value, `0.5 + 0.5 * tanh(x / 2)`, which never overflows; all
    weights of the three gates have to be halved for it beforehand.

    :param inputs: what enters the gates is the sum over these of `table[places]`; `places` in the order of the steps.
    :param sizes: how many rows there are at each step; the first rows of a step are those of the next.
    :param recurrent: from the state to input gate, candidate, forget gate and output gate, of shape
        `(units, 4 * units)`.
    :returns: the state at each token, `(n_tokens, units)`, in the order of the steps.
    """
    units = len(recurrent)
    hidden = np.empty((sum(sizes), units), dtype=np.float32)
    all_gates, all_more = (np.empty((sizes[0], 4 * units), dtype=np.float32) for _ in range(2))
    before = np.zeros((sizes[0], units), dtype=np.float32)
    cells = before.copy()
    now = 0
    for n in sizes:
        # (n, 4 * units): what the states before say, and what each block of the input adds. All steps share buffers, as
        # new ones would not be in the cache.
        gates, more, cell = all_gates[:n], all_more[:n], cells[:n]
        np.matmul(before[:n], recurrent, out=gates)
        for table, places in inputs:
            gates += np.take(table, places[now : now + n], axis=0, out=more, mode="clip")
        np.tanh(gates, out=gates)
        input_gate, candidate, forget_gate, output_gate = (gates[:, k * units : (k + 1) * units] for k in range(4))
        # (n, units): the cell forgets, takes in the candidate, and is shown as the state: each as its gate allows.
        cell *= 0.5 + 0.5 * forget_gate
        cell += (0.5 + 0.5 * input_gate) * candidate
        before = hidden[now : now + n]
        np.multiply(0.5 + 0.5 * output_gate, np.tanh(cell), out=before)
        now += n
    return hidden


def halved(kernel: Floats32) -> Floats32:
    """The weights of input gate, candidate, forget gate and output gate, those of the three sigmoids halved."""
    halved: Floats32 = kernel * np.repeat(np.array([0.5, 1.0, 0.5, 0.5], dtype=np.float32), kernel.shape[-1] // 4)
    return halved


def _parts(notes: Sequence[EncodedNote]) -> Iterator[Sequence[EncodedNote]]:
    """Consecutive notes of about as many tokens as are read at once."""
    first = n_tokens = 0
    for after, note in enumerate(notes, 1):
        n_tokens += len(note.words)
        if n_tokens >= _TOKENS_AT_ONCE or after == len(notes):
            yield notes[first:after]
            first, n_tokens = after, 0
