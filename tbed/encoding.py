"""Contexts as 64-bit keys: what a template sees at a token, and the token's tag, as one number.

A template with ranges is looked at as several views, one for each choice of offsets: `word[-2..-1]` as `word[-2]` and
`word[-1]`. The key of a view at a place is the sum, over its atoms, of a random code of the value there times a random
odd factor of the atom (multiplicative hashing); views of one template share their factors, so that a value has the same
key at whichever offset it is seen. Two contexts out of ten million share a key with a probability below one in 10^5;
the learner recounts every rule that it chooses, so that even then no wrong gain is ever reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32
from phistack.features.errors import SettingsError
from phistack.tbed.atoms import TAG
from phistack.tbed.grid import Condition, TokenGrid
from phistack.tbed.hash_table import Keys
from phistack.tbed.templates import RuleTemplate

_SEED = 1995
_CHUNK = 1 << 14


class Views:
    """The views of templates, flattened: each is a row of columns, offsets and factors.

    :param rows: index of the column of each atom, of shape `(n_views, n_atoms)`; the first atom is the token's own tag.
    :param offsets: of shape `(n_views, n_atoms)`.
    :param factors: of shape `(n_views, n_atoms)`; 0 where a view has fewer atoms.
    :param low: the smallest offset, of shape `(n_views,)`.
    :param high: the largest offset.
    :param template: the number of the template, of shape `(n_views,)`.
    :param twins: pairs of views of one template, which may see the same.
    """

    def __init__(self, rows: Integers, offsets: Integers, factors: Keys, template: Integers) -> None:
        self.rows, self.offsets, self.factors, self.template = rows, offsets, factors, template
        self.low, self.high = offsets.min(axis=1, initial=0), offsets.max(axis=1, initial=0)
        # (n_twins, 2): the earlier view of a template first; where both see the same, the later one does not count.
        self.twins = [
            (a, b)
            for first in np.unique(template)
            for b in np.flatnonzero(template == first).tolist()
            for a in range(int(np.flatnonzero(template == first)[0]), b)
        ]

    def __len__(self) -> int:
        return len(self.template)

    def part(self, chosen: NDArray[np.bool_]) -> Views:
        """Some of the views; all views of a template have to be among them, or none."""
        return Views(self.rows[chosen], self.offsets[chosen], self.factors[chosen], self.template[chosen])


class Encoding:
    """Keys of the contexts in a grid, which follow the tags as they change.

    :param grid: the tokens.
    :param templates: what is looked at.
    :param tags: the current tag of each place, of shape `(n_places,)`.
    :param n_tags: the number of tags; this id stands for the empty places.
    :param edges: whether a condition may ask for what lies beyond the sentence; if not, it fails there.
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
            # (n_views, 1 + most atoms): one view for each choice of offsets. Views of one template share its factors;
            # 0 fills up.
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
        """What to multiply the tags of a view with, so that their sum encodes all of them."""
        # (n_views, 1 + most atoms): 1, b, b * b, ... at the tag atoms of a view, with b above all tags; 0 at the
        # others.
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
            that another view of the template sees too; both of shape `(n_places, n_views)`.
        """
        # (n_places, n_views): `codes` is read as one long row, where a neighbour is n_columns further on. Sums of 64
        # bits run over, as those of a hash may.
        keys = np.zeros((len(places), len(views)), dtype=np.uint64)
        width = self.codes.shape[1]
        flat = self.codes.ravel()
        for j in range(views.rows.shape[1]):
            reads = views.offsets[:, j] * width + views.rows[:, j]
            keys += flat[(places * width)[:, None] + reads] * views.factors[:, j]
        counts = self._inside(places[:, None], views.low, views.high)
        # Two views of one template that see the same at a token are one context, which counts once.
        for a, b in views.twins:
            counts[:, b] &= ~((keys[:, a] == keys[:, b]) & counts[:, a])
        return keys, counts

    def _inside(self, places: Integers, low: Integers, high: Integers) -> NDArray[np.bool_]:
        if self.edges:
            return np.ones(np.broadcast_shapes(places.shape, low.shape), dtype=np.bool_)
        found: NDArray[np.bool_] = (self.grid.before[places] >= -low) & (self.grid.after[places] >= high)
        return found

    def all_keys(self, wanted: NDArray[np.bool_]) -> Iterator[Keys]:
        """The keys that count of all views at the wanted places, of shape `(n_places,)`, in portions."""
        reach = self.grid.reach
        for start in range(reach, len(self.grid) - reach, _CHUNK):
            stop = min(start + _CHUNK, len(self.grid) - reach)
            if wanted[start:stop].any():
                yield from self._chunk_keys(start, stop, wanted[start:stop])

    def _chunk_keys(self, start: int, stop: int, wanted: NDArray[np.bool_]) -> Iterator[Keys]:
        reach = self.grid.reach
        # (n_columns, reach + size + reach): by columns, so that an atom of a view is one stretch of memory for all
        # places.
        rows = np.ascontiguousarray(self.codes[start - reach : stop + reach].T)
        before, after = self.grid.before[start:stop], self.grid.after[start:stop]
        size = stop - start
        seen: list[tuple[Keys, NDArray[np.bool_]]] = []
        for v in range(len(self.views)):
            # (size,): the keys of one view, and which of them count, as in `keys_at`.
            keys = np.zeros(size, dtype=np.uint64)
            for row, offset, factor in zip(
                self.views.rows[v].tolist(), self.views.offsets[v].tolist(), self.views.factors[v], strict=True
            ):
                if factor:
                    keys += rows[row, reach + offset : reach + offset + size] * factor
            counts = wanted
            if not self.edges:
                counts = wanted & (before >= -self.views.low[v]) & (after >= self.views.high[v])
            if v and self.views.template[v] != self.views.template[v - 1]:
                seen.clear()
            for other_keys, other_counts in seen:
                counts = counts & ~((keys == other_keys) & other_counts)
            seen.append((keys, counts))
            yield keys[counts]

    def packed_tags(self, places: Integers, views: Integers) -> Integers:
        """The tags that views see at places, as one number each; both parameters of shape `(n,)`."""
        # (n,): the tags of a view as the digits of one number.
        sums = np.zeros(len(places), dtype=np.int64)
        for j in range(self._weights.shape[1]):
            sums += self.tags[places + self.views.offsets[views, j]] * self._weights[views, j]
        return sums

    def conditions(self, place: int, view: int, packed: int) -> tuple[list[Condition], int]:
        """The conditions of the context that a view saw at a place when its tags were `packed`, and the token's tag."""
        packed, tag = divmod(packed, self.n_tags + 1)
        found: list[Condition] = []
        for j, atom in enumerate(self.templates[int(self.views.template[view])].atoms, 1):
            if atom.column == TAG:
                packed, value = divmod(packed, self.n_tags + 1)
            else:
                value = int(self.grid.columns[atom.column][place + int(self.views.offsets[view, j])])
            found.append((atom.column, atom.offsets, value))
        return found, tag
