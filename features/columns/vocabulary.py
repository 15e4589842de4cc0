"""Numbers for the values of a column.

key = Vocabulary()
key.id("apellidos")                               1, and 1 again for the same value
key.ids(np.array([1, 0, 1]), ["edad", "sexo"])    [2, 3, 2]: the ids of sexo, edad, sexo
key.freeze()
key.of_values(["edad", "unheard of"])             [3, 0]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from phistack.features.arrays import Integers32


class Vocabulary:
    """Values numbered in order of arrival; the id 0 is reserved for values unseen in training.

    :param values: those of the ids 0, 1, 2, ...; the first is not used.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: list[str] = list(values) or ["<unseen>"]
        self._ids = {value: number for number, value in enumerate(self._values) if number}
        self._frozen = False

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> Sequence[str]:
        """Id -> value."""
        return self._values

    def freeze(self) -> Vocabulary:
        """Give new values the id 0 from now on; returns itself."""
        self._frozen = True
        return self

    def find(self, value: str) -> int:
        """The id of a value; 0 if unknown, without adding it."""
        return self._ids.get(value, 0)

    def id(self, value: str) -> int:
        """The id of a value, which is added if new."""
        number = self._ids.get(value, 0)
        if not number and not self._frozen:
            number = self._ids[value] = len(self._values)
            self._values.append(value)
        return number

    def of_values(self, values: Iterable[str]) -> list[int]:
        """The ids of some values."""
        known = self._ids.get
        return [known(value, 0) for value in values] if self._frozen else list(map(self.id, values))

    def ids(self, codes: Integers32, strings: Sequence[str]) -> Integers32:
        """The ids of many values, of shape `(n_values,)`.

        :param codes: for each value its index in `strings`, of shape `(n_values,)`.
        :param strings: only those with a code are added.
        """
        if self._frozen:
            return np.array([self._ids.get(string, 0) for string in strings], dtype=np.int32)[codes]
        present, first = np.unique(codes, return_index=True)
        lookup = np.zeros(len(strings), dtype=np.int32)
        for code in present[np.argsort(first)].tolist():
            lookup[code] = self.id(strings[code])
        return lookup[codes]
