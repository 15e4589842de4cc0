"""The taggers beside which ours are measured, with the same weights: python-crfsuite's, and networks of Keras."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.columns.table import FeatureTable, line_bounds
from phistack.submodels.blstm.keras_training import load_keras, padded_batch
from phistack.submodels.blstm.rows import rows_of
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.chain.crf import Chain
from phistack.submodels.crf.crfsuite import read_weights
from phistack.submodels.crf.submodel import CrfSubmodel

AnyFloats = NDArray[np.floating[Any]]
Predict = Callable[[Mapping[str, Any]], AnyFloats]
"""From a batch to the scores of its tags."""


def crfsuite_tagger(crf: CrfSubmodel, file: Path) -> Any:
    """python-crfsuite's tagger of the same model."""
    from pycrfsuite import Tagger

    file.write_bytes(crf.model_)
    tagger = Tagger()
    tagger.open(str(file))
    return tagger


def attributes(crf: CrfSubmodel, table: FeatureTable) -> Iterator[list[list[str]]]:
    """The attributes of the tokens of each line, as strings, as the model was trained on them."""
    crosses = crf.crosses_
    columns, places = crosses.laid_out([table])
    ids = {name: column.tolist() for name, column in columns.items()}
    silent = {name: {0, crosses.none[name]} for name in columns}
    templates = [
        [(ids[name], silent[name], offset, base) for (name, offset), base in zip(template, bases, strict=True)]
        for template, bases in zip(crosses.templates, map(crosses.bases, range(len(crosses.templates))), strict=True)
    ]

    def of_token(place: int) -> list[str]:
        found = []
        for number, parts in enumerate(templates):
            value = 0
            for column, without, offset, base in parts:
                read = column[place + offset]
                if read in without:
                    break
                value = value * base + read
            else:
                found.append(f"{number}:{value}")
        return found

    of_tokens = [of_token(place) for place in places.tolist()]
    return (of_tokens[first:last] for first, last in pairwise(line_bounds(table).tolist()))


def attributes_of_arrays(crf: CrfSubmodel, table: FeatureTable) -> Iterator[list[list[str]]]:
    """The same from the numbers that our arrays give."""
    values = np.stack(crf.crosses_.read([table]), axis=1).tolist()
    of_tokens = [[f"{number}:{value}" for number, value in enumerate(row) if value >= 0] for row in values]
    return (of_tokens[first:last] for first, last in pairwise(line_bounds(table).tolist()))


def unconstrained(crf: CrfSubmodel) -> Chain:
    """The chain as python-crfsuite sees it."""
    weights = read_weights(crf.model_)
    nothing = np.zeros(len(weights.labels))
    return Chain(weights.labels, weights.transitions, nothing, nothing)


def keras_model(blstm: BlstmSubmodel, *, with_layers: bool = False) -> Any:
    """A Keras model with the same weights.

    :param with_layers: whether Keras' own LSTM layers are in it, as in a model that is written down in the usual way,
        or the kernel for whole sequences that our training uses.
    """
    load_keras(1)
    import keras

    from phistack.submodels.blstm.network import TaggingNetwork

    networks: list[Any] = [TaggingNetwork(blstm._sizes(), dropout=0.0) for _ in blstm.weights_]
    for network, weights in zip(networks, blstm.weights_, strict=True):
        for name, value in weights.items():
            network.weights[name].assign(value)
        if with_layers:
            network._blstm = keras_layers(weights)

    class Model(keras.Model):  # type: ignore[misc]
        def call(self, batch: Mapping[str, Any]) -> Any:
            return sum(network.emissions(batch) for network in networks) / len(networks)

    return Model()


def keras_layers(weights: Mapping[str, AnyFloats]) -> Callable[[Any, Any], Any]:
    """Both directions of the LSTM by `keras.layers.LSTM`, whose gates are in the order input, forget, new, output."""
    import keras
    from keras import ops

    units = weights["forward"].shape[1] // 4
    n_inputs = len(weights["forward"]) - units
    order = np.concatenate([np.arange(gate * units, (gate + 1) * units) for gate in (0, 2, 1, 3)])
    layers = {}
    for name in ("forward", "backward"):
        layers[name] = keras.layers.LSTM(units, return_sequences=True, go_backwards=name == "backward")
        layers[name].build((None, None, n_inputs))
        kernel = weights[name][:, order]
        layers[name].set_weights([kernel[:n_inputs], kernel[n_inputs:], weights[f"{name}_bias"][order]])

    def both(inputs: Any, lengths: Any) -> Any:
        mask = ops.arange(ops.shape(inputs)[1])[None, :] < lengths[:, None]
        back = ops.flip(layers["backward"](inputs, mask=mask), axis=1)
        return ops.concatenate([layers["forward"](inputs, mask=mask), back], axis=2)

    return both


def keras_emissions(blstm: BlstmSubmodel, predict: Predict, table: FeatureTable) -> AnyFloats:
    """The scores of one note's tags."""
    found = np.zeros((len(table), len(blstm.tags_)), dtype=np.float32)
    spellings: dict[str, int] = {}
    note = blstm.encoder_.encode(table, spellings)
    rows = rows_of([note], window=blstm.window)
    if rows:
        batch = padded_batch(rows, [note], blstm.encoder_.spell(spellings))
        for (_, first, last), row in zip(rows, predict(batch), strict=True):
            found[first:last] = row[: last - first]
    return found
