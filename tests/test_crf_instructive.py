"""Which tokens the CRF learns from, and that it is as good as with all tokens."""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from phistack.ensemble.synthesis import synthesize
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.submodels.blstm.training import f1_of
from phistack.submodels.crf.crfsuite import instructive_tokens, pieces
from phistack.submodels.crf.submodel import CrfSubmodel

_CORPORA = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(st.integers(-1, 5), min_size=n, max_size=n), min_size=1, max_size=4),
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n),
    )
)
"""Attributes by template and token, what is PHI, and where lines begin."""


def _arrays(corpus: tuple[list[list[int]], list[bool], list[bool]]) -> tuple[NDArray[np.int32], Any, Any]:
    rows, is_phi, begins = corpus
    # (n_templates, n_tokens): each template has attributes of its own.
    attributes = np.array([[a if a < 0 else 6 * i + a for a in row] for i, row in enumerate(rows)], dtype=np.int32)
    return attributes, np.array(is_phi), np.cumsum(begins)


@given(_CORPORA)
def test_the_whole_corpus_is_learned_from_if_asked(corpus: tuple[list[list[int]], list[bool], list[bool]]) -> None:
    attributes, is_phi, lines = _arrays(corpus)
    assert instructive_tokens(attributes, is_phi, lines, look_alikes=0.0, others=1.0).all()


@given(_CORPORA)
def test_without_a_sample_it_is_phi_and_its_neighbours(corpus: tuple[list[list[int]], list[bool], list[bool]]) -> None:
    attributes, is_phi, lines = _arrays(corpus)
    near = [
        any(is_phi[j] and lines[j] == lines[i] for j in range(max(i - 1, 0), min(i + 2, len(lines))))
        for i in range(len(lines))
    ]
    assert instructive_tokens(attributes, is_phi, lines, look_alikes=0.0, others=0.0).tolist() == near


@given(_CORPORA, st.integers(1, 5))
def test_what_looks_most_like_phi_to_naive_bayes_is_learned_from(
    corpus: tuple[list[list[int]], list[bool], list[bool]], n_taken: int
) -> None:
    attributes, is_phi, lines = _arrays(corpus)
    if not is_phi.any():
        return

    def likeness(token: int) -> float:
        total = 0.0
        for row in attributes:
            if row[token] >= 0:
                same = row == row[token]
                same[token] = False
                total += log((same & is_phi).sum() + 0.5) - log((same & ~is_phi).sum() + 1.5)
        return total

    outside = sorted((likeness(i) for i in np.flatnonzero(~is_phi).tolist()), reverse=True)
    learned = instructive_tokens(attributes, is_phi, lines, look_alikes=n_taken / is_phi.sum(), others=0.0)
    for token in np.flatnonzero(~learned).tolist():
        assert n_taken <= len(outside) and likeness(token) <= outside[n_taken - 1] + 1e-9


def test_the_sample_is_spread_evenly() -> None:
    n = 400_000
    attributes, is_phi = np.full((1, n), -1, dtype=np.int32), np.zeros(n, dtype=bool)
    learned = instructive_tokens(attributes, is_phi, np.arange(n), look_alikes=0.3, others=0.05)
    assert learned.mean() == pytest.approx(0.05)
    assert learned.reshape(10, -1).mean(axis=1) == pytest.approx(0.05)


@given(_CORPORA)
def test_pieces_are_the_runs_of_chosen_tokens_in_lines(corpus: tuple[list[list[int]], list[bool], list[bool]]) -> None:
    _, chosen, lines = _arrays(corpus)
    found = list(pieces(chosen, lines))
    assert [i for piece in found for i in range(piece.start, piece.stop)] == np.flatnonzero(chosen).tolist()
    assert all(len(set(lines[piece])) == 1 for piece in found)
    assert all(a.stop < b.start or lines[a.start] != lines[b.start] for a, b in pairwise(found))


def _with_prose(document: Document) -> Document:
    """The note with text after it that is nothing like PHI."""
    return Document(
        document.id, document.text + "\n" + "the lungs were clear and there was no cough . " * 120, document.spans
    )


def test_most_text_is_left_out_and_what_is_learned_finds_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    import pycrfsuite

    class Counting(pycrfsuite.Trainer):  # type: ignore[misc]
        n_tokens = 0

        def append(self, xseq: list[list[str]], yseq: list[str], group: int = 0) -> None:
            Counting.n_tokens += len(yseq)
            super().append(xseq, yseq, group)

    monkeypatch.setattr(pycrfsuite, "Trainer", Counting)
    notes = [_with_prose(document) for document in synthesize(n_documents=24, seed=5).documents]
    tables = FeatureSpace(FeatureSettings(without=("gazetteers",))).fit(notes)
    taught, held_out = tables[:18], tables[18:]
    right = []
    for others in (0.05, 1.0):
        right.append(
            f1_of(held_out, CrfSubmodel(max_iterations=20, others=others, scheme="BIO").fit(taught).propose(held_out))
        )
        if others < 1:
            assert Counting.n_tokens < 0.5 * sum(map(len, taught))
    assert right[0] >= right[1] - 0.02
