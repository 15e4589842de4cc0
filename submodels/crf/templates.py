"""The CRF's feature crosses, declared as data, and the attributes that they give to tokens.

    (("word", 0),)                        the word itself
    (("word", -1), ("word", 0))           the previous word and the word
    (("key", 0), ("short_shape", 0))      the key before the colon with the word's shape
    named_crosses("zhao2020")             those of a file that ships or is installed, or of a user's file

A template is a tuple of columns of the feature table, each with an offset from the token. Its values at one token make
one attribute: `37:5120` is the template 37 with the values numbered 5120. Attributes are computed from ids, for a whole
corpus at a time. A file has one template per line, as in `word[-1] & word[0]`; `#` begins a comment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

import numpy as np

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.errors import SettingsError
from phistack.features.registry import FileRegistry, packaged_text

Cross = tuple[tuple[str, int], ...]

AT = "@"
"""Separates a column from the offset of a word; no name of a column contains it."""

CROSSES = FileRegistry("crosses", "file of feature crosses", ".txt", "phistack.submodels.crf:crosses")
"""Files by name."""

_READ = re.compile(r"([a-z]\w*)\[(-?\d{1,3})\]")


def named_crosses(name: str) -> tuple[Cross, ...]:
    """The crosses of one of `CROSSES`, or of the file at a path; :raises SettingsError: if they cannot be read."""
    return CROSSES.read(name, read_crosses)


def read_crosses(text: str) -> tuple[Cross, ...]:
    """The crosses of a text; :raises SettingsError: for a wrong or repeated line, or if there is no cross."""
    found: dict[Cross, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        declared = line.partition("#")[0].strip()
        if not declared:
            continue
        parts = [_READ.fullmatch(part.strip()) for part in declared.split("&")]
        cross = tuple((part[1], int(part[2])) for part in parts if part is not None)
        if None in parts or len(set(cross)) < len(parts) or cross in found:
            raise SettingsError(f"line {number} is no feature cross, such as word[-1] & shape[0], or repeats one")
        found[cross] = None
    if not found:
        raise SettingsError("it holds no feature cross")
    return tuple(found)


TEMPLATES = read_crosses(packaged_text("phistack.submodels.crf", "crosses/default.txt"))
"""The default templates."""


def usable(templates: Iterable[Cross], columns: Collection[str]) -> tuple[Cross, ...]:
    """The templates whose columns are all among the given ones."""
    return tuple(template for template in templates if all(name in columns for name, _ in template))


@dataclass(frozen=True, eq=False)
class Crosses:
    """Evaluates templates at tokens.

    The value of a template is one number: the ids of its columns as digits, each in the base of its column. Positions
    beyond the ends of a note have a separate id, `base - 1`. A template with a value unseen in training, or with a
    column that does not apply to the token, has no value.

    :param templates: with the column of a neighbouring word under a name such as `stem@-1`, without an offset.
    :param base: column -> number of its ids.
    :param none: column -> the id for "does not apply"; -1 if it applies everywhere.
    """

    templates: tuple[Cross, ...]
    base: Mapping[str, int] = field(repr=False)
    none: Mapping[str, int] = field(repr=False)

    @classmethod
    def of(cls, templates: tuple[Cross, ...], space: FeatureSpace, *, whole_words: bool = False) -> Crosses:
        """The templates in a fitted feature space, whose ids never change.

        :param templates: only of columns that the space has.
        :param whole_words: whether offsets count words, where tokens are pieces of words.
        :raises SettingsError: if a template crosses so many columns that 63 bits cannot number its values.
        """
        if whole_words:
            templates = tuple(tuple(starmap(_of_word, cross)) for cross in templates)
        names = sorted({name for cross in templates for name, _ in cross})
        values = {name: space.values(name.partition(AT)[0]) for name in names}
        base = {name: len(found) + 1 for name, found in values.items()}
        for template in templates:
            if math.prod(base[name] for name, _ in template) >= 2**63:
                raise SettingsError(f"the CRF's template {template} crosses too many values; leave a column out")
        return cls(
            templates,
            base,
            {name: next((i for i, value in enumerate(found) if not value), -1) for name, found in values.items()},
        )

    def read(self, tables: Sequence[FeatureTable]) -> list[Integers]:
        """The values of each template at all tokens of the notes, each of shape `(n_tokens,)`; -1 for no value."""
        columns, places = self.laid_out(tables)
        return [self._read_one(template, columns, places) for template in self.templates]

    def laid_out(self, tables: Sequence[FeatureTable]) -> tuple[dict[str, Integers], Integers]:
        """The columns of all notes, padded between notes, and the places of the tokens."""
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
        """The ids of a column at each token, or at the neighbouring word in its name, of shape `(n_tokens,)`."""
        column, _, offset = name.partition(AT)
        ids = table.column(column)
        if not offset:
            return ids
        places = table.neighbours(int(offset))
        found: Integers32 = np.where(places < 0, np.int32(self.base[name] - 1), ids[places])
        return found

    def bases(self, number: int) -> list[int]:
        """The number of ids of each column of a template."""
        return [self.base[name] for name, _ in self.templates[number]]

    def digits(self, number: int, values: Integers) -> list[Integers]:
        """The ids of each column of a template in some of its values."""
        found = []
        for base in reversed(self.bases(number)):
            values, ids = np.divmod(values, base)
            found.append(ids)
        return found[::-1]

    def _read_one(self, template: Cross, columns: dict[str, Integers], places: Integers) -> Integers:
        # (n_tokens,): the ids at the offsets as the digits of one number, and where one of them has no value.
        values = np.zeros(len(places), dtype=np.int64)
        silent = np.zeros(len(places), dtype=np.bool_)
        for name, offset in template:
            ids = columns[name][places + offset]
            values = values * self.base[name] + ids
            silent |= (ids == 0) | (ids == self.none[name])
        return np.where(silent, -1, values)


def _of_word(name: str, offset: int) -> tuple[str, int]:
    return (f"{name}{AT}{offset}", 0) if offset else (name, 0)
