"""Feature tables as the integer arrays that the BLSTM-CNN-CRF network reads.

    encoder = Encoder.of(tables, ("key", "section"))             learns which words, characters and values there are
    spellings = {}                                               every word so far, numbered
    notes = [encoder.encode(table, spellings) for table in tables]
    rows = rows_of(notes, window=64)                             lines packed into rows of about 64 tokens
    for rows in batches_of(rows, tokens=2048): batch_of(rows, notes)

A word is looked up in lower case with its digits as 0; its characters are read as they are, so that a word unseen in
training still says how it is spelt. The id 0 stands for padding and 1 for the unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.features.columns.lines import line_bounds
from phistack.features.columns.table import FeatureTable
from phistack.features.columns.word_columns import normal_form

BatchArrays = dict[str, Any]
"""Name -> array of whole numbers; `states` is of 32-bit floats."""


PADDING, UNKNOWN = 0, 1
LONGEST_WORD = 20
"""Characters of a word that are read, with one of padding before and after."""


@dataclass(frozen=True, slots=True)
class EncodedNote:
    """The tokens of one note, as integers.

    :param words: word ids, of shape `(n_tokens,)`.
    :param spellings: the number of each token's word, of shape `(n_tokens,)`.
    :param features: value ids over all columns together, of shape `(n_tokens, n_columns)`.
    :param sentences: index of the first token of each sentence, then the number of tokens.
    :param lines: the same for the sentences of each line together; what one tag sequence covers.
    :param tags: tag ids, of shape `(n_tokens,)`; empty where they are not known.
    :param states: what language models say of each token, of shape `(n_tokens, n_states)`; `None` without any.
    """

    words: Integers32 = field(repr=False)
    spellings: Integers32 = field(repr=False)
    features: Integers32 = field(repr=False)
    sentences: Integers32 = field(repr=False)
    lines: Integers32 = field(repr=False)
    tags: Integers32 = field(repr=False)
    states: Floats32 | None = field(default=None, repr=False)


TokenRange = tuple[int, int, int]
"""Some lines or sentences of a note: its place in a list of notes, first token, token after the last."""


class Encoder:
    """Numbers for words, characters and feature values.

    :param words: normal forms in the order of their ids, from 2.
    :param characters: in the order of their ids, from 2.
    :param columns: the feature columns that are read.
    :param values: for each column the ids (of the feature space) that have a number of their own.
    """

    def __init__(
        self, words: Iterable[str], characters: Iterable[str], columns: Sequence[str], values: Sequence[Sequence[int]]
    ) -> None:
        self.words = list(words)
        self.characters = list(characters)
        self.columns = tuple(columns)
        self.values = [list(ids) for ids in values]
        self._word_ids = {word: number for number, word in enumerate(self.words, 2)}
        self._character_ids = {character: number for number, character in enumerate(self.characters, 2)}
        # Each column has an unknown value of its own, at its offset.
        self.offsets = np.cumsum([0, *(len(ids) + 1 for ids in self.values)], dtype=np.int32)
        # (n_ids,) for all columns end to end: id of the feature space -> id of the network. `_begins` says where the
        # ids of a column begin there, `_last_ids` which is its last, for all that training did not see:
        # `(n_columns,)`.
        lookups = [self._lookup(ids, int(offset)) for ids, offset in zip(self.values, self.offsets, strict=False)]
        self._lookups = np.concatenate([np.zeros(0, dtype=np.int32), *lookups])
        self._last_ids = np.array([len(lookup) - 1 for lookup in lookups], dtype=np.int32)
        self._begins = np.cumsum([0, *(len(lookup) for lookup in lookups)], dtype=np.int32)[:-1]

    @classmethod
    def of(
        cls,
        tables: Sequence[FeatureTable],
        columns: Sequence[str],
        *,
        least_count: int = 2,
        further: Iterable[str] = (),
    ) -> Encoder:
        """Learn what occurs in tables; words and values seen less than `least_count` times are unknown.

        :param further: normal forms of words that are known however often they occur.
        """
        distinct = Counter(word for table in tables for word in table.words)
        words: Counter[str] = Counter()
        characters: Counter[str] = Counter()
        for word, count in distinct.items():
            words[normal_form(word)] += count
            characters.update(word[:LONGEST_WORD])
        ids = [np.bincount(np.concatenate([table.column(name) for table in tables])) for name in columns]
        return cls(
            dict.fromkeys([*(word for word, count in words.items() if count >= least_count), *further]),
            [character for character, count in characters.items() if count >= least_count],
            columns,
            [[int(i) for i in np.flatnonzero(counts >= least_count) if i] for counts in ids],
        )

    def joined(self, other: Encoder) -> Encoder:
        """One that also knows what another knows that reads the same columns, and numbers that last."""
        return Encoder(
            dict.fromkeys([*self.words, *other.words]),
            dict.fromkeys([*self.characters, *other.characters]),
            self.columns,
            [list(dict.fromkeys([*own, *others])) for own, others in zip(self.values, other.values, strict=True)],
        )

    def encode(
        self, table: FeatureTable, spellings: dict[str, int], tags: Sequence[str] = (), *, scheme: str = "BIO"
    ) -> EncodedNote:
        """One note as integers.

        :param spellings: words and their numbers so far; words of the note are added.
        :param tags: where given, the gold tags are read too, as places in it.
        :param scheme: of the gold tags.
        """
        places = {tag: place for place, tag in enumerate(tags)}
        return EncodedNote(
            *self._words(table.words, spellings),
            self._features(table, np.arange(len(table))),
            table.sentences,
            line_bounds(table),
            np.array([places[tag] for tag in table.tags(scheme=scheme)] if tags else [], dtype=np.int32),
        )

    def encode_rows(
        self, table: FeatureTable, rows: Sequence[tuple[int, int]], spellings: dict[str, int]
    ) -> Iterator[EncodedNote]:
        """Some rows of one note, each as a note of its own; nothing else of the note is read.

        :param rows: some of those that `rows_between` gives.
        :param spellings: as in `encode`.
        """
        # (n_tokens of the rows,): all rows are looked up at once, and then cut.
        tokens = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(*row) for row in rows)])
        of_note = table.words
        ids, numbers = self._words([of_note[i] for i in tokens.tolist()], spellings)
        features, nothing = self._features(table, tokens), np.zeros(0, dtype=np.int32)
        sentences, lines = table.sentences, line_bounds(table)
        begin = 0
        for first, last in rows:
            own = slice(begin, begin + last - first)
            inner = [_between(bounds, first, last) for bounds in (sentences, lines)]
            yield EncodedNote(ids[own], numbers[own], features[own], inner[0], inner[1], nothing)
            begin += last - first

    def word_ids(self, forms: Iterable[str]) -> Integers32:
        """The ids of normal forms of words, of shape `(n_words,)`."""
        return np.array([self._word_ids.get(form, UNKNOWN) for form in forms], dtype=np.int32)

    def spell(self, words: Iterable[str]) -> Integers32:
        """Character ids of words, of shape `(n_words, LONGEST_WORD + 2)`."""
        begun = [word[:LONGEST_WORD] for word in words]
        together = "".join(begun)
        known = {character: self._character_ids.get(character, UNKNOWN) for character in set(together)}
        # (n_words, LONGEST_WORD + 2): the first characters of each word after one of padding.
        there = np.arange(LONGEST_WORD + 2) - 1
        lengths = np.array([len(word) for word in begun], dtype=np.int64)
        characters = np.zeros((len(begun), LONGEST_WORD + 2), dtype=np.int32)
        characters[(there >= 0) & (there < lengths[:, None])] = [known[character] for character in together]
        return characters

    def _words(self, words: Sequence[str], spellings: dict[str, int]) -> tuple[Integers32, Integers32]:
        """Ids and numbers of words, each of shape `(n_words,)`."""
        numbers = [spellings.setdefault(word, len(spellings)) for word in words]
        return self.word_ids(map(normal_form, words)), np.array(numbers, dtype=np.int32)

    def _features(self, table: FeatureTable, tokens: Integers) -> Integers32:
        # (n_tokens, n_columns): all columns are looked up at once.
        ids = np.empty((len(tokens), len(self.columns)), dtype=np.int32)
        for place, name in enumerate(self.columns):
            ids[:, place] = table.column(name)[tokens]
        return self._lookups[np.minimum(ids, self._last_ids) + self._begins]

    @staticmethod
    def _lookup(ids: Sequence[int], offset: int) -> Integers32:
        """Id of the feature space -> id of the network; one further id than known, for all that are higher."""
        lookup = np.full(max(ids, default=0) + 2, offset, dtype=np.int32)
        lookup[list(ids)] = offset + 1 + np.arange(len(ids), dtype=np.int32)
        return lookup


def _between(bounds: Integers32, first: int, last: int) -> Integers32:
    """Where the sentences or lines of a note begin that lie in a row, counted from its first token, and its length."""
    begin, end = bounds.searchsorted(first, "right"), bounds.searchsorted(last)
    return np.array([0, *(bounds[begin:end] - first).tolist(), last - first], dtype=np.int32)


def rows_of(notes: Sequence[EncodedNote], *, window: int) -> list[TokenRange]:
    """Consecutive lines joined into rows of at most `window` tokens, so that the network sees what is around a line.

    A longer line has a row of its own; one of more than twice the window is taken by its sentences.
    """
    return [
        (number, first, last)
        for number, note in enumerate(notes)
        for first, last in rows_between(note.lines, note.sentences, window)
    ]


def rows_between(lines: Integers32, sentences: Integers32, window: int) -> Iterator[tuple[int, int]]:
    """The rows of one note, as first token and token after the last, from where its lines and sentences begin."""
    first = last = 0
    for start, end in _pieces(lines, sentences, 2 * window):
        if end - first > window and last > first:
            yield first, last
            first = start
        last = end
    if last > first:
        yield first, last


def _pieces(lines: Integers32, sentences: Integers32, longest: int) -> Iterator[tuple[int, int]]:
    """Lines as (first token, token after the last); a line of more than `longest` tokens by its sentences."""
    for start, end in pairwise(lines.tolist()):
        if end - start <= longest:
            yield start, end
        else:
            yield from pairwise(sentences[(sentences >= start) & (sentences <= end)].tolist())


def batches_of(rows: Sequence[TokenRange], *, tokens: int, at_once: int = 0) -> list[list[TokenRange]]:
    """Rows of about the same length put together, so that a batch has about `tokens` tokens with its padding.

    :param at_once: in its place, how many rows a batch has.
    :returns: batches, the shortest rows first; rows of equal length stay in order.
    """
    batches: list[list[TokenRange]] = []
    for row in sorted(rows, key=lambda row: row[2] - row[1]):
        length = row[2] - row[1]
        n_with = len(batches[-1]) + 1 if batches else 0
        if not batches or (n_with > at_once if at_once else n_with * length > tokens):
            batches.append([])
        batches[-1].append(row)
    return batches


def batch_of(rows: Sequence[TokenRange], notes: Sequence[EncodedNote]) -> BatchArrays:
    """The arrays of some rows, padded with 0 to the longest.

    :returns: `words`, `spellings`, `begins` (1 where a tag sequence begins), `tags` of shape `(n_rows, n_tokens)`,
        `features` of shape `(n_rows, n_tokens, n_columns)`, `lengths` of shape `(n_rows,)`; with language models also
        `states` of shape `(n_rows, n_tokens, n_states)`.
    """
    # (n_rows, n_tokens), padded with 0: where it stands, the id 0 is that of no word and of no character.
    lengths = np.array([last - first for _, first, last in rows], dtype=np.int32)
    shape = (len(rows), int(lengths.max()))
    words, spellings, tags, begins = (np.zeros(shape, dtype=np.int32) for _ in range(4))
    features = np.zeros((*shape, notes[rows[0][0]].features.shape[1]), dtype=np.int32)
    for i, (number, first, last) in enumerate(rows):
        note, n = notes[number], last - first
        words[i, :n] = note.words[first:last]
        spellings[i, :n] = note.spellings[first:last]
        features[i, :n] = note.features[first:last]
        if len(note.tags):
            tags[i, :n] = note.tags[first:last]
        begins[i, 0] = 1
        begins[i, note.lines[(note.lines > first) & (note.lines < last)] - first] = 1
    batch: BatchArrays = {
        "words": words, "spellings": spellings, "features": features, "lengths": lengths, "begins": begins, "tags": tags
    }  # fmt: skip
    if (first_states := notes[rows[0][0]].states) is not None:
        states = batch["states"] = np.zeros((*shape, first_states.shape[1]), dtype=np.float32)
        for i, (number, first, last) in enumerate(rows):
            states[i, : last - first] = states_of(notes[number], slice(first, last))
    return batch


def states_of(note: EncodedNote, tokens: slice) -> Floats32:
    """What language models say of some tokens of a note, of shape `(n_tokens, n_states)`; of no width without any."""
    return np.zeros((tokens.stop - tokens.start, 0), dtype=np.float32) if note.states is None else note.states[tokens]


def with_characters(batch: BatchArrays, characters: Integers32) -> BatchArrays:
    """The batch with the spelling of its distinct words as `characters`, and `spellings` as places in that.

    :param characters: of all words, as `Encoder.spell` gives it.
    """
    # (n_words,) and (n_rows * n_tokens,): a batch has fewer distinct words than tokens, and the CNN reads each once.
    distinct, places = np.unique(batch["spellings"], return_inverse=True)
    spellings = places.reshape(batch["spellings"].shape).astype(np.int32)
    return batch | {"spellings": spellings, "characters": characters[distinct]}
