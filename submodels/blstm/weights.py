"""The weights of the BLSTM-CNN-CRF network: their names, shapes and initial values, and their file.

    shapes = network_shapes(settings, words=9000, characters=90, values=1200, columns=20, tags=42)
    shapes["word"]                   (9000, 64)
    first_weights(shapes, seed=1)    {"word": array, "character": array, ..., "end": array}

All are 32-bit floats, on disk 16 or 8 bits if so set. `forward` and `backward` are the kernels of the LSTM: rows for
the input and then for the state, columns for input gate, candidate, forget gate and output gate, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats32, Integers, Integers32, check_shapes
from phistack.submodels.blstm.encoder import Encoder
from phistack.submodels.blstm.settings import BlstmSettings

NetworkWeights = Mapping[str, Floats32]

CHARACTERS = "characters_"
"""Prefix of the names of the character LSTM's weights."""

_EMBEDDINGS = ("word", "character", "feature")
_CHAIN = ("transitions", "start", "end")
_TAG_LAYERS = ("hidden", "hidden_bias", "dense", "dense_bias", *_CHAIN)

_SCALE, _STEPS = "_scale", 127
"""The ending of the name of an 8-bit matrix's scales, and the greatest of its numbers."""


def network_shapes(
    settings: BlstmSettings, *, words: int, characters: int, values: int, columns: int, tags: int, states: int = 0
) -> dict[str, tuple[int, ...]]:
    """Name of each weight -> its shape.

    :param words: number of word ids; `characters` and `tags` likewise.
    :param values: number of feature value ids, over all columns together.
    :param columns: number of feature columns.
    :param states: length of the language models' states, which the LSTM also reads.
    """
    kernels = () if settings.character_lstm else settings.kernels
    spelling = len(kernels) * settings.channels + 2 * settings.character_lstm
    features, layer, units = columns * settings.feature_size, settings.feature_layer, settings.lstm_size
    inputs = settings.word_size + spelling + (0 if layer else features) + states
    shapes: dict[str, tuple[int, ...]] = {
        "word": (words, settings.word_size),
        "character": (characters, settings.character_size),
        "feature": (values, settings.feature_size),
    }
    for width in kernels:
        shapes[f"kernel{width}"] = (width, settings.character_size, settings.channels)
        shapes[f"kernel{width}_bias"] = (settings.channels,)
    read = {CHARACTERS: (settings.character_size, settings.character_lstm), "": (inputs, units)}
    for before, (length, n_states) in read.items():
        for direction in (f"{before}forward", f"{before}backward") if n_states else ():
            shapes[direction] = (length + n_states, 4 * n_states)
            shapes[f"{direction}_bias"] = (4 * n_states,)
    if layer:
        shapes |= {"hidden": (2 * units + features, layer), "hidden_bias": (layer,)}
    shapes |= {"dense": (layer or 2 * units, tags), "dense_bias": (tags,)}
    if settings.crf:
        shapes |= {"transitions": (tags, tags), "start": (tags,), "end": (tags,)}
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


def first_weights(
    shapes: Mapping[str, tuple[int, ...]], seed: int, known: Sequence[InitialValues] = ()
) -> dict[str, Floats32]:
    """Weights uniform within the bounds of Ma and Hovy 2016; 1 for the bias of forget gates, 0 for other biases.

    :param known: those that are not random, such as the words' vectors.
    """
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
    for initial in known:
        weights[initial.name][initial.rows] = initial.values
    return weights


def transferred_weights(weights: NetworkWeights, encoder: Encoder, joined: Encoder) -> list[InitialValues]:
    """All but the tag layers of a pretrained network, as initial values of another.

    Its notes may have other labels; the lower layers transfer best anyway (Lee, Dernoncourt and Szolovits 2018).

    :param encoder: of the pretrained network.
    :param joined: of the other: `encoder.joined(...)`.
    """
    # (n_values,): a column's values come later in the other network, which has more values before them.
    places = [begin + np.arange(1 + len(ids)) for begin, ids in zip(joined.offsets, encoder.values, strict=False)]
    moved = {"feature": np.concatenate([np.zeros(0, dtype=np.int64), *places])}
    return [
        InitialValues(name, moved.get(name, np.arange(len(values))), values)
        for name, values in weights.items()
        if name not in _TAG_LAYERS
    ]


def to_saved(weights: NetworkWeights, bits: int) -> dict[str, NDArray[Any]]:
    """The weights as they are saved.

    :param bits: of a number: 32, 16, or 8. With 8, matrices are integers, each row with a scale of its own in the array
        `NAME_scale`, which is as good as 16 bits in half the space; biases and the chain of tags have 16 bits.
    """
    if bits == 32:
        return dict(weights)
    # Numbers beyond the range of 16 bits, such as forbidden transitions, become its end.
    most = np.finfo(np.float16).max
    saved: dict[str, NDArray[Any]] = {
        name: np.clip(array, -most, most).astype(np.float16) for name, array in weights.items()
    }
    for name in _matrices(weights) if bits == 8 else ():
        rows = weights[name].reshape(len(weights[name]), -1)
        scale = (np.abs(rows).max(axis=1) / _STEPS).astype(np.float16)  # (n_rows,)
        steps = rows / np.maximum(scale, np.finfo(np.float16).tiny).astype(np.float32)[:, None]
        saved[name] = np.rint(steps).clip(-_STEPS, _STEPS).astype(np.int8).reshape(weights[name].shape)
        saved[name + _SCALE] = scale
    return saved


def from_saved(saved: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]], bits: int) -> NetworkWeights:
    """The weights that `to_saved` saved; :raises BundleError: if they are others."""
    coarse = _matrices(shapes) if bits == 8 else ()
    check_shapes(saved, {name: shapes[name] for name in coarse}, np.int8)
    scales = {name + _SCALE: shapes[name][:1] for name in coarse}
    wide = {name: shape for name, shape in shapes.items() if name not in coarse} | scales
    check_shapes(saved, wide, np.float32 if bits == 32 else np.float16)
    weights = {name: saved[name].astype(np.float32, copy=False) for name in shapes}
    for name in coarse:
        scale = saved[name + _SCALE].astype(np.float32)
        weights[name] = weights[name] * scale.reshape(-1, *[1] * (len(shapes[name]) - 1))
    return weights


def _matrices(weights: Mapping[str, Any]) -> list[str]:
    """The names of the weights that 8 bits are enough for."""
    return [name for name in weights if name not in _CHAIN and not name.endswith("_bias")]
