"""Reads the weights out of a model file of CRFsuite, without CRFsuite.

    weights = read_weights(Path("model.crfsuite").read_bytes())
    weights.labels         ("O", "B-AGE", ...)
    weights.attributes     ("0:17", "0:23", ...)
    weights.state          (n_attributes, n_labels)
    weights.transitions    (n_labels, n_labels), from row to column

CRFsuite's reader ends the process at a damaged file, and its dump rounds weights to six digits. The layout is that of
CRFsuite 0.12, `crf1d_model.c` and `cqdb.c` (Okazaki 2007); all numbers are little-endian:

    header       "lCRF", size of the file, "FOMC", version 100, number of features, of labels, of attributes,
                 and where the features, labels, attributes and two more tables begin
    features     "FEAT", size, number; then for each its type (0 state, 1 transition), source, target, weight
    labels,      "CQDB", size, flag, byte order, number of strings, where the table of their places begins;
    attributes   at each place the string's number, its length with the final zero, its bytes
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from phistack.features.errors import BundleError

_HEADER = struct.Struct("<4sI4s9I")
_FEATURES = struct.Struct("<4sII")
_STRINGS = struct.Struct("<4s5I")
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1

_MOST_LABELS, _LONGEST_STRING, _MOST_CELLS = 2_000, 1_000, 2**28
"""Limits on the memory for a damaged file."""


@dataclass(frozen=True, eq=False)
class CrfWeights:
    """The weights of a linear-chain model.

    :param labels: the names of the L tags.
    :param attributes: the names of the A attributes that have a weight.
    :param state: of shape `(A, L)`: weight of an attribute for a tag.
    :param transitions: of shape `(L, L)`: weight of the step from one tag to the next.
    """

    labels: tuple[str, ...]
    attributes: tuple[str, ...] = field(repr=False)
    state: NDArray[np.float64] = field(repr=False)
    transitions: NDArray[np.float64] = field(repr=False)


def read_weights(data: bytes) -> CrfWeights:
    """The weights in a model file; :raises BundleError: if it is not a model of CRFsuite, or is damaged."""
    try:
        return _read(data)
    except (struct.error, ValueError, IndexError) as error:
        raise BundleError(f"the CRF's model file is damaged ({type(error).__name__}); train again") from None


def _read(data: bytes) -> CrfWeights:
    magic, size, kind, version, _, n_labels, n_attributes, at_features, at_labels, at_attributes, _, _ = (
        _HEADER.unpack_from(data)
    )
    if (magic, kind, version) != (b"lCRF", b"FOMC", 100):
        raise ValueError("not a first-order model")
    if size != len(data):
        raise ValueError("not as long as it says")
    if n_labels > _MOST_LABELS or n_labels * n_attributes > _MOST_CELLS:
        raise ValueError("more tags or attributes than a model has")
    labels = _strings(data, at_labels, n_labels)
    attributes = _strings(data, at_attributes, n_attributes)
    chunk, _, n_features = _FEATURES.unpack_from(data, at_features)
    if chunk != b"FEAT":
        raise ValueError("no features where they should be")
    features = np.frombuffer(data, _FEATURE, n_features, at_features + _FEATURES.size)
    if not np.isfinite(features["weight"]).all():
        raise ValueError("a weight is no number")
    state = _table(features[features["type"] == _STATE], (n_attributes, n_labels))
    transitions = _table(features[features["type"] == _TRANSITION], (n_labels, n_labels))
    return CrfWeights(labels, attributes, state, transitions)


def _table(features: NDArray[np.void], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Weights by source and target; raises IndexError if one is out of range."""
    table = np.zeros(shape)
    table[features["source"], features["target"]] = features["weight"]
    return table


def _strings(data: bytes, begin: int, number: int) -> tuple[str, ...]:
    """The strings with the numbers 0, 1, 2, ... of a table that begins at a byte."""
    chunk, _, _, _, n_strings, at_places = _STRINGS.unpack_from(data, begin)
    if chunk != b"CQDB" or n_strings != number:
        raise ValueError("no strings where they should be")
    octets = np.frombuffer(data, np.uint8)
    places = begin + np.frombuffer(data, "<u4", number, begin + at_places).astype(np.int64)
    # (n_strings, 2): the number and the length of each, which are before it.
    heads = octets[places[:, None] + np.arange(8)].view("<u4").astype(np.int64)
    ends = places + 8 + heads[:, 1]
    if (heads[:, 1] > _LONGEST_STRING).any():
        raise ValueError("a string is far too long")
    if (heads[:, 1] < 1).any() or (heads[:, 0] != np.arange(number)).any() or octets[ends - 1].any():
        raise ValueError("a string is cut")
    return tuple(
        data[place + 8 : end - 1].decode("utf-8") for place, end in zip(places.tolist(), ends.tolist(), strict=True)
    )
