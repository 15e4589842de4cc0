"""Contexts as 64-bit keys: the values that a template reads at a token, and the token's tag, as one number.

A template with ranges is split into views, one for each choice of offsets: `word[-2..-1]` into `word[-2]` and
`word[-1]`. The key of a view at a place is the sum, over its atoms, of a random code of the value there times a random
odd factor of the atom (multiplicative hashing). Views of one template share their factors, which gives a value the same
key at any of its offsets. Two contexts out of ten million share a key with a probability below one in 10^5; even then
no wrong gain is reported, as the learner recounts every rule that it chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32
from phistack.features.errors import SettingsError
from phistack.tbed.grid import Condition, TokenGrid
from phistack.tbed.rule_table import Keys
from phistack.tbed.templates import TAG, RuleTemplate

_SEED = 1995
_CHUNK = 1 << 13


class Views:
    """The views of templates; each is a row of columns, offsets and factors.

    :param rows: index of the column of each atom, of shape `(n_views, n_atoms)`; the first atom is the token's own tag.
    :param offsets: of shape `(n_views, n_atoms)`.
    :param factors: of shape `(n_views, n_atoms)`; 0 where a view has fewer atoms.
    :param template: the number of the template, of shape `(n_views,)`.

    `low` and `high` are the smallest and largest offsets, `twins` pairs of views of one template.
    """

    def __init__(self, rows: Integers, offsets: Integers, factors: Keys, template: Integers) -> None:
        self.rows, self.offsets, self.factors, self.template = rows, offsets, factors, template
        self.low, self.high = offsets.min(axis=1, initial=0), offsets.max(axis=1, initial=0)
        # (n_twins, 2): the earlier view first; where both have the same key, the later one does not count.
        self.twins = [
            (a, b)
            for first in np.unique(template)
            for b in np.flatnonzero(template == first).tolist()
            for a in range(int(np.flatnonzero(template == first)[0]), b)
        ]

    def __len__(self) -> int:
        return len(self.template)

    def part(self, chosen: NDArray[np.bool_]) -> Views:
        """Some of the views: for each template all of its views, or none."""
        return Views(self.rows[chosen], self.offsets[chosen], self.factors[chosen], self.template[chosen])


class Encoding:
    """Keys of the contexts in a grid, which follow the tags as they change.

    :param grid: the tokens.
    :param tags: the current tag of each place, of shape `(n_places,)`.
    :param n_tags: the number of tags, which is also the id of the empty places.
    :param edges: whether a condition may match positions beyond the sentence.
    :raises SettingsError: for a template with so many tag atoms that their values do not fit into 63 bits.
    """

    def __init__(
        self, grid: TokenGrid, templates: Sequence[RuleTemplate], tags: Integers32, n_tags: int, *, edges: bool
    ) -> None:
        self.grid, self.templates, self.tags, self.n_tags, self.edges = grid, tuple(templates), tags, n_tags, edges
        self.columns = (TAG, *sorted(frozenset().union(*(t.columns for t in self.templates))))
        random = np.random.Generator(np.random.PCG64(_SEED))
        sizes = [n_tags + 1, *(grid.edges[name] + 1 for name in self.columns[1:])]
        codes = [random.integers(0, 1 << 64, size, dtype=np.uint64, endpoint=False) for size in sizes]
        self._tag_codes = codes[0]
        self.target_codes: Keys = random.integers(0, 1 << 64, n_tags, dtype=np.uint64, endpoint=False)
        # (n_places, n_columns): the random code of each column's value at each place.
        self.codes: Keys = np.empty((len(grid), len(self.columns)), dtype=np.uint64)
        for i, name in enumerate(self.columns):
            self.codes[:, i] = codes[i][tags if name == TAG else grid.columns[name]]
        self.views = self._views(random)
        self._weights = self._tag_weights()

    def _views(self, random: np.random.Generator) -> Views:
        width = 1 + max((len(template.atoms) for template in self.templates), default=0)
        rows: list[list[int]] = []
        offsets: list[list[int]] = []
        factors: list[list[int]] = []
        owner: list[int] = []
        for number, template in enumerate(self.templates):
            own = [int(f) | 1 for f in random.integers(0, 1 << 64, width, dtype=np.uint64, endpoint=False)]
            columns = [0, *(self.columns.index(atom.column) for atom in template.atoms)]
            blank = [0] * (width - len(columns))
            # (n_views, 1 + most atoms): one view for each choice of offsets, padded with 0.
            for choice in product(*(atom.offsets for atom in template.atoms)):
                rows.append(columns + blank)
                offsets.append([0, *choice, *blank])
                factors.append(own[: len(columns)] + blank)
                owner.append(number)
        shape = (len(owner), width)
        return Views(
            np.array(rows, dtype=np.int64).reshape(shape),
            np.array(offsets, dtype=np.int64).reshape(shape),
            np.array(factors, dtype=np.uint64).reshape(shape),
            np.array(owner, dtype=np.int64),
        )

    def _tag_weights(self) -> Integers:
        """Weights of the tags of a view, chosen so that the weighted sum encodes all of them."""
        # (n_views, 1 + most atoms): 1, b, b * b, ... at the tag atoms of a view, with b above all tags; 0 elsewhere.
        is_tag = (self.views.rows == 0) & (self.views.factors != 0)
        if is_tag.sum(axis=1).max(initial=0) * (self.n_tags + 1).bit_length() > 62:
            raise SettingsError(f"a template has too many tag atoms for {self.n_tags} tags")
        ranks = is_tag.cumsum(axis=1) - 1
        return np.where(is_tag, (self.n_tags + 1) ** np.where(is_tag, ranks, 0), 0)

    def retag(self, places: Integers, tag: int) -> None:
        """Change the tags of some places."""
        self.tags[places] = tag
        self.codes[places, 0] = self._tag_codes[tag]

    def keys_at(self, places: Integers, views: Views) -> tuple[Keys, NDArray[np.bool_]]:
        """The context of each view at each place.

        :returns: keys, and which of them count: not those that look beyond the sentence (without `edges`), nor those
            that repeat the key of another view of the template; both of shape `(n_places, n_views)`.
        """
        # (n_places, n_views): `codes` is read as one long row, where a neighbour is n_columns further on. The sums may
        # overflow, as in any hash.
        keys = np.zeros((len(places), len(views)), dtype=np.uint64)
        width = self.codes.shape[1]
        flat = self.codes.ravel()
        for j in range(views.rows.shape[1]):
            reads = views.offsets[:, j] * width + views.rows[:, j]
            keys += flat[(places * width)[:, None] + reads] * views.factors[:, j]
        counts = np.ones(keys.shape, dtype=np.bool_)
        if not self.edges:
            counts &= (self.grid.before[places][:, None] >= -views.low) & (
                self.grid.after[places][:, None] >= views.high
            )
        for a, b in views.twins:
            counts[:, b] &= ~((keys[:, a] == keys[:, b]) & counts[:, a])
        return keys, counts

    def all_keys(self, wanted: NDArray[np.bool_]) -> Iterator[Keys]:
        """The keys of all views that count at the wanted places, in portions of shape `(n_keys,)`."""
        places = np.flatnonzero(wanted)
        for first in range(0, len(places), _CHUNK):
            keys, counts = self.keys_at(places[first : first + _CHUNK], self.views)
            yield keys[counts]

    def packed_tags(self, places: Integers, views: Integers) -> Integers:
        """The tags that views read at places, as one number each; both parameters of shape `(n,)`."""
        # (n,): the tags of a view as the digits of one number.
        sums = np.zeros(len(places), dtype=np.int64)
        for j in range(self._weights.shape[1]):
            sums += self.tags[places + self.views.offsets[views, j]] * self._weights[views, j]
        return sums

    def conditions(self, place: int, view: int, packed: int) -> tuple[list[Condition], int]:
        """The conditions of the context of a view at a place, and the token's tag, when the tags were `packed`."""
        packed, tag = divmod(packed, self.n_tags + 1)
        found: list[Condition] = []
        for j, atom in enumerate(self.templates[int(self.views.template[view])].atoms, 1):
            if atom.column == TAG:
                packed, value = divmod(packed, self.n_tags + 1)
            else:
                value = int(self.grid.columns[atom.column][place + int(self.views.offsets[view, j])])
            found.append((atom.column, atom.offsets, value))
        return found, tag
