"""Feature tables as the integer arrays that the BLSTM-CNN-CRF network reads.

    encoder = Encoder.of(tables, ("key", "section"))             learns the vocabularies
    spellings = {}                                               every word so far, numbered
    notes = [encoder.encode(table, spellings) for table in tables]

A word is looked up in lower case with its digits as 0; its characters are read unchanged, so the spelling of an unseen
word still counts. The id 0 is padding, 1 is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.table import FeatureTable, line_bounds
from phistack.features.columns.word_columns import normal_form
from phistack.submodels.blstm.rows import EncodedNote

UNKNOWN = 1
LONGEST_WORD = 20
"""Characters of a word that are read, with one of padding before and after."""


class Encoder:
    """Ids of words, characters and feature values.

    :param words: normal forms in the order of their ids, from 2.
    :param characters: in the order of their ids, from 2.
    :param columns: the feature columns that are read.
    :param values: for each column the known ids of the feature space.
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
        # Each column has its own unknown value, at its offset.
        self.offsets = np.cumsum([0, *(len(ids) + 1 for ids in self.values)], dtype=np.int32)
        # (n_ids,) for all columns end to end: id of the feature space -> id of the network. `_begins` has where each
        # column begins there, `_last_ids` its last id, which all higher ids are read as: `(n_columns,)`.
        lookups = [_lookup(ids, int(offset)) for ids, offset in zip(self.values, self.offsets, strict=False)]
        self._lookups = np.concatenate([np.zeros(0, dtype=np.int32), *lookups])
        self._last_ids = np.array([len(lookup) - 1 for lookup in lookups], dtype=np.int32)
        self._begins = np.cumsum([0, *(len(lookup) for lookup in lookups)], dtype=np.int32)[:-1]

    @classmethod
    def of(
        cls, tables: Sequence[FeatureTable], columns: Sequence[str], *, further: Iterable[str] = (), min_count: int = 2
    ) -> Encoder:
        """Learn the words, characters and values of some tables.

        :param further: normal forms that are known even if rare.
        :param min_count: what occurs less often is unknown.
        """
        distinct = Counter(word for table in tables for word in table.words)
        if (space := tables[0].space).discretion_:
            # Sorted, as the order of the words would show that of the notes.
            distinct = Counter({word: distinct[word] for word in sorted(distinct) if space.keeps(normal_form(word))})
        words: Counter[str] = Counter()
        characters: Counter[str] = Counter()
        for word, count in distinct.items():
            words[normal_form(word)] += count
            characters.update(word[:LONGEST_WORD])
        ids = [np.bincount(np.concatenate([table.column(name) for table in tables])) for name in columns]
        return cls(
            dict.fromkeys([*(word for word, count in words.items() if count >= min_count), *further]),
            [character for character, count in characters.items() if count >= min_count],
            columns,
            [[int(i) for i in np.flatnonzero(counts >= min_count) if i] for counts in ids],
        )

    def joined(self, other: Encoder) -> Encoder:
        """This encoder, with what another one of the same columns knows numbered after its own."""
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
        :param tags: all tags in the order of their ids; if given, the gold tags are read too.
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
        """Some rows of one note, as `rows_of` cuts them, each as its own note; the rest of the note is not read.

        :param spellings: as in `encode`.
        """
        # (n_tokens of the rows,): all rows are looked up at once, then cut.
        tokens = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(*row) for row in rows)])
        of_note = table.words
        ids, numbers = self._words([of_note[i] for i in tokens.tolist()], spellings)
        features, no_tags = self._features(table, tokens), np.zeros(0, dtype=np.int32)
        sentences, lines = table.sentences, line_bounds(table)
        begin = 0
        for first, last in rows:
            own = slice(begin, begin + last - first)
            inner = [_between(bounds, first, last) for bounds in (sentences, lines)]
            yield EncodedNote(ids[own], numbers[own], features[own], inner[0], inner[1], no_tags)
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


def _lookup(ids: Sequence[int], offset: int) -> Integers32:
    """Id of the feature space -> id of the network; the last entry is for all higher ids."""
    lookup = np.full(max(ids, default=0) + 2, offset, dtype=np.int32)
    lookup[list(ids)] = offset + 1 + np.arange(len(ids), dtype=np.int32)
    return lookup


def _between(bounds: Integers32, first: int, last: int) -> Integers32:
    """Where sentences or lines begin within a row, counted from its first token, and the row's length."""
    begin, end = bounds.searchsorted(first, "right"), bounds.searchsorted(last)
    return np.array([0, *(bounds[begin:end] - first).tolist(), last - first], dtype=np.int32)
