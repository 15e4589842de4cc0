"""A hash table over arrays: numbers for 64-bit keys, many at a time.

    slots = HashTable()
    slots.add(keys)       a number for each key, new keys numbered in order of arrival
    slots.find(keys)      the same numbers; -1 for keys that were never added

Linear probing, vectorised over the keys of a call, which must be random bits. A `dict` needs an object and a call for
each key, and `numpy.unique` would sort all keys again at each call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32

Keys = NDArray[np.uint64]

_SMALLEST = 1 << 10


class HashTable:
    """Numbers 0, 1, 2, ... for distinct keys."""

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(_SMALLEST, dtype=np.uint64)
        self._table: Integers32 = np.full(4 * _SMALLEST, -1, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> Keys:
        """The key of each number, of shape `(n_keys,)`."""
        return self._keys[: self._count]

    def find(self, keys: Keys) -> Integers:
        """The number of each key, or -1."""
        found = np.full(len(keys), -1, dtype=np.int64)
        mask = len(self._table) - 1
        # (n_waiting,): unresolved keys and the cell that each probes. A free cell ends the search; a cell with another
        # key moves it to the next one.
        waiting, at = np.arange(len(keys)), self._home(keys)
        while len(waiting):
            number = self._table[at]
            filled = number >= 0
            hit = filled & (self._keys[number] == keys[waiting])
            found[waiting[hit]] = number[hit]
            onward = filled & ~hit
            waiting, at = waiting[onward], (at[onward] + 1) & mask
        return found

    def add(self, keys: Keys) -> Integers:
        """The number of each key; keys may repeat."""
        self._reserve(self._count + len(keys))
        found = np.empty(len(keys), dtype=np.int64)
        mask = len(self._table) - 1
        # (n_waiting,): the same, but a key takes the first free cell.
        waiting, at = np.arange(len(keys)), self._home(keys)
        while len(waiting):
            number = self._table[at]
            free = number < 0
            if free.any():
                self._settle(waiting[free], at[free], keys)
                number = self._table[at]
            hit = self._keys[number] == keys[waiting]
            found[waiting[hit]] = number[hit]
            waiting, at = waiting[~hit], (at[~hit] + 1) & mask
        return found

    def _settle(self, waiting: Integers, at: Integers, keys: Keys) -> None:
        """Give free cells to keys; of several keys that want the same one, the last gets it."""
        # (n_waiting,): each writes its index into the cell; the one that reads it back has the cell.
        self._table[at] = waiting
        winner = self._table[at] == waiting
        n_new = int(winner.sum())
        numbers = np.arange(self._count, self._count + n_new)
        self._table[at[winner]] = numbers
        self._keys[numbers] = keys[waiting[winner]]
        self._count += n_new

    def _home(self, keys: Keys) -> Integers:
        # (n_keys,): the search begins at the cell given by the highest bits of the key.
        shift = np.uint64(64 - (len(self._table).bit_length() - 1))
        return (keys >> shift).astype(np.int64)

    def _reserve(self, n_keys: int) -> None:
        if n_keys > len(self._keys):
            more = np.zeros(n_keys + n_keys // 2 - len(self._keys), dtype=np.uint64)
            self._keys = np.concatenate([self._keys, more])
        # At least half of the cells stay free, which keeps searches short; a larger table is filled again.
        if 2 * n_keys > len(self._table):
            self._table = np.full(1 << (2 * n_keys - 1).bit_length(), -1, dtype=np.int32)
            # (n_waiting,): as in `add`, for keys known to differ.
            at, waiting = self._home(self.keys), np.arange(self._count)
            while len(waiting):
                free = self._table[at] < 0
                self._table[at[free]] = waiting[free]
                onward = self._table[at] != waiting
                waiting, at = waiting[onward], (at[onward] + 1) & (len(self._table) - 1)
