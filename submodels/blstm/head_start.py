"""What a network learned from invented notes, carried over to one that is to learn from those of a training.

    encoder = first.encoder_.joined(Encoder.of(tables, columns))
    known = carried_over(first.weights_[0], first.encoder_, encoder)      what `first_weights` does not draw

The notes of a training hold few names, and each in few places; of invented ones there are as many as one likes. Their
labels may be others, so the layers that score tags begin anew. All else goes on from there, as the lower layers of a
network for de-identification carry over best (Lee, Dernoncourt and Szolovits 2018).
"""

from __future__ import annotations

import numpy as np

from phistack.submodels.blstm.encoder import Encoder
from phistack.submodels.blstm.weights import FirstValues, NetworkWeights

_OF_TAGS = ("hidden", "hidden_bias", "dense", "dense_bias", "transitions", "start", "end")


def carried_over(weights: NetworkWeights, encoder: Encoder, joined: Encoder) -> list[FirstValues]:
    """The values of a trained network with which another begins.

    :param weights: of the network.
    :param encoder: its own.
    :param joined: of the other, which knows first of all what the first one knows.
    """
    # (n_values,): the unknown value of each column and those that follow it are moved on by the further ones before.
    places = [begin + np.arange(1 + len(ids)) for begin, ids in zip(joined.offsets, encoder.values, strict=False)]
    moved = {"feature": np.concatenate([np.zeros(0, dtype=np.int64), *places])}
    return [
        FirstValues(name, moved.get(name, np.arange(len(values))), values)
        for name, values in weights.items()
        if name not in _OF_TAGS
    ]
