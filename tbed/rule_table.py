"""The table of candidate rules: the tokens that each would correct and break, kept up to date as tags change.

    context    the values that a template reads at a token, the token's tag included: a 64-bit key
    rule       a context and a new tag
    good       tokens that the rule would correct
    bad        tokens of the context that are right now, which every rule of the context would break
    score      good - bad, or good alone (an upper bound) while bad is unknown

Only contexts of wrongly tagged tokens are in the table. Most bad counts are never needed: they are counted when a
rule's upper bound makes it a candidate for the best, and kept up to date from then on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32

Keys = NDArray[np.uint64]

_SMALLEST = 1 << 10
_BARRED = 1 << 30


class HashTable:
    """Numbers 0, 1, 2, ... for distinct 64-bit keys, many at a time, new keys in order of arrival.

    Linear probing, vectorised over the keys of a call, which must be random bits. A `dict` needs an object and a call
    for each key, and `numpy.unique` would sort all keys again at each call.
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(_SMALLEST, dtype=np.uint64)
        self._table: Integers32 = np.full(4 * _SMALLEST, -1, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, keys: Keys) -> Integers:
        """The number of each key; keys may repeat."""
        self._reserve(self._count + len(keys))
        return self.find(keys, add=True)

    def find(self, keys: Keys, *, add: bool = False) -> Integers:
        """The number of each key, or -1; :param add: whether a new key gets a number, for which there must be room."""
        found = np.full(len(keys), -1, dtype=np.int64)
        mask = len(self._table) - 1
        # (n_waiting,): unresolved keys and the cell that each probes. A free cell ends the search, or is taken; a cell
        # with another key moves it to the next one.
        waiting, at = np.arange(len(keys)), self._home(keys)
        while len(waiting):
            number = self._table[at]
            filled = number >= 0
            if add and not filled.all():
                self._settle(waiting[~filled], at[~filled], keys)
                number = self._table[at]
                filled[:] = True
            hit = filled & (self._keys[number] == keys[waiting])
            found[waiting[hit]] = number[hit]
            onward = filled & ~hit
            waiting, at = waiting[onward], (at[onward] + 1) & mask
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
            at, waiting = self._home(self._keys[: self._count]), np.arange(self._count)
            while len(waiting):
                free = self._table[at] < 0
                self._table[at[free]] = waiting[free]
                onward = self._table[at] != waiting
                waiting, at = waiting[onward], (at[onward] + 1) & (len(self._table) - 1)


class RuleTable:
    """Candidate rules as parallel arrays; a rule's number is its index, and so is a context's.

    `target` is the new tag of each rule; `place`, `view` and `packed` are its first occurrence, see
    `Encoding.conditions`. Invariant: `score[r] == good[r] - bad[context[r]]`, with `bad` 0 while unknown. The rules of
    a context are a chain: `first[context]`, then `following[rule]`, up to -1.

    :param target_codes: the random code of each tag, of shape `(n_tags,)`.
    """

    def __init__(self, target_codes: Keys) -> None:
        self._target_codes = target_codes
        self.contexts, self._rules = HashTable(), HashTable()
        self.known: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._bad: Integers32 = np.zeros(0, dtype=np.int32)
        self._first: Integers32 = np.zeros(0, dtype=np.int32)
        self.good: Integers32 = np.zeros(0, dtype=np.int32)
        self._score: Integers32 = np.zeros(0, dtype=np.int32)
        self.context: Integers32 = np.zeros(0, dtype=np.int32)
        self._following: Integers32 = np.zeros(0, dtype=np.int32)
        self.target: NDArray[np.int16] = np.zeros(0, dtype=np.int16)
        self.place: Integers32 = np.zeros(0, dtype=np.int32)
        self.view: NDArray[np.int16] = np.zeros(0, dtype=np.int16)
        self.packed: Integers = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def score(self) -> Integers32:
        """The score of each rule, of shape `(n_rules,)`."""
        return self._score[: len(self)]

    def add(self, keys: Keys, targets: Integers) -> tuple[Integers, Integers]:
        """Find or add the rules with these contexts and targets, which may repeat.

        :returns: the rule of each pair, and the index of a pair for each new rule, in order of number; the caller sets
            `place`, `view` and `packed` of these.
        """
        n_before = len(self)
        rules = self._rules.add(keys + self._target_codes[targets])
        n_new = len(self) - n_before
        source = np.zeros(n_new, dtype=np.int64)
        entered = np.flatnonzero(rules >= n_before)
        source[rules[entered] - n_before] = entered
        if n_new:
            self._enter(n_before, keys[source], targets[source])
        return rules, source

    def _enter(self, n_before: int, keys: Keys, targets: Integers) -> None:
        new = np.arange(n_before, len(self))
        n_contexts = len(self.contexts)
        contexts = self.contexts.add(keys)
        for name in ("good", "_score", "context", "_following", "target", "place", "view", "packed"):
            setattr(self, name, _grown(getattr(self, name), len(self)))
        for name in ("known", "_bad", "_first"):
            setattr(self, name, _grown(getattr(self, name), len(self.contexts)))
        self._first[n_contexts : len(self.contexts)] = -1
        self.context[new], self.target[new] = contexts, targets
        self.good[new], self._score[new] = 0, -self._bad[contexts]
        # (n_new,): the new rules of a context go to the head of its chain.
        order = np.argsort(contexts, kind="stable")
        chained, of_context = new[order], contexts[order]
        last = np.append(of_context[1:] != of_context[:-1], True)
        begins = np.append(True, last[:-1])
        self._following[chained[:-1]] = chained[1:]
        self._following[chained[last]] = self._first[of_context[last]]
        self._first[of_context[begins]] = chained[begins]

    def find(self, keys: Keys, targets: Integers) -> Integers:
        """The rules with these contexts and targets, or -1."""
        return self._rules.find(keys + self._target_codes[targets])

    def count_good(self, rules: Integers, change: int) -> None:
        """Add `change` to the good count of a rule for each of its occurrences."""
        np.add.at(self.good, rules, np.int32(change))
        np.add.at(self._score, rules, np.int32(change))

    def count_bad(self, contexts: Integers, changes: Integers32) -> None:
        """Add changes to the bad counts of distinct contexts."""
        self._bad[contexts] += changes
        # (n_chains,): one rule of each chain at a time.
        rules = self._first[contexts]
        while len(rules):
            self._score[rules] -= changes
            rules = self._following[rules]
            ongoing = rules >= 0
            rules, changes = rules[ongoing], changes[ongoing]

    def bar(self, rule: int) -> None:
        """Exclude a rule."""
        self._score[rule] -= _BARRED

    def correct(self, rule: int, good: int, bad: int) -> None:
        """Set the counts of a rule that was recounted."""
        self.good[rule] = good
        self._score[rule] = good - bad


def _grown(array: NDArray[Any], length: int) -> NDArray[Any]:
    if length <= len(array):
        return array
    return np.concatenate([array, np.zeros(length + length // 2 + 64 - len(array), dtype=array.dtype)])
