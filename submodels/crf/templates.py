"""The CRF's feature crosses, declared as data, and the attributes that they give to tokens.

    (("word", 0),)                        the word itself
    (("word", -1), ("word", 0))           the word and the one before it
    (("key", 0), ("short_shape", 0))      the key before the colon with the word's shape

A template is a tuple of columns of the feature table, each with an offset from the token. What it reads at one token
makes one attribute: `37:5120` is the template 37 with the values that the number 5120 stands for. Attributes are made
from the ids of values, a whole corpus at a time; no string is built for a single token.

The templates follow Liu 2017 (word n-grams, affixes, shapes, orthography, sentence information, section, dictionaries)
and Zhao 2020 (stem, key, numbers, layout, repetition in the document).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

import numpy as np

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.errors import SettingsError

Cross = tuple[tuple[str, int], ...]

_AT = "@"
"""Between a column and the offset of a word; no column has it in its name."""

_NEAR = (-2, -1, 0, 1, 2)
_BESIDE = (-1, 0, 1)
_PAIRS = ((-2, -1), (-1, 0), (0, 1), (1, 2))
_TRIPLES = ((-2, -1, 0), (-1, 0, 1), (0, 1, 2))

_WINDOWS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("word", _NEAR), ("lower", (-4, -3, *_NEAR, 3, 4)), ("stem", _NEAR), ("shape", _NEAR), ("short_shape", _NEAR),
    ("number", _NEAR),
    *((f"{affix}{n}", (0,)) for affix in ("prefix", "suffix") for n in (1, 2, 3, 4, 5, 8)),
    ("prefix3", (-1, 1)), ("suffix3", (-1, 1)), ("suffix2", (-1, 1)),
    ("key", (0,)), ("section", (0,)), ("key_in_document", _BESIDE),
    ("line_start", (0,)), ("line_end", (0,)), ("line_position", (0,)), ("line_length", (0,)),
    ("line_from_start", (0,)), ("line_from_end", (0,)), ("document_position", (0,)), ("space_before", (0, 1)),
    ("sentence_length", (0,)), ("end_mark", (0,)), ("unmatched_bracket", (0,)), ("times_in_document", (0,)),
    *((name, _BESIDE) for name in ("first_name", "last_name", "city", "region", "country", "month", "weekday")),
    ("occupation", _BESIDE), ("relative", _BESIDE), ("piece_shape", (-2, -1, 0, 1, 2)),
    ("pos", _NEAR), ("ner", _BESIDE),
    *((name, _BESIDE) for name in ("brown4", "brown6", "brown10", "brown20", "vector_cluster")),
)  # fmt: skip
"""Columns read alone, and the offsets at which they are."""

_RUNS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("word", _PAIRS + _TRIPLES), ("lower", _PAIRS), ("stem", _PAIRS), ("shape", _PAIRS + _TRIPLES),
    ("short_shape", _PAIRS + _TRIPLES), ("number", _PAIRS), ("pos", _PAIRS + _TRIPLES),
)  # fmt: skip
"""Columns read at several neighbouring tokens together."""

_CROSSES: tuple[tuple[str, ...], ...] = (
    ("key", "key_distance"), ("key", "key_distance", "shape"), ("key", "short_shape"), ("key", "word"),
    ("key", "number"), ("key_in_document", "short_shape"), ("key_in_document", "key"),
    ("section", "key_distance"), ("section", "shape"), ("section", "short_shape"), ("section", "word"),
    ("line_from_start", "short_shape"), ("line_from_end", "short_shape"),
    ("times_in_document", "short_shape"), ("length", "short_shape"), ("word", "pos"),
    ("piece_shape", "place_in_piece"), ("piece_shape", "word"), ("piece_shape", "key"),
    ("first_name", "short_shape"), ("last_name", "short_shape"), ("city", "key"),
)  # fmt: skip
"""Columns of one token read together."""

_CONTEXTS: tuple[Cross, ...] = (
    (("short_shape", -1), ("word", 0)), (("word", 0), ("short_shape", 1)),
    (("piece_shape", 0), ("word", -1)), (("piece_shape", 0), ("word", 1)), (("piece_shape", 0), ("lower", -2)),
    (("relative", 0), ("lower", -1)), (("relative", 0), ("lower", 1)),
    (("key", 0), ("word", -1)), (("key", 0), ("word", 1)),
    (("key", 0), ("short_shape", -1), ("short_shape", 0), ("short_shape", 1)),
)  # fmt: skip
"""Different columns of neighbouring tokens read together."""

TEMPLATES: tuple[Cross, ...] = (
    *(((name, offset),) for name, offsets in _WINDOWS for offset in offsets),
    *(tuple((name, offset) for offset in run) for name, runs in _RUNS for run in runs),
    *(tuple((name, 0) for name in names) for names in _CROSSES),
    *_CONTEXTS,
)
"""What the CRF reads by default."""


def usable(templates: Iterable[Cross], columns: Collection[str]) -> tuple[Cross, ...]:
    """The templates that name none but the given columns."""
    return tuple(template for template in templates if all(name in columns for name, _ in template))


@dataclass(frozen=True, eq=False)
class Crosses:
    """Reads templates at tokens, as numbers.

    A value of a template is one number: the ids of its columns as digits, each in the base of its column. Beyond the
    ends of a note a column has an id of its own. A template with a value unseen in training, or whose column does not
    apply to the token, gives nothing.

    :param templates: what is read; a column of a neighbouring word stands with no offset, under a name such as
        `stem@-1`.
    :param base: column -> above all its ids, and the one less is that of the places beyond the ends of a note.
    :param none: column -> the id that says that it does not apply to a token; -1 if it applies everywhere.
    """

    templates: tuple[Cross, ...]
    base: Mapping[str, int] = field(repr=False)
    none: Mapping[str, int] = field(repr=False)

    @classmethod
    def of(cls, templates: tuple[Cross, ...], space: FeatureSpace, *, whole_words: bool = False) -> Crosses:
        """The templates in a fitted feature space, whose ids never change.

        :param templates: only of columns that the space has.
        :param whole_words: whether their offsets count words, where tokens are pieces of words.
        :raises SettingsError: if a template crosses so many columns that 63 bits cannot number its values.
        """
        if whole_words:
            templates = tuple(tuple(starmap(_of_word, cross)) for cross in templates)
        names = sorted({name for cross in templates for name, _ in cross})
        values = {name: space.values(name.partition(_AT)[0]) for name in names}
        base = {name: len(found) + 1 for name, found in values.items()}
        for template in templates:
            if math.prod(base[name] for name, _ in template) >= 2**63:
                raise SettingsError(f"the CRF's template {template} crosses too many values; leave a column out")
        return cls(templates, base, {name: _id_of_none(found) for name, found in values.items()})

    def read(self, tables: Sequence[FeatureTable]) -> list[Integers]:
        """The values of each template at all tokens of the notes, laid end to end.

        :returns: for each template an array of shape `(n_tokens,)`, -1 where it gives nothing.
        """
        columns, places = self.laid_out(tables)
        return [self._read_one(template, columns, places) for template in self.templates]

    def laid_out(self, tables: Sequence[FeatureTable]) -> tuple[dict[str, Integers], Integers]:
        """The columns of all notes, with ids of beyond before, between and after them, and the places of the tokens.

        There are so many such ids that a template at a token never reads what is before the first or another note's.
        """
        # (width + n_tokens + n_notes * width,) for each column: `beyond` before the first note and after each.
        width = max((abs(offset) for template in self.templates for _, offset in template), default=0)
        columns = {}
        for name, base in self.base.items():
            beyond = np.full(width, base - 1, dtype=np.int64)
            parts = (part for table in tables for part in (self._ids(table, name), beyond))
            columns[name] = np.concatenate([beyond, *parts])
        lengths = [len(table) for table in tables]
        places = np.arange(sum(lengths)) + np.repeat(np.arange(1, len(tables) + 1) * width, lengths)
        return columns, places

    def _ids(self, table: FeatureTable, name: str) -> Integers32:
        """The ids of a column at each token, or at the word that its name says, of shape `(n_tokens,)`."""
        column, _, offset = name.partition(_AT)
        ids = table.column(column)
        if not offset:
            return ids
        places = table.neighbours(int(offset))
        found: Integers32 = np.where(places < 0, np.int32(self.base[name] - 1), ids[places])
        return found

    def bases(self, number: int) -> list[int]:
        """Above all ids that each column of a template can have."""
        return [self.base[name] for name, _ in self.templates[number]]

    def digits(self, number: int, values: Integers) -> list[Integers]:
        """The ids of each column of a template that make some of its values."""
        found = []
        for base in reversed(self.bases(number)):
            values, ids = np.divmod(values, base)
            found.append(ids)
        return found[::-1]

    def _read_one(self, template: Cross, columns: dict[str, Integers], places: Integers) -> Integers:
        # (n_tokens,): the ids at the offsets as the digits of one number, and where one of them says nothing.
        values = np.zeros(len(places), dtype=np.int64)
        silent = np.zeros(len(places), dtype=np.bool_)
        for name, offset in template:
            ids = columns[name][places + offset]
            values = values * self.base[name] + ids
            silent |= (ids == 0) | (ids == self.none[name])
        return np.where(silent, -1, values)


def _of_word(name: str, offset: int) -> tuple[str, int]:
    """What is read at a word so many words on."""
    return (f"{name}{_AT}{offset}", 0) if offset else (name, 0)


def _id_of_none(values: Sequence[str]) -> int:
    """The id of the value of a column that does not apply; -1 if it applies everywhere."""
    return next((i for i, value in enumerate(values) if not value), -1)
