"""The emissions of a CRF: attributes of tokens by table look-ups, their weights summed by one sparse product.

    weights = AttributeWeights(crosses, templates, values, state)
    weights.emissions(tables)             (n_tokens, L), the notes laid end to end

The value of a template at a token is one number (see `submodels.crf.templates`), and few such numbers have a weight.
They are found through small tables: one turns the ids of the first column into numbers 1, 2, 3, ..., or 0 for an id in
no attribute; a second does so for the next column, a third for pairs of both, and so on. Many templates read one word
only: their weights are summed once for each distinct word. CRFsuite's tagger needs each attribute of each token as a
string, and making the strings takes far longer than tagging.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import groupby
from math import prod
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, Floats32, Integers, Integers32
from phistack.features.columns.table import FeatureTable
from phistack.features.columns.word_columns import is_word_column
from phistack.submodels.crf.templates import Cross, Crosses

ColumnIds = Mapping[str, Integers]
"""The ids of each column over all notes; see `Crosses.laid_out`."""

_LARGEST_TABLE = 2**18
_LARGEST_GROUP = 2**11
_PLACES_AT_ONCE = 16_384

_WORTH_A_SUM = 4
"""From this number of templates of one word on, summing by word leaves fewer rows per token."""


class AttributeWeights:
    """The weights of A attributes, ready to be summed at tokens.

    :param templates: the template of each attribute, of shape `(A,)`.
    :param values: the value of the template in each attribute, of shape `(A,)`.
    :param state: the weight of each attribute for each tag, of shape `(A, L)`.

    `n_attributes` is A.
    """

    def __init__(self, crosses: Crosses, templates: Integers, values: Integers, state: Floats) -> None:
        self.n_attributes, self._n_tags = state.shape
        self._crosses = crosses
        # Finders by the offset of the one word that they read; `None` for all others, and where these are few.
        offsets = [_offset_of_word(template) for template in crosses.templates]
        finders: defaultdict[int | None, list[_Finder]] = defaultdict(list)
        for number in np.flatnonzero(np.bincount(templates)).tolist():
            of_template = np.flatnonzero(templates == number)
            # (n_of_template,) for each column of the template: its ids in these attributes.
            digits = crosses.digits(number, values[of_template])
            finder = _Finder.of(crosses.templates[number], crosses.bases(number), digits, state[of_template])
            offset = offsets[number]
            finders[offset if offsets.count(offset) >= _WORTH_A_SUM else None].append(finder)
        self._of_places = _Sums(finders.pop(None, []), self._n_tags)
        self._of_words = {offset: _Sums(own, self._n_tags) for offset, own in finders.items() if offset is not None}

    def emissions(self, tables: Sequence[FeatureTable]) -> Floats32:
        """The score of each tag at each token, over all notes, of shape `(n_tokens, L)`."""
        with_tokens = filter(len, tables)
        parts = [self._emissions(list(part)) for _, part in groupby(with_tokens, key=attrgetter("batch"))]
        return np.concatenate([np.zeros((0, self._n_tags), np.float32), *parts]) if len(parts) != 1 else parts[0]

    def _emissions(self, tables: Sequence[FeatureTable]) -> Floats32:
        """The same for notes of one batch that have tokens."""
        columns, places = self._crosses.laid_out(tables)
        scores = self._of_places(columns, places)
        if self._of_words:
            scores += self._sums_of_words(tables, columns, places)
        return scores

    def _sums_of_words(self, tables: Sequence[FeatureTable], columns: ColumnIds, places: Integers) -> Floats32:
        """The scores by the words around each token, of shape `(n_tokens, L)`."""
        # (n_words + 1,): a place of each distinct word; the last is place 0, which is beyond the notes.
        numbers = np.concatenate([table.word_numbers for table in tables])
        place_of = np.full(numbers.max() + 1, -1)
        place_of[numbers] = places
        present = np.flatnonzero(place_of >= 0)
        # (n_places,): which of these words is at each place; the last for places beyond the notes.
        rank = np.zeros_like(place_of)
        rank[present] = np.arange(len(present))
        words = np.full(len(columns[next(iter(columns))]), len(present))
        words[places] = rank[numbers]
        # (n_offsets * (n_words + 1), L): scores by word and offset; (n_tokens, n_offsets): the rows of each token.
        of_words = {name: ids[np.append(place_of[present], 0)] for name, ids in columns.items() if is_word_column(name)}
        every = np.arange(len(present) + 1)
        weights = np.concatenate([sums(of_words, every - offset) for offset, sums in self._of_words.items()])
        rows = words[places[:, None] + np.array(list(self._of_words))] + np.arange(len(self._of_words)) * len(every)
        return _summed(rows.ravel(), np.full(len(rows), rows.shape[1]), weights)


class _Sums:
    """The weights of templates, and their sums at places."""

    def __init__(self, finders: Sequence[_Finder], n_tags: int) -> None:
        self._groups = [_Group(group) for group in _grouped(finders)]
        # (n_groups,) and (n_rows, L): the first row of each group, and the weights of all groups.
        self._begins = np.cumsum([0, *(group.size for group in self._groups)], dtype=np.int32)[:-1]
        weights = [np.zeros((0, n_tags)), *(group.weights() for group in self._groups)]
        self._weights = np.concatenate(weights, dtype=np.float32)

    def __call__(self, columns: ColumnIds, places: Integers) -> Floats32:
        """The score of each tag at some places, which are sorted; of shape `(n_places, L)`."""
        blocks = np.split(places, range(_PLACES_AT_ONCE, len(places), _PLACES_AT_ONCE))
        return np.concatenate([_summed(*self._rows(columns, block), self._weights) for block in blocks])

    def _rows(self, columns: ColumnIds, places: Integers) -> tuple[Integers32, Integers32]:
        """The rows of the weights at some places, place by place, and their number at each."""
        first, last = int(places[0]), int(places[-1]) + 1
        # (n_groups, n_places): the number in each group, at the places between notes too.
        found = np.empty((len(self._groups), last - first), dtype=np.int32)
        for of_group, group in zip(found, self._groups, strict=True):
            of_group[:] = group.numbers(columns, first, last)
        # (n_tokens, n_groups): numbers as rows of all weights, without 0, which has no weight.
        of_tokens = found.T.take(places - first, axis=0)
        present = of_tokens > 0
        of_tokens += self._begins
        return np.compress(present.ravel(), of_tokens.ravel()), present.sum(axis=1, dtype=np.int32)


def _summed(rows: NDArray[np.integer], counts: NDArray[np.integer], weights: Floats32) -> Floats32:
    """Sums of rows of weights, of shape `(n, L)`.

    :param rows: of all sums, in order.
    :param counts: the number of rows of each sum, of shape `(n,)`.
    """
    # (n, n_rows) @ (n_rows, L), with ones in the sparse matrix for the rows of a sum.
    edges = np.cumsum(np.concatenate([[0], counts]), dtype=np.int32)
    ones, rows = np.ones(len(rows), weights.dtype), rows.astype(np.int32, copy=False)
    sums = np.zeros((len(counts), weights.shape[1]), weights.dtype)
    _sparse_product()(len(counts), *weights.shape, edges, rows, ones, weights.ravel(), sums.ravel())
    return sums


@cache
def _sparse_product() -> Callable[..., None]:
    """SciPy's `csr_matvecs`, without the rest of SciPy, whose import takes longer than the first note."""
    scipy = find_spec("scipy")
    folders = [f"{folder}/sparse" for folder in (scipy and scipy.submodule_search_locations) or ()]
    spec = PathFinder.find_spec("_sparsetools", folders)
    if spec is None or spec.loader is None:
        module = import_module("scipy.sparse._sparsetools")
    else:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    product: Callable[..., None] = module.csr_matvecs
    return product


