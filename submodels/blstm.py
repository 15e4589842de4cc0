"""The BLSTM-CNN-CRF submodel: a neural network that reads words, their characters and their feature columns.

    blstm = BlstmSubmodel(epochs=8).fit(tables, seed=1)
    blstm.propose(tables)[0]      [Candidate(Span(12, 17, "DOCTOR"), "blstm", 0.97), ...]

Ma and Hovy 2016, with feature embeddings as in Zhao 2020: a bidirectional LSTM over word embedding, character CNN and
feature embeddings gives each tag a score at each token, and a linear chain over the tags joins them. Training runs in
Keras on TensorFlow; proposing needs NumPy alone.
"""

from __future__ import annotations

import json
import logging
import os
import random
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.errors import BundleError, TrainingError
from features.table import FeatureSpace, FeatureTable
from features.tags import OUTSIDE
from submodels.base import Candidate
from submodels.blstm_batches import Encoder, Note
from submodels.blstm_inference import emissions_of
from submodels.blstm_training import TrainingPlan, train
from submodels.chain import Chain, propose

__all__ = ["BlstmSubmodel", "DEFAULT_COLUMNS"]

_LOG = logging.getLogger("phistack")

DEFAULT_COLUMNS = (
    "key", "key_distance", "key_in_document", "section", "shape", "line_start", "line_position", "line_from_start",
    "line_length", "space_before", "number", "starts_upper", "all_upper", "times_in_document", "document_position",
    "first_name", "last_name", "city", "region", "country", "month", "weekday",
)  # fmt: skip


class BlstmSubmodel:
    """Bidirectional LSTM with character CNN, feature embeddings and a CRF on top.

    Learned by `fit`: `encoder_`, `tags_`, `weights_`.

    :param columns: feature columns that are read; those that the feature space leaves out are left out.
    :param window: sentences are joined to up to so many tokens, so that the network sees what stands around them.
    :param epochs: passes over the notes, more where the notes are few.
    :param batch_tokens: tokens of a batch, fewer where the notes are few.
    :param least_steps: what few notes are trained for at least.
    """

    kind: ClassVar[str] = "blstm.v1"
    name: ClassVar[str] = "blstm"

    def __init__(
        self,
        *,
        columns: Sequence[str] = DEFAULT_COLUMNS,
        window: int = 64,
        word_size: int = 128,
        character_size: int = 16,
        kernels: Sequence[int] = (2, 3, 4, 5),
        channels: int = 16,
        feature_size: int = 4,
        lstm_size: int = 128,
        dropout: float = 0.5,
        word_dropout: float = 0.05,
        value_dropout: float = 0.02,
        epochs: int = 14,
        batch_tokens: int = 2048,
        least_steps: int = 400,
        learning_rate: float = 0.004,
        clip: float = 10.0,
        average: float = 0.99,
        held_out: float = 0.1,
        patience: int = 4,
        threshold: float = 0.05,
        threads: int = 1,
    ) -> None:
        self.columns = tuple(columns)
        self.window = window
        self.word_size = word_size
        self.character_size = character_size
        self.kernels = tuple(kernels)
        self.channels = channels
        self.feature_size = feature_size
        self.lstm_size = lstm_size
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.value_dropout = value_dropout
        self.epochs = epochs
        self.batch_tokens = batch_tokens
        self.least_steps = least_steps
        self.learning_rate = learning_rate
        self.clip = clip
        self.average = average
        self.held_out = held_out
        self.patience = patience
        self.threshold = threshold
        self.threads = threads

    def settings(self) -> Mapping[str, Any]:
        """The constructor's arguments, JSON-ready."""
        names = ("columns", "window", "word_size", "character_size", "kernels", "channels", "feature_size", "lstm_size",
            "dropout", "word_dropout", "value_dropout", "epochs", "batch_tokens", "least_steps", "learning_rate",
            "clip", "average", "held_out", "patience", "threshold", "threads")
        return {n: list(v) if isinstance(v := getattr(self, n), tuple) else v for n in names}

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes; :raises TrainingError: if none of them has a gold span."""
        if not any(tag != OUTSIDE for table in tables for tag in table.tags()):
            raise TrainingError("the training notes hold no PHI, so that the BLSTM-CNN-CRF has nothing to learn")
        learning, held_out = split_by_group(tables, self.held_out, seed)
        self.tags_ = tuple(sorted({tag for table in learning for tag in table.tags()} | {OUTSIDE}))
        known = set(tables[0].space.columns)
        self.encoder_ = Encoder.of(learning, [c for c in self.columns if c in known])
        self.weights_ = self._trained(learning, held_out, seed)
        return self

    def _trained(self, learning, held_out, seed):
        from_keras = _keras(self.threads)
        from submodels.network import NetworkSizes, TaggingNetwork
        spellings: dict[str, int] = {}
        ids = {tag: i for i, tag in enumerate(self.tags_)}
        notes = [self.encoder_.encode(t, spellings, ids) for t in learning]
        characters = self.encoder_.spell(spellings)
        sizes = NetworkSizes(len(self.encoder_.words) + 2, len(self.encoder_.characters) + 2, int(self.encoder_.offsets[-1]), len(self.encoder_.columns), len(self.tags_), self.word_size, self.character_size, self.kernels, self.channels, self.feature_size, self.lstm_size)
        net = TaggingNetwork(sizes, dropout=self.dropout, seed=seed)
        judge = None
        if held_out:
            gold = [set(t.document.spans) for t in held_out]
            def judge(weights):
                self.weights_ = weights
                right = found = 0
                for g, c in zip(gold, self.propose(held_out)):
                    chosen = {x.span for x in c if x.chosen}
                    found += len(chosen); right += len(chosen & g)
                return 2 * right / max(1, found + sum(map(len, gold)))
        return train(net, notes, characters, self._plan(notes), judge, unknown_values=self.encoder_.offsets[:-1], seed=seed)

    def _plan(self, notes):
        n = sum(len(x.words) for x in notes)
        tokens = self.batch_tokens; epochs = self.epochs
        return TrainingPlan(epochs, tokens, self.window, self.learning_rate, self.clip, self.word_dropout, self.value_dropout, self.average, self.patience)

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """Candidates for each note, in the order of the notes, scored by the probability of the span."""
        spellings: dict[str, int] = {}
        notes = [self.encoder_.encode(table, spellings) for table in tables]
        emissions = emissions_of(self.weights_, notes, self.encoder_.spell(spellings), self.window)
        w = self.weights_
        chain = Chain(self.tags_, w["transitions"], w["start"], w["end"]).constrained("BIO")
        return [propose(chain, e, t, self.name, self.threshold) for e, t in zip(emissions, tables, strict=True)]


def split_by_group(tables, share, seed):
    groups = sorted({t.document.group for t in tables})
    n = round(share * len(groups)) or int(share > 0)
    if n == 0 or len(groups) < 2: return list(tables), []
    held = set(random.Random(seed).sample(groups, n))
    a = [t for t in tables if t.document.group not in held]; b = [t for t in tables if t.document.group in held]
    return a, b


def _keras(threads: int):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3"); os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    import tensorflow as tf
    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads); tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        pass
