"""Training notes in which mentions of PHI are replaced by others of their kind.

    mentions = Mentions(notes, spans, encoder.columns)       spans: (first token, token after the last, label)
    mentions.replaced(0.3, generator)                        the same notes with about 0.3 of their mentions replaced

A network that reads the same notes in every epoch memorises names; with other hospitals and streets each time it has to
learn how hospitals are named and their context (Dai and Adel 2020). A mention is replaced by one of the same label
after the same key, so a date after `Fecha de nacimiento:` is not replaced by one from within a sentence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from phistack.features.arrays import Integers
from phistack.submodels.blstm.rows import EncodedNote

OF_THE_PLACE = frozenset((
    "key", "key_distance", "key_in_document", "section", "document_position", "line_start", "line_end", "line_position",
    "line_from_start", "line_from_end", "line_length", "times_in_document",
))  # fmt: skip
"""Columns of a token's place: a new mention takes over these values, and brings its own in all other columns."""

_ALIKE = "key"
"""The column that must be equal for one mention to replace another."""

MentionKind = tuple[str, int]
"""A label, and the value of the column `key` where the mention begins."""

_OF_TOKENS = ("words", "spellings", "features", "tags")
"""The fields of a note that have an entry for each token."""


class Mentions:
    """The mentions of some notes.

    :param notes: with tags, of one encoder.
    :param spans: for each note the first token, the token after the last and the label of its PHI, in order.
    :param columns: the names of the notes' feature columns.
    """

    def __init__(
        self, notes: Sequence[EncodedNote], spans: Iterable[Iterable[tuple[int, int, str]]], columns: Sequence[str]
    ) -> None:
        self.notes = notes
        column = columns.index(_ALIKE) if _ALIKE in columns else None
        # (n_notes + 1,): the first token of each note, all notes end to end, then the number of tokens.
        self._begins = np.cumsum([0, *(len(note.words) for note in notes)])
        # For each note its mentions in order, as tokens of all notes: first, after the last, kind.
        self.of_notes = [
            list(_mentions(note, int(begin), found, column))
            for note, begin, found in zip(notes, self._begins[:-1], spans, strict=True)
        ]
        self._by_kind: defaultdict[MentionKind, list[tuple[int, int]]] = defaultdict(list)
        for first, last, kind in (mention for mentions in self.of_notes for mention in mentions):
            self._by_kind[kind].append((first, last))
        self._staying = [place for place, name in enumerate(columns) if name in OF_THE_PLACE]

    def replaced(self, share: float, generator: np.random.Generator) -> list[EncodedNote]:
        """The notes with some mentions replaced by others of their kind.

        The columns `OF_THE_PLACE` stay; all other columns and the states of language models are the new mention's.

        :param share: how likely each mention is to be replaced.
        """
        notes = []
        for number, note in enumerate(self.notes):
            # (n_tokens,) of the changed note each: which token of all notes is read, and which token it replaces.
            read, places = self._tokens(number, share, generator)
            of_tokens = {name: values[read] for name, values in self._joined.items()}
            of_tokens["features"][:, self._staying] = note.features[:, self._staying][places]
            # No mention crosses the end of a sentence, so a bound stays before the first token that takes its place.
            bounds = {
                name: np.searchsorted(places, getattr(note, name)).astype(np.int32) for name in ("sentences", "lines")
            }
            notes.append(EncodedNote(**of_tokens, **bounds))
        return notes

    @cached_property
    def _joined(self) -> dict[str, Any]:
        """The tokens of all notes, end to end."""
        names = _OF_TOKENS if self.notes[0].states is None else (*_OF_TOKENS, "states")
        return {name: np.concatenate([getattr(note, name) for note in self.notes]) for name in names}

    def _tokens(self, number: int, share: float, generator: np.random.Generator) -> tuple[Integers, Integers]:
        """Which tokens of all notes the changed note has, and which of its own each one replaces."""
        begin, end = self._begins[number : number + 2]
        read, places, now = [], [], begin
        for first, last, kind in self.of_notes[number]:
            if generator.random() < share:
                others = self._by_kind[kind]
                other_first, other_last = others[generator.integers(len(others))]
                read += [np.arange(now, first), np.arange(other_first, other_last)]
                places += [read[-2], np.minimum(first + np.arange(other_last - other_first), last - 1)]
                now = last
        read.append(np.arange(now, end))
        places.append(read[-1])
        return np.concatenate(read), np.concatenate(places) - begin


def _mentions(
    note: EncodedNote, begin: int, spans: Iterable[tuple[int, int, str]], column: int | None
) -> Iterator[tuple[int, int, MentionKind]]:
    """The mentions of a note that begins at token `begin`, without those that the end of a sentence divides."""
    for first, last, label in spans:
        if not np.any((note.sentences > first) & (note.sentences < last)):
            value = 0 if column is None else int(note.features[first, column])
            yield begin + first, begin + last, (label, value)