def _offset_of_word(template: Cross) -> int | None:
    """The offset of a template whose columns all depend on one word alone; `None` for others."""
    offsets = {offset for _, offset in template}
    return offsets.pop() if len(offsets) == 1 and all(is_word_column(name) for name, _ in template) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Numbering:
    """Turns known integers into the numbers 1, 2, 3, ..., and all others into 0.

    :param known: sorted.
    :param table: the number of each possible integer; empty if these are too many for a table.
    """

    known: Integers
    table: Integers

    @classmethod
    def of(cls, known: Integers, size: int) -> _Numbering:
        """The numbers of known integers, where all integers are below `size`."""
        # (size,) or (0,): without a table, by binary search.
        table = np.zeros(size if size <= _LARGEST_TABLE else 0, dtype=np.int64)
        if len(table):
            table[known] = np.arange(1, len(known) + 1)
        return cls(known, table)

    def __call__(self, integers: Integers) -> Integers:
        if len(self.table):
            return self.table.take(integers)
        found = np.minimum(self.known.searchsorted(integers), len(self.known) - 1)
        return np.where(self.known[found] == integers, found + 1, 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Finder:
    """Turns the values of one template into numbers: 1, 2, 3, ... for its attributes, 0 for all else.

    :param of_columns: id -> number, for each column.
    :param of_pairs: for each column but the first, (number so far, number of the column) -> number.
    :param weights: of each number, of shape `(n, L)`; those of 0 are zero.
    """

    template: Cross
    of_columns: list[_Numbering] = field(repr=False)
    of_pairs: list[_Numbering] = field(repr=False)
    weights: Floats = field(repr=False)

    @classmethod
    def of(cls, template: Cross, bases: Sequence[int], digits: Sequence[Integers], state: Floats) -> _Finder:
        """The finder of attributes, from the number of ids of each column, their ids and their weights."""
        of_columns = [_Numbering.of(np.unique(ids), base) for ids, base in zip(digits, bases, strict=True)]
        of_pairs: list[_Numbering] = []
        before, n_before = of_columns[0](digits[0]), len(of_columns[0].known)
        for numbers, ids in zip(of_columns[1:], digits[1:], strict=True):
            width = len(numbers.known) + 1
            # (n_of_template,): two numbers as one; only pairs in an attribute get a number.
            pairs = before * width + numbers(ids)
            of_pairs.append(_Numbering.of(np.unique(pairs), (n_before + 1) * width))
            before, n_before = of_pairs[-1](pairs), len(of_pairs[-1].known)
        # (1 + n_of_template, L): row 0 is for values without a weight.
        weights = np.zeros((n_before + 1, state.shape[1]))
        weights[before] = state
        return cls(template, of_columns, of_pairs, weights)

    def numbers(self, columns: ColumnIds, first: int, last: int) -> Integers:
        """The number at each place from `first` to before `last`."""
        # (last - first,): the same steps as in `of`, at each place. 0 is in no pair, so it stays 0.
        (name, offset), *others = self.template
        found = self.of_columns[0](columns[name][first + offset : last + offset])
        for (name, offset), numbers, of_pairs in zip(others, self.of_columns[1:], self.of_pairs, strict=True):
            found *= len(numbers.known) + 1
            found += numbers(columns[name][first + offset : last + offset])
            found = of_pairs(found)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Templates with so few attributes that the sums of all combinations can be stored."""

    finders: Sequence[_Finder]

    @property
    def size(self) -> int:
        """The number of combinations."""
        return prod(len(finder.weights) for finder in self.finders)

    def weights(self) -> Floats:
        """The weights of each combination, of shape `(size, L)`."""
        first, *others = (finder.weights for finder in self.finders)
        for weights in others:
            # (n_first * n_weights, L): each row so far with each row of this one.
            first = (first[:, None] + weights).reshape(-1, weights.shape[1])
        return first

    def numbers(self, columns: ColumnIds, first: int, last: int) -> Integers:
        """The combination at each place, 0 where there is no attribute."""
        found = self.finders[0].numbers(columns, first, last)
        for finder in self.finders[1:]:
            found *= len(finder.weights)
            found += finder.numbers(columns, first, last)
        return found


def _grouped(finders: Sequence[_Finder]) -> Iterator[list[_Finder]]:
    """Groups of finders, those with the fewest attributes first."""
    group: list[_Finder] = []
    for finder in sorted(finders, key=lambda finder: len(finder.weights)):
        if group and _Group([*group, finder]).size > _LARGEST_GROUP:
            yield group
            group = []
        group.append(finder)
    if group:
        yield group
