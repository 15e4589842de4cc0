"""The weights of the BLSTM-CNN-CRF network: their names, shapes and initial values, and their file.

    sizes = NetworkSizes(words=9000, characters=90, values=1200, columns=20, tags=42)
    sizes.shapes()["word"]           (9000, 128)
    first_weights(sizes, seed=1)     {"word": array, "character": array, ..., "end": array}

All are 32-bit floats, on disk 16-bit ones if so set. `forward` and `backward` are the kernels of the LSTM: rows for the
input and then for the state, columns for input gate, candidate, forget gate and output gate, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.submodels.blstm.encoder import Encoder

NetworkWeights = Mapping[str, Floats32]

CHARACTERS = "characters_"
"""Prefix of the names of the character LSTM's weights."""

_EMBEDDINGS = ("word", "character", "feature")
_TAG_LAYERS = ("hidden", "hidden_bias", "dense", "dense_bias", "transitions", "start", "end")


@dataclass(frozen=True, slots=True)
class NetworkSizes:
    """How large each part of the network is.

    :param words: number of word ids.
    :param characters: number of character ids.
    :param values: number of feature value ids, over all columns together.
    :param columns: number of feature columns.
    :param tags: number of tags.
    :param word: length of a word's vector.
    :param character: length of a character's vector.
    :param kernels: widths of the convolutions over characters.
    :param channels: outputs of each convolution.
    :param feature: length of a feature value's vector.
    :param lstm: length of the LSTM's state in each direction.
    :param character_lstm: the same of the character LSTM; 0 for none.
    :param feature_layer: outputs of a layer that joins the feature values' vectors to the LSTM's states; with 0 the
        LSTM reads them.
    :param chain: whether a linear chain joins the tags; otherwise each has its own softmax.
    :param states: length of the language models' states, which the LSTM also reads.
    """

    words: int
    characters: int
    values: int
    columns: int
    tags: int
    word: int = 128
    character: int = 16
    kernels: tuple[int, ...] = (2, 3, 4, 5)
    channels: int = 8
    feature: int = 4
    lstm: int = 128
    character_lstm: int = 0
    feature_layer: int = 0
    chain: bool = True
    states: int = 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name of each weight -> its shape."""
        spelling = len(self.kernels) * self.channels + 2 * self.character_lstm
        features = self.columns * self.feature
        inputs = self.word + spelling + (0 if self.feature_layer else features) + self.states
        shapes: dict[str, tuple[int, ...]] = {
            "word": (self.words, self.word),
            "character": (self.characters, self.character),
            "feature": (self.values, self.feature),
        }
        for width in self.kernels:
            shapes[f"kernel{width}"] = (width, self.character, self.channels)
            shapes[f"kernel{width}_bias"] = (self.channels,)
        read = {CHARACTERS: (self.character, self.character_lstm), "": (inputs, self.lstm)}
        for before, (length, units) in read.items():
            for direction in (f"{before}forward", f"{before}backward") if units else ():
                shapes[direction] = (length + units, 4 * units)
                shapes[f"{direction}_bias"] = (4 * units,)
        if self.feature_layer:
            shapes |= {"hidden": (2 * self.lstm + features, self.feature_layer), "hidden_bias": (self.feature_layer,)}
        shapes |= {"dense": (self.feature_layer or 2 * self.lstm, self.tags), "dense_bias": (self.tags,)}
        if self.chain:
            shapes |= {"transitions": (self.tags, self.tags), "start": (self.tags,), "end": (self.tags,)}
        return shapes


class InitialValues(NamedTuple):
    """Rows of a weight that do not begin at random.

    :param name: of the weight.
    :param rows: which of its rows, `(n_rows,)`.
    :param values: of these, `(n_rows, ...)`.
    """

    name: str
    rows: Integers | Integers32
    values: Floats32


def random_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, Floats32]:
    """Weights uniform within the bounds of Ma and Hovy 2016; 1 for the bias of forget gates, 0 for other biases."""
    random = np.random.default_rng(seed)
    weights: dict[str, Floats32] = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            weights[name] = np.zeros(shape, dtype=np.float32)
        else:
            bound = np.sqrt(3 / shape[1] if name in _EMBEDDINGS else 6 / (np.prod(shape[:-1]) + shape[-1]))
            weights[name] = random.uniform(-bound, bound, shape).astype(np.float32)
        if name.endswith(("forward_bias", "backward_bias")):
            np.split(weights[name], 4)[2][:] = 1
    return weights


def first_weights(sizes: NetworkSizes, seed: int, known: Sequence[InitialValues] = ()) -> NetworkWeights:
    """The weights with which training begins; :param known: those that are not random, such as the words' vectors."""
    weights = random_weights(sizes.shapes(), seed)
    for initial in known:
        weights[initial.name][initial.rows] = initial.values
    return weights


def transferred_weights(weights: NetworkWeights, encoder: Encoder, joined: Encoder) -> list[InitialValues]:
    """All but the tag layers of a pretrained network, as initial values of another.

    The labels of its notes may be others; the lower layers transfer best anyway (Lee, Dernoncourt and
    Szolovits 2018).

    :param encoder: of the pretrained network.
    :param joined: of the other: `encoder.joined(...)`.
    """
    # (n_values,): a column's values lie further on in the other network, which has more values before them.
    places = [begin + np.arange(1 + len(ids)) for begin, ids in zip(joined.offsets, encoder.values, strict=False)]
    moved = {"feature": np.concatenate([np.zeros(0, dtype=np.int64), *places])}
    return [
        InitialValues(name, moved.get(name, np.arange(len(values))), values)
        for name, values in weights.items()
        if name not in _TAG_LAYERS
    ]


def as_floats32(weights: Mapping[str, Any]) -> NetworkWeights:
    """The weights as 32-bit floats, whatever they are."""
    return {name: array.astype(np.float32, copy=False) for name, array in weights.items()}


def half_precision(weights: NetworkWeights) -> dict[str, NDArray[np.float16]]:
    """The weights as 16-bit floats; what is beyond their range, such as forbidden transitions, becomes its end."""
    most = np.finfo(np.float16).max
    return {name: np.clip(array, -most, most).astype(np.float16) for name, array in weights.items()}
