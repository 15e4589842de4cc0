"""CRFsuite: training a CRF on PHI, hard negatives and a sample of the rest, and reading the model file without it.

    train(crf, tables, tags, seed=1)      the model file, as bytes
    tokens = instructive_tokens(attributes, is_phi, lines, look_alikes=0.3, others=0.05)      (n_tokens,) bool
    rounded(model)                        the model file with shorter weights, which is a third smaller when compressed
    weights = read_weights(Path("model.crfsuite").read_bytes())

Most of a note is text that no model would take for PHI, and a twentieth of it is enough to learn from; without hard
negatives, however, precision falls by two points. They are chosen by naive Bayes with leave-one-out: the sum over a
token's attributes of the log odds of PHI, without the token's own count.

CRFsuite's reader kills the process at a damaged file, and its dump rounds weights to six digits. The layout is that of
CRFsuite 0.12, `crf1d_model.c` and `cqdb.c` (Okazaki 2007); all numbers are little-endian:

    header       "lCRF", size of the file, "FOMC", version 100, number of features, of labels, of attributes,
                 and where the features, labels, attributes and two more tables begin
    features     "FEAT", size, number; then for each its type (0 state, 1 transition), source, target, weight
    labels,      "CQDB", size, flag, byte order, number of strings, where the table of their places begins;
    attributes   at each place the string's number, its length with the final zero, its bytes
"""

from __future__ import annotations

import ctypes
import logging
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, Integers, Integers32
from phistack.features.columns.table import FeatureTable, patients_of
from phistack.features.errors import SettingsError
from phistack.features.reporting import report
from phistack.features.saved_files import damage_refused
from phistack.features.tags import OUTSIDE

if TYPE_CHECKING:
    from phistack.submodels.crf.submodel import CrfSubmodel

_LOG = logging.getLogger("phistack")
_ITERATION = re.compile(r"(?:Iteration|Epoch) #(\d+)|Loss: ([\d.]+)")

_READING = 0.15
"""The approximate share of a fit before the first iteration."""

_STRETCH = 20
"""Neighbouring tokens that are sampled together, so the CRF learns transitions."""

_FEWEST = 10_000
"""The least number of sampled tokens, as sampling saves no time on a small corpus."""

_AT_PHI, _ELSEWHERE = 0.5, 1.5
"""Added to counts (smoothing)."""

_NOT_LEARNED = 1
"""The group of sequences that are not learned from; others have 0."""

Marks = NDArray[np.bool_]


def train(crf: CrfSubmodel, tables: Sequence[FeatureTable], tags: Sequence[list[str]], seed: int) -> bytes:
    """Train a CRF with CRFsuite; returns its model file.

    :param tags: of all tokens of each note.
    :raises SettingsError: if the C library's random numbers cannot be seeded.
    """
    from pycrfsuite import Trainer

    trainer = Trainer(crf.algorithm, verbose=False)
    trainer.message = _progress(crf.max_iterations)
    names, attributes = _attributes(crf, tables)
    flat = np.array([tag for note in tags for tag in note], dtype=object)
    # (n_tokens,): the sequence of each token, over all notes.
    lengths = np.concatenate([np.diff(crf.sequences(table)) for table in tables])
    lines = np.repeat(np.arange(len(lengths)), lengths)
    is_phi = flat != OUTSIDE
    learned = instructive_tokens(attributes, is_phi, lines, look_alikes=crf.look_alikes, others=crf.others)
    # (n_attributes,): those with enough training tokens; index 0 of the counts is for none.
    kept = np.bincount(attributes[:, learned].ravel() + 1, minlength=len(names) + 1)[1:] >= crf.min_count
    if (discretion := tables[0].space.discretion_) is not None:
        patients = np.broadcast_to(patients_of(tables)[learned], attributes[:, learned].shape)
        shared = discretion.shared(attributes[:, learned].ravel(), patients.ravel())
        kept &= np.pad(shared, (0, len(kept)))[: len(kept)]
        # The model file has attributes in order of arrival, which would show the text of the notes. A first sequence
        # with all of them sorted, which is not learned from, prevents that.
        trainer.append([sorted(names[kept].tolist())], [OUTSIDE], _NOT_LEARNED)
    sequences = list(pieces(learned, lines))
    rng, read = np.random.default_rng(seed), 1 - crf.noise
    for piece in sequences:
        of_tokens = attributes[:, piece].T
        present = (of_tokens >= 0) & kept[of_tokens] & (rng.random(of_tokens.shape) < read)
        # What is left counts more, so that the sum of a token's weights is as large as where all attributes are read.
        of_piece = [
            dict.fromkeys(names[row[has]].tolist(), 1 / read) for row, has in zip(of_tokens, present, strict=True)
        ]
        trainer.append(of_piece, flat[piece].tolist())
    trainer.set_params(parameters(crf, len(sequences)))
    if crf.algorithm == "l2sgd":
        _seed_c_library(seed)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model.crfsuite"), -1 if discretion is None else _NOT_LEARNED)
        return rounded((Path(folder) / "model.crfsuite").read_bytes())


