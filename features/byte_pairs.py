"""Byte pair encoding, learned from word counts.

    pairs = BytePairs.train({"hospital": 9, "hospice": 4, "spice": 1}, n_merges=10)
    pairs.split("hospitable")     ("hospi", "t", "a", "b", "l", "e")

Sennrich, Haddow and Birch 2016. Frequent words become one piece, rare ones a few frequent pieces. Libraries for this
tokenise whole texts themselves; here the words are already cut and counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

Merge = tuple[str, str]

_WORDS_KEPT = 65_536


class BytePairs:
    """Learned merges, in the order in which they were learned.

    :param merges: pairs of pieces; an earlier pair is merged before a later one.
    """

    def __init__(self, merges: Iterable[Merge]) -> None:
        self.merges: tuple[Merge, ...] = tuple(merges)
        self._rank = {pair: rank for rank, pair in enumerate(self.merges)}
        self._known: dict[str, tuple[str, ...]] = {}

    @classmethod
    def train(cls, word_counts: Mapping[str, int], *, n_merges: int) -> BytePairs:
        """Learn merges from words and how often each occurs; ties go to the pair first in alphabetical order."""
        words = {word: list(word) for word in word_counts}
        counts: Counter[Merge] = Counter()
        homes: defaultdict[Merge, set[str]] = defaultdict(set)
        for word, pieces in words.items():
            _count(word, pieces, word_counts[word], counts, homes)
        merges: list[Merge] = []
        queue = [(-count, pair) for pair, count in counts.items()]
        heapify(queue)
        while len(merges) < n_merges and queue:
            count, best = heappop(queue)
            if counts.get(best, 0) != -count:
                continue
            if -count < 2:
                break
            merges.append(best)
            changed: set[Merge] = set()
            for word in sorted(homes[best]):
                before = words[word]
                words[word] = _merge(before, best)
                _count(word, before, -word_counts[word], counts, homes)
                _count(word, words[word], word_counts[word], counts, homes)
                changed.update(pairwise(before), pairwise(words[word]))
            for pair in changed & counts.keys():
                heappush(queue, (-counts[pair], pair))
        return cls(merges)

    def split(self, word: str) -> tuple[str, ...]:
        """The pieces of a word; joined, they are the word."""
        pieces = self._known.get(word)
        if pieces is None:
            if len(self._known) >= _WORDS_KEPT:
                self._known.clear()
            pieces = self._known[word] = self._split_word(word)
        return pieces

    def _split_word(self, word: str) -> tuple[str, ...]:
        pieces = list(word)
        while len(pieces) > 1:
            ranked = [pair for pair in pairwise(pieces) if pair in self._rank]
            if not ranked:
                break
            pieces = _merge(pieces, min(ranked, key=self._rank.__getitem__))
        return tuple(pieces)


def _count(
    word: str, pieces: list[str], times: int, counts: Counter[Merge], homes: defaultdict[Merge, set[str]]
) -> None:
    for pair in pairwise(pieces):
        counts[pair] += times
        homes[pair].add(word)
        if counts[pair] <= 0:
            del counts[pair]


def _merge(pieces: list[str], pair: Merge) -> list[str]:
    merged: list[str] = []
    position = 0
    while position < len(pieces):
        if tuple(pieces[position : position + 2]) == pair:
            merged.append(pair[0] + pair[1])
            position += 2
        else:
            merged.append(pieces[position])
            position += 1
    return merged
