"""The states of character language models at the tokens of notes: contextual string embeddings.

    states_in(models, [(table, 0, len(table))])      [(n_tokens, models.size)]: one array for each run of sentences

A token's vector is the forward state after its last character, which has read the sentence up to there, and the
backward state before its first, which has read the rest of it (Akbik 2018). Each sentence is read alone, so that a
token's vector never depends on other sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from phistack.features.arrays import Floats32, Integers
from phistack.features.character_models import CharacterModels
from phistack.features.columns.table import FeatureTable
from phistack.submodels.blstm.inference import halved, lstm
from phistack.submodels.blstm.lstm import DIRECTIONS
from phistack.submodels.blstm.network_input import RowBatch

SentenceRun = tuple[FeatureTable, int, int]
"""Some whole sentences of a note: first token, token after the last."""

_SENTENCES_AT_ONCE = 128


class _Sentence(NamedTuple):
    """A sentence.

    :ivar text: from its first token to its last.
    :ivar row: its first token, all runs end to end.
    :ivar starts: where its tokens begin in the text; `ends` where they end.
    """

    text: str
    row: int
    starts: Integers
    ends: Integers


def states_in(models: CharacterModels, runs: Sequence[SentenceRun]) -> list[Floats32]:
    """The vectors of the tokens of each run, of shape `(n_tokens, models.size)`."""
    edges = np.cumsum([0, *(last - first for _, first, last in runs)])
    found = np.empty((int(edges[-1]), models.size), dtype=np.float32)
    sentences = sorted(_sentences(runs, edges), key=lambda sentence: -len(sentence.text))
    for first in range(0, len(sentences), _SENTENCES_AT_ONCE):
        _read(models, sentences[first : first + _SENTENCES_AT_ONCE], found)
    return [found[a:b] for a, b in pairwise(edges.tolist())]


def _sentences(runs: Sequence[SentenceRun], edges: Integers) -> Iterator[_Sentence]:
    for (table, first, last), begin in zip(runs, edges.tolist(), strict=False):
        starts, ends = (places.astype(np.int64) for places in table.offsets)
        inner = np.unique(np.clip(table.sentences, first, last)).tolist()
        for a, b in pairwise(inner):
            at = int(starts[a])
            text = table.document.text[at : int(ends[b - 1])]
            yield _Sentence(text, begin + a - first, starts[a:b] - at, ends[a:b] - at)


def _read(models: CharacterModels, sentences: Sequence[_Sentence], found: Floats32) -> None:
    """Write the vectors of the tokens of some sentences, the longest first, to their rows."""
    # (n,): the characters of all sentences end to end, each between two line ends.
    ids = [models.ids(sentence.text) for sentence in sentences]
    bounds = np.cumsum([0, *map(len, ids)])
    characters = np.concatenate(ids).astype(np.int64)
    batch = RowBatch.of(bounds[:-1], bounds[1:])
    # (n_tokens,): the row of each token, and the places of its first and last character.
    rows = np.concatenate([s.row + np.arange(len(s.starts)) for s in sentences])
    first, last = (
        np.concatenate([begin + 1 + places for begin, places in zip(bounds.tolist(), of_sentences, strict=False)])
        for of_sentences in ([s.starts for s in sentences], [s.ends - 1 for s in sentences])
    )
    units, vector = models.units, models.weights["word"].shape[1]
    for direction, order, places, column in zip(
        DIRECTIONS, (batch.ahead, batch.back), (last, first), (0, units), strict=True
    ):
        # (n_characters, 4 * units): what each character adds to the gates.
        kernel, bias = (halved(models.weights[name]) for name in (direction, f"{direction}_bias"))
        table: Floats32 = models.weights["word"] @ kernel[:vector] + bias
        states = np.empty((len(characters), units), dtype=np.float32)
        states[order] = lstm([(table, characters[order])], batch.sizes, kernel[vector:])
        found[rows, column : column + units] = states[places]
