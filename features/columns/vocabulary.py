"""Numbers for strings: the values of a column, and distinct strings to compute a function once for each.

key = Vocabulary()
key.id("apellidos")                                1, and 1 again for the same value
key.ids(np.array([1, 0, 1]), ["edad", "sexo"])     [2, 3, 2]: the ids of sexo, edad, sexo
key.freeze()
key.of_values(["edad", "unheard of"])              [3, 0]
words = Distinct()
words.numbers(["Ann", "saw", "Ann"])               [0, 1, 0]
words.of_each("length", lambda new: map(len, new)) [3, 3]: the results for the numbers 0, 1, ...
words.mapped("lower", str.lower)                   ([0, 1], ["ann", "saw"]): the same for a function to strings
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from phistack.features.arrays import Integers32

Coded = tuple[Integers32, list[str]]
"""Codes, one per token, and the strings of the codes 0, 1, 2, ..."""

_FULL = 1 << 16


class _Numbers(dict[str, int]):
    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


class Distinct:
    """Distinct strings in order of arrival, in memory only; the owner replaces a `full` table."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._answers: dict[str, Integers32] = {}
        self._mapped: dict[str, Distinct] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def strings(self) -> list[str]:
        """Number -> string."""
        return list(self._numbers)

    @property
    def full(self) -> bool:
        """Whether the table should be replaced by a new one."""
        return len(self) > _FULL

    def numbers(self, strings: Iterable[str]) -> Integers32:
        """The number of each string, of shape `(n_strings,)`; new strings are added."""
        return np.fromiter(map(self._numbers.__getitem__, strings), dtype=np.int32)

    def find(self, string: str) -> int:
        """The number of a string; -1 if unknown."""
        return self._numbers.get(string, -1)

    def of_each(self, question: str, function: Callable[[list[str]], Iterable[int]]) -> Integers32:
        """The results of a function for all strings, of shape `(n_distinct,)`.

        :param question: a name for the function.
        :param function: from strings to one number each; called with the strings added since the last call.
        """
        known = self._answers.get(question)
        n_known = 0 if known is None else len(known)
        if known is None or n_known < len(self):
            new = np.fromiter(function(list(islice(self._numbers, n_known, None))), dtype=np.int32)
            known = self._answers[question] = new if known is None else np.concatenate([known, new])
        return known

    def mapped(self, question: str, function: Callable[[str], str]) -> Coded:
        """The string results of a function for all strings, as codes of shape `(n_distinct,)`."""
        results = self._mapped.setdefault(question, Distinct())
        codes = self.of_each(f"mapped {question}", lambda new: map(results._numbers.__getitem__, map(function, new)))
        return codes, results.strings


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
