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
from phistack.tbed.hash_table import HashTable, Keys

_BARRED = 1 << 30


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
