"""Pretrained representations of words: vectors, and clusters as columns.

    shown = Representations.read(words, vectors="medline.bin", n_clusters=200, clusters="brown.txt")
    shown.column("brown6", layout)     codes of "", "011010", ...: the first 6 bits of the word's cluster
    shown.vectors                      initial weights for a network

Only words of the training notes are kept. A trained engine keeps their clusters but not their vectors, which are in the
weights of its network, and it keeps character language models whole. Brown 1992 with prefixes as in Ratinov and Roth
2009; clusters of vectors as in Liu 2017 and Adams 2019.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self, TypedDict

from phistack.features.arrays import Floats32
from phistack.features.character_models import CharacterModels
from phistack.features.columns.layout import Layout
from phistack.features.columns.vocabulary import Coded
from phistack.features.columns.word_columns import NONE, normal_form
from phistack.features.errors import BundleError
from phistack.features.word_vectors import WordVectors, read_clusters, read_vectors

BROWN_COLUMNS: Mapping[str, int] = {"brown4": 4, "brown6": 6, "brown10": 10, "brown20": 20}
"""Column -> number of bits of the word's cluster."""

VECTOR_CLUSTER = "vector_cluster"
"""The column of the cluster of a word's vector."""

_SEED = 0


class RepresentationsState(TypedDict, total=False):
    """Normal form of a word -> its Brown cluster, or the cluster of its vector."""

    brown: dict[str, str]
    vector_clusters: dict[str, int]


@dataclass(frozen=True)
class Representations:
    """Representations of words, by normal form.

    :param brown: word -> bits of its Brown cluster.
    :param vector_clusters: word -> number of the cluster of its vector.
    :param vectors: in training only.
    :param language_models: of characters; kept by a trained engine.
    """

    brown: Mapping[str, str] = field(default_factory=dict, repr=False)
    vector_clusters: Mapping[str, int] = field(default_factory=dict, repr=False)
    vectors: WordVectors | None = field(default=None, repr=False)
    language_models: CharacterModels | None = field(default=None, repr=False)

    @classmethod
    def read(
        cls,
        words: Collection[str],
        *,
        vectors: str,
        n_clusters: int,
        clusters: str,
        further: int,
        language_models: str = "",
    ) -> Self:
        """Read the representations of some words from files.

        :param words: normal forms.
        :param vectors: a file of word vectors; empty for none.
        :param n_clusters: of the vectors.
        :param clusters: a file of Brown clusters; empty for none.
        :param further: the number of words from the front of each file to keep as well.
        :param language_models: a folder; empty for none.
        :raises SettingsError: if a file cannot be used.
        """
        found = read_vectors(Path(vectors), words, further=further) if vectors else None
        return cls(
            read_clusters(Path(clusters), words, further=further) if clusters else {},
            dict(zip(found.words, k_means(found.rows, n_clusters), strict=True)) if found else {},
            found,
            CharacterModels.read(Path(language_models)) if language_models else None,
        )

    def __bool__(self) -> bool:
        return bool(self.brown or self.vector_clusters)

    def column(self, name: str, layout: Layout) -> Coded:
        """The column `VECTOR_CLUSTER` or one of `BROWN_COLUMNS`; empty for unknown words."""
        if name == VECTOR_CLUSTER:
            return layout.mapped_words(name, lambda word: str(self.vector_clusters.get(normal_form(word), NONE)))
        n_bits = BROWN_COLUMNS[name]
        return layout.mapped_words(name, lambda word: self.brown.get(normal_form(word), NONE)[:n_bits])

    @cached_property
    def digest(self) -> str:
        """A hash of all representations."""
        digest = hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode())
        if self.vectors is not None:
            digest.update(json.dumps(self.vectors.words).encode() + self.vectors.rows.tobytes())
        if self.language_models is not None:
            digest.update(self.language_models.digest.encode())
        return digest.hexdigest()

    def to_dict(self) -> RepresentationsState:
        """The clusters, JSON-ready."""
        return {"brown": dict(self.brown), "vector_clusters": dict(self.vector_clusters)}

    @classmethod
    def from_dict(cls, state: RepresentationsState, language_models: CharacterModels | None = None) -> Self:
        """From the result of `to_dict` and language models; :raises BundleError: for invalid clusters."""
        brown = state.get("brown", {})
        if any(not bits or bits.strip("01") for bits in brown.values()):
            raise BundleError("the word clusters of the engine are no strings of 0 and 1")
        return cls(brown, state.get("vector_clusters", {}), language_models=language_models)


def k_means(rows: Floats32, n_clusters: int) -> list[int]:
    """The number of the cluster of each vector, by mini-batch k-means with a fixed seed.

    :param rows: of shape `(n_words, size)`.
    """
    import numpy as np
    from sklearn.cluster import MiniBatchKMeans

    n_different = len(np.unique(rows, axis=0))
    machine = MiniBatchKMeans(min(n_clusters, n_different), random_state=_SEED, n_init=3, batch_size=4096)
    numbers: list[int] = machine.fit_predict(rows).tolist()
    return numbers
