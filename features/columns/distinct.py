"""Strings numbered as they come, so that what depends on a string alone is found out once for each distinct one.

    words = Distinct()
    words.numbers(["Ann", "saw", "Ann"])                   [0, 1, 0]
    words.of_each("length", lambda new: map(len, new))     [3, 3]: what the function says of the numbers 0, 1, ...
    words.mapped("lower", str.lower)                       ([0, 1], ["ann", "saw"]): the same for a function to strings

Held in memory only, and bounded: who fills such a table starts a new one when it is `full`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from phistack.features.arrays import Integers32

Coded = tuple[Integers32, list[str]]
"""Codes, one a token, and the strings that the codes 0, 1, 2, ... stand for."""

_FULL = 1 << 16


class _StringNumbers(dict[str, int]):
    """String -> number; a string that is asked for the first time gets the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.strings: list[str] = []

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        self.strings.append(string)
        return number


class Distinct:
    """Distinct strings in the order in which they came."""

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
        """Whether there are so many strings that a new table should be started."""
        return len(self) > _FULL

    def numbers(self, strings: Iterable[str]) -> Integers32:
        """The number of each string, of shape `(n_strings,)`; new strings are added."""
        return np.fromiter(map(self._numbers.__getitem__, strings), dtype=np.int32)

    def find(self, string: str) -> int:
        """The number of a string; -1 if it never came."""
        return self._numbers.get(string, -1)

    def of_each(self, question: str, function: Callable[[list[str]], Iterable[int]]) -> Integers32:
        """What a function says of every string, of shape `(n_distinct,)`.

        :param question: names the function.
        :param function: from strings to a number for each; it is asked for those that came since it was last asked.
        """
        known = self._answers.get(question)
        n_known = 0 if known is None else len(known)
        if known is None or n_known < len(self):
            new = np.fromiter(function(self.strings[n_known:]), dtype=np.int32)
            known = self._answers[question] = new if known is None else np.concatenate([known, new])
        return known

    def mapped(self, question: str, function: Callable[[str], str]) -> Coded:
        """The string that a function makes of every string, as codes of shape `(n_distinct,)`."""
        results = self._mapped.setdefault(question, Distinct())
        codes = self.of_each(f"mapped {question}", lambda new: map(results._numbers.__getitem__, map(function, new)))
        return codes, results.strings