def parameters(crf: CrfSubmodel, n_sequences: int) -> dict[str, float]:
    """CRFsuite's parameters.

    Its l2sgd has the rate `eta / (1 + lambda * eta * t)` at step t, with lambda = 2 * c2 / n_sequences. It tries
    several values of eta first, unless the number of trials is one.
    """
    shared = {
        "c2": crf.regularisation / 2 * n_sequences if crf.regularisation else crf.c2,
        "max_iterations": crf.max_iterations,
        "feature.possible_states": False,
        "feature.possible_transitions": False,
    }
    own = {"lbfgs": {"c1": crf.c1}, "l2sgd": {"calibration.eta": crf.learning_rate, "calibration.max_trials": 1}}
    return {**shared, **own[crf.algorithm]}


def _attributes(crf: CrfSubmodel, tables: Sequence[FeatureTable]) -> tuple[NDArray[np.object_], Integers32]:
    """The names of all attributes that are frequent enough, and the attributes of each token.

    :returns: names of shape `(n_attributes,)`, and indices of shape `(n_templates, n_tokens)`, -1 for none.
    """
    names: list[str] = []
    found = np.empty((len(crf.crosses_.templates), sum(map(len, tables))), dtype=np.int32)
    # (n_templates, n_tokens): the frequent values of all templates, numbered consecutively.
    for number, values in enumerate(crf.crosses_.read(tables)):
        distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        kept = (distinct >= 0) & (counts >= crf.min_count)
        found[number] = np.where(kept, len(names) + np.cumsum(kept) - 1, -1)[places]
        names.extend([f"{number}:{value}" for value in distinct[kept].tolist()])
    return np.array(names, dtype=object), found


def _seed_c_library(seed: int) -> None:
    """Seed the C library, whose random numbers CRFsuite uses; :raises SettingsError: if it cannot be reached."""
    try:
        seed_with = ctypes.CDLL(None).srand
    except (OSError, TypeError, AttributeError):
        raise SettingsError(
            "the CRF's algorithm l2sgd draws from the C library, which cannot be seeded on this system, so no training "
            "could be repeated; use the algorithm lbfgs"
        ) from None
    seed_with(ctypes.c_uint(seed % 2**32))


def _progress(most: int) -> Callable[[str], None]:
    """Turns the messages of CRFsuite into progress reports, and logs every tenth iteration."""
    iteration = 0

    def on_message(message: str) -> None:
        nonlocal iteration
        match = _ITERATION.search(message)
        if match and match[1]:
            iteration = int(match[1])
            report(_READING + (1 - _READING) * iteration / most, f"iteration {iteration} of {most}")
        elif match and iteration % 10 == 0:
            _LOG.info("crf: iteration %d, loss %s", iteration, match[2])

    return on_message


