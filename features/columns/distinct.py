"""Distinct strings, numbered in order, to compute functions of a string once for each of them.

    words = Distinct()
    words.numbers(["Ann", "saw", "Ann"])                   [0, 1, 0]
    words.of_each("length", lambda new: map(len, new))     [3, 3]: the results for the numbers 0, 1, ...
    words.mapped("lower", str.lower)                       ([0, 1], ["ann", "saw"]): the same for a function to strings

In memory only; the owner of a `full` table replaces it by a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from phistack.features.arrays import Integers32

Coded = tuple[Integers32, list[str]]
"""Codes, one per token, and the strings of the codes 0, 1, 2, ..."""

_FULL = 1 << 16


class _StringNumbers(dict[str, int]):
    """String -> number; an unknown string gets the next number."""

    def __init__(self) -> None:
        super().__init__()
        self.strings: list[str] = []

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        self.strings.append(string)
        return number


class Distinct:
    """Distinct strings in order of arrival."""

    def __init__(self) -> None:
        self._numbers = _StringNumbers()
        self._answers: dict[str, Integers32] = {}
        self._mapped: dict[str, Distinct] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def strings(self) -> list[str]:
        """Number -> string."""
        return self._numbers.strings

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
            new = np.fromiter(function(self.strings[n_known:]), dtype=np.int32)
            known = self._answers[question] = new if known is None else np.concatenate([known, new])
        return known

    def mapped(self, question: str, function: Callable[[str], str]) -> Coded:
        """The string results of a function for all strings, as codes of shape `(n_distinct,)`."""
        results = self._mapped.setdefault(question, Distinct())
        codes = self.of_each(f"mapped {question}", lambda new: map(results._numbers.__getitem__, map(function, new)))
        return codes, results.strings
