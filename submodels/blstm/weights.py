"""The weights of the BLSTM-CNN-CRF network: their names, shapes and first values, and their file.

    sizes = NetworkSizes(words=9000, characters=90, values=1200, columns=20, tags=42)
    sizes.shapes()["word"]           (9000, 128)
    first_weights(sizes, seed=1)     {"word": array, "character": array, ..., "end": array}

All are 32-bit floats, on disk 16-bit ones where that is asked for. `forward` and `backward` hold the kernels of the
LSTM: rows for the input and then for the state, columns for input gate, candidate, forget gate and output gate, in this
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats32, Integers, Integers32

NetworkWeights = Mapping[str, Floats32]

CHARACTERS = "characters_"
"""Before the names of the weights of an LSTM that reads characters."""


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
    :param character_lstm: the same of an LSTM that reads characters; 0 for none.
    :param feature_layer: outputs of a layer that joins the feature values' vectors to the LSTM's states; 0 where the
        LSTM reads them.
    :param chain: whether a linear chain joins the tags; otherwise each is by itself.
    :param states: length of what language models say of a token, which the LSTM reads beside all else.
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


@dataclass(frozen=True, eq=False)
class FirstValues:
    """Rows of a weight with which the network begins, in the place of random ones.

    :param name: of the weight.
    :param rows: which of its rows, `(n_rows,)`.
    :param values: of these, `(n_rows, ...)`.
    """

    name: str
    rows: Integers | Integers32 = field(repr=False)
    values: Floats32 = field(repr=False)


_EMBEDDINGS = ("word", "character", "feature")


def first_weights(sizes: NetworkSizes, seed: int, known: Sequence[FirstValues] = ()) -> NetworkWeights:
    """Random weights, uniform within the bounds of Ma and Hovy 2016; 1 for the bias of forget gates, 0 for others.

    :param known: what is not random, such as the vectors of some words.
    """
    random = np.random.default_rng(seed)
    weights: dict[str, Floats32] = {}
    for name, shape in sizes.shapes().items():
        if len(shape) == 1:
            weights[name] = np.zeros(shape, dtype=np.float32)
        else:
            bound = np.sqrt(3 / shape[1] if name in _EMBEDDINGS else 6 / (np.prod(shape[:-1]) + shape[-1]))
            weights[name] = random.uniform(-bound, bound, shape).astype(np.float32)
    for name in weights:
        if name.endswith(("forward_bias", "backward_bias")):
            np.split(weights[name], 4)[2][:] = 1
    for first in known:
        weights[first.name][first.rows] = first.values
    return weights


def as_floats32(weights: Mapping[str, Any]) -> NetworkWeights:
    """The weights as 32-bit floats, whatever they are."""
    return {name: array.astype(np.float32, copy=False) for name, array in weights.items()}


def rounded(weights: NetworkWeights) -> NetworkWeights:
    """The weights, each as near as 16 bits can say it."""
    return as_floats32(_half(weights))


def save_weights(path: Path, weights: NetworkWeights, *, half_precision: bool = False) -> None:
    """Write weights as NumPy arrays in a zip file; :param half_precision: whether as 16-bit floats."""
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **(_half(weights) if half_precision else weights))


def _half(weights: NetworkWeights) -> dict[str, NDArray[np.float16]]:
    # What is beyond the range of 16 bits, as tags that may not follow each other, becomes the end of the range.
    most = np.finfo(np.float16).max
    return {name: np.clip(array, -most, most).astype(np.float16) for name, array in weights.items()}