def instructive_tokens(
    attributes: Integers32, is_phi: Marks, lines: Integers, *, look_alikes: float, others: float
) -> Marks:
    """PHI, the hardest negatives, the neighbours of both, and a sample of the rest.

    :param attributes: the attributes of each token, of shape `(n_templates, n_tokens)`, -1 for none.
    :param is_phi: of shape `(n_tokens,)`.
    :param lines: the line of each token, of shape `(n_tokens,)`; neighbours are of one line.
    :param look_alikes: number of hard negatives per token of PHI.
    :param others: the share of all tokens to sample; at least 10,000 are sampled, unless it is 0.
    :returns: of shape `(n_tokens,)`.
    """
    outside = np.flatnonzero(~is_phi)
    n_taken = min(round(look_alikes * int(is_phi.sum())), len(outside))
    likeness = _likeness(attributes, is_phi)[outside]
    taken = is_phi.copy()
    # (n_outside,): the n_taken most like PHI; of equal ones the later tokens.
    taken[outside[np.argsort(likeness, kind="stable")[len(outside) - n_taken :]]] = True
    beside = lines[1:] == lines[:-1]
    widened = taken.copy()
    widened[1:] |= taken[:-1] & beside
    widened[:-1] |= taken[1:] & beside
    # (n_tokens,): evenly spaced stretches, those at which a multiple of the share reaches the next integer.
    stretch = np.arange(len(is_phi)) // _STRETCH
    share = min(1.0, max(others, _FEWEST / max(len(is_phi), 1))) if others else 0.0
    sampled: Marks = np.floor((stretch + 1) * share) > np.floor(stretch * share)
    return widened | sampled


def _likeness(attributes: Integers32, is_phi: Marks) -> Floats:
    """The log odds that each token, assumed not to be PHI, is PHI; of shape `(n_tokens,)`."""
    size = int(attributes.max(initial=-1)) + 1
    # (n_attributes,) each: the counts of an attribute at PHI and elsewhere, summed over templates.
    at_phi, elsewhere = np.zeros(size), np.zeros(size)
    for row in attributes:
        at_phi += np.bincount(row[is_phi & (row >= 0)], minlength=size)
        elsewhere += np.bincount(row[~is_phi & (row >= 0)], minlength=size)
    odds = np.log((at_phi + _AT_PHI) / (np.maximum(elsewhere - 1, 0) + _ELSEWHERE))
    # (n_attributes + 1,): -1, for no attribute, is the last index, which adds nothing.
    odds = np.append(odds, 0.0)
    total = np.zeros(attributes.shape[1])
    for row in attributes:
        total += odds[row]
    return total


def pieces(tokens: Marks, lines: Integers) -> Iterator[slice]:
    """Runs of chosen tokens that are neighbours in one line."""
    # (n_tokens,): the line of each chosen token, -1 for the others; pieces end where it changes.
    line = np.where(tokens, lines, -1)
    edges = np.flatnonzero(np.diff(line, prepend=-1, append=-1))
    return (slice(first, stop) for first, stop in pairwise(edges.tolist()) if tokens[first])


_HEADER = struct.Struct("<4sI4s9I")
_FEATURES = struct.Struct("<4sII")
_STRINGS = struct.Struct("<4s5I")
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1

_WEIGHT_BITS = 11
"""As many as a 16-bit float has; rounding changes a weight by at most a twentieth of a percent."""

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
    with damage_refused("the CRF's model file"):
        return _read(data)


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
    features = _features(data, at_features)
    if not np.isfinite(features["weight"]).all():
        raise ValueError("a weight is no number")
    state = _table(features[features["type"] == _STATE], (n_attributes, n_labels))
    transitions = _table(features[features["type"] == _TRANSITION], (n_labels, n_labels))
    return CrfWeights(labels, attributes, state, transitions)


def rounded(model: bytes) -> bytes:
    """The model file with weights of `_WEIGHT_BITS` significant bits, so that most of their bytes are zero."""
    data = bytearray(model)
    features = _features(data, _HEADER.unpack_from(model)[7])
    fraction, exponent = np.frexp(features["weight"])
    features["weight"] = np.ldexp(np.round(np.ldexp(fraction, _WEIGHT_BITS)), exponent - _WEIGHT_BITS)
    return bytes(data)


def _features(data: bytes | bytearray, begin: int) -> NDArray[np.void]:
    """The features that begin at a byte, as a view of the data; raises ValueError if there are none."""
    chunk, _, n_features = _FEATURES.unpack_from(data, begin)
    if chunk != b"FEAT":
        raise ValueError("no features where they should be")
    return np.frombuffer(data, _FEATURE, n_features, begin + _FEATURES.size)


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
