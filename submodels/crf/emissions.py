"""The emissions of a CRF: attributes of tokens by table look-ups, their weights summed by one sparse product.

    weights = AttributeWeights(crosses, templates, values, state)
    weights.emissions(tables)             (n_tokens, L), the notes laid end to end

The value of a template at a token is one number (see `submodels.crf.templates`), and few such numbers have a weight.
They are found through small tables: one turns the ids of the first column into numbers 1, 2, 3, ..., or 0 for an id in
no attribute; a second does so for the next column, a third for pairs of both, and so on. CRFsuite's tagger needs each
attribute of each token as a string; making the strings takes far longer than tagging.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

import numpy as np

from phistack.features.arrays import Floats, Floats32, Integers
from phistack.features.columns.table import FeatureTable
from phistack.submodels.crf.templates import Cross, Crosses

ColumnIds = Mapping[str, Integers]
"""The ids of each column over all notes; see `Crosses.laid_out`."""

_LARGEST_TABLE = 2**18
_PLACES_AT_ONCE = 16_384


class AttributeWeights:
    """The weights of A (`n_attributes`) attributes, ready to be summed at tokens.

    :param templates: the template of each attribute, of shape `(A,)`.
    :param values: the value of the template in each attribute, of shape `(A,)`.
    :param state: the weight of each attribute for each tag, of shape `(A, L)`.
    """

    def __init__(self, crosses: Crosses, templates: Integers, values: Integers, state: Floats) -> None:
        self.n_attributes, n_tags = state.shape
        self._crosses = crosses
        self._finders: list[_Finder] = []
        for number in np.flatnonzero(np.bincount(templates)).tolist():
            of_template = np.flatnonzero(templates == number)
            # (n_of_template,) for each column of the template: its ids in these attributes.
            digits = crosses.digits(number, values[of_template])
            finder = _Finder.of(crosses.templates[number], crosses.bases(number), digits, state[of_template])
            self._finders.append(finder)
        # (n_finders,) and (n_rows, L): the first row of each finder, and the weights of all.
        self._begins = np.cumsum([0, *(len(finder.weights) for finder in self._finders)], dtype=np.int32)[:-1]
        weights = [np.zeros((0, n_tags)), *(finder.weights for finder in self._finders)]
        self._weights = np.concatenate(weights, dtype=np.float32)

    def emissions(self, tables: Sequence[FeatureTable]) -> Floats32:
        """The score of each tag at each token, over all notes, of shape `(n_tokens, L)`."""
        columns, places = self._crosses.laid_out(tables)
        blocks = np.split(places, range(_PLACES_AT_ONCE, len(places), _PLACES_AT_ONCE))
        return np.concatenate([self._sums(columns, block) for block in blocks])

    def _sums(self, columns: ColumnIds, places: Integers) -> Floats32:
        """The score of each tag at some places, which are sorted; of shape `(n_places, L)`."""
        sums = np.zeros((len(places), self._weights.shape[1]), np.float32)
        if not len(places):
            return sums
        first, last = int(places[0]), int(places[-1]) + 1
        # (n_finders, n_places): the number of each finder, at the places between notes too.
        found = np.empty((len(self._finders), last - first), dtype=np.int32)
        for of_finder, finder in zip(found, self._finders, strict=True):
            of_finder[:] = finder.numbers(columns, first, last)
        # (n_tokens, n_finders): numbers as rows of all weights, without 0, which has no weight.
        of_tokens = found.T.take(places - first, axis=0)
        present = of_tokens > 0
        of_tokens += self._begins
        rows = np.compress(present.ravel(), of_tokens.ravel())
        # (n_tokens, n_rows) @ (n_rows, L), with ones in the sparse matrix for the rows of a token.
        edges = np.append(np.int32(0), np.cumsum(present.sum(axis=1, dtype=np.int32), dtype=np.int32))
        ones = np.ones(len(rows), np.float32)
        _sparse_product()(len(sums), *self._weights.shape, edges, rows, ones, self._weights.ravel(), sums.ravel())
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
            # (n_of_template,): two numbers as one; only pairs that occur in an attribute get a number.
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
