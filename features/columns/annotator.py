"""What adds a column that another program tags, and what those that do so share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

from phistack.features.arrays import Integers32

WITHOUT = 'or do without, with {0} = "" under [features] of the settings file'
"""What to do where a tagger cannot be had; to be filled with the name of the column."""

TagSentences = Callable[[list[list[str]]], list[list[tuple[str, str]]]]
"""From the tokens of sentences to the same with their tags."""


class Annotator(Protocol):
    """Adds a column that depends on whole sentences."""

    @property
    def column(self) -> str:
        """The column's name."""
        ...

    @property
    def language(self) -> str:
        """The only language that it knows; empty where it knows several, or does not say which."""
        ...

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """Column -> the value of each token.

        :param words: the tokens' text, `n_tokens` of them.
        :param sentences: index of the first token of each sentence, then `n_tokens`: shape `(n_sentences + 1,)`.
        :raises MissingResourceError: if the data or the server that the annotator needs is not there.
        """
        ...


def cut_sentences(words: Sequence[str], sentences: Integers32) -> list[list[str]]:
    """The tokens of each sentence; as in `Annotator.columns`."""
    return [list(words[a:b]) for a, b in pairwise(sentences.tolist())]
