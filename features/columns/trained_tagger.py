"""A tagger of our own: a CRF over words, letters and neighbours, which `phistack tagger` learns from tagged text.

    tagger = TrainedTagger.read(Path("pos-nl.json"))
    tagger([["Mijn", "basisniveau", "is", "flink"]])    [["PRON", "NOUN", "AUX", "ADJ"]]
    attributes_of(["Ann", "left"])[0]                   ["bias", "word=ann", "suffix3=ann", ..., "shape=Xx"]

A file is JSON: language, tags, the weight of each step from tag to tag, and those of each attribute by tag. It holds
words of the text that it was learned from. An engine whose settings name it keeps it whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import msgspec
import numpy as np

from phistack.features.arrays import Floats
from phistack.features.columns.word_columns import short_shape
from phistack.features.files import file_named, read_regular

SUFFIX = ".json"
"""The ending by which settings recognise files of our taggers."""

_NEAR = (-2, -1, 1, 2)


def attributes_of(words: Sequence[str]) -> list[list[str]]:
    """What the CRF reads at each token of a sentence: the word, its letters and shape, and its neighbours."""
    lower = ["<", "<", *map(str.lower, words), ">", ">"]
    return [
        [
            "bias", f"word={low}", *(f"suffix{n}={low[-n:]}" for n in (1, 2, 3)), f"prefix1={word[:1]}",
            f"prefix3={low[:3]}", f"shape={short_shape(word)}", f"first={at == 0}",
            *(f"word[{step}]={lower[at + 2 + step]}" for step in _NEAR),
            *(f"suffix3[{step}]={lower[at + 2 + step][-3:]}" for step in (-1, 1)),
        ]
        for at, (word, low) in enumerate(zip(words, lower[2:], strict=False))
    ]  # fmt: skip


@dataclass(frozen=True)
class TrainedTagger:
    """A linear-chain model.

    :param language: ISO 639-1 code of its text; empty if unknown.
    :param tags: the L tags.
    :param transitions: `(L, L)`: weight of the step from one tag to the next.
    :param weights: attribute -> tag -> weight.
    """

    language: str
    tags: tuple[str, ...]
    transitions: tuple[tuple[float, ...], ...] = field(repr=False)
    weights: Mapping[str, Mapping[str, float]] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.tags or [len(row) for row in self.transitions] != [len(self.tags)] * len(self.tags):
            raise ValueError("it has not a weight for each step from tag to tag")
        if not {tag for of_tags in self.weights.values() for tag in of_tags} <= {*self.tags}:
            raise ValueError("it has weights for other tags than its own")

    @classmethod
    def read(cls, path: Path) -> Self:
        """The tagger in a file; :raises SettingsError: if it cannot be read or is not one."""
        with file_named("the tagger", path):
            return msgspec.json.decode(read_regular(path), type=cls)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return asdict(self)

    @cached_property
    def _table(self) -> tuple[dict[str, int], Floats]:
        """The number of each attribute, and the weights, `(n_attributes, L)`."""
        number = {tag: i for i, tag in enumerate(self.tags)}
        table = np.zeros((len(self.weights), len(self.tags)))
        for row, of_tags in zip(table, self.weights.values(), strict=True):
            for tag, weight in of_tags.items():
                row[number[tag]] = weight
        return {name: i for i, name in enumerate(self.weights)}, table

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The most probable tags of each sentence, by Viterbi's algorithm."""
        numbers, table = self._table
        steps = np.array(self.transitions)
        found = []
        for words in sentences:
            known = ([numbers[name] for name in names if name in numbers] for names in attributes_of(words))
            # (n_tokens, L)
            emissions = np.array([table[of_token].sum(axis=0) for of_token in known])
            found.append([self.tags[i] for i in _best_path(emissions, steps)])
        return found


def _best_path(emissions: Floats, steps: Floats) -> list[int]:
    """The tags with the largest sum; :param emissions: `(n_tokens, L)` with a token; :param steps: `(L, L)`."""
    score, before = emissions[0], []
    for row in emissions[1:]:
        paths = score[:, None] + steps
        before.append(paths.argmax(axis=0))
        score = paths.max(axis=0) + row
    path = [int(score.argmax())]
    for origin in reversed(before):
        path.append(int(origin[path[-1]]))
    return path[::-1]
