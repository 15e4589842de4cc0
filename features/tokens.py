"""Tokenisers: where the tokens of a text begin and end.

    tokenise = Tokeniser("liu")
    tokenise("48-year-old in HealthCare")     48 | - | year | - | old | in | HealthCare
    tokenise.cut("Ann Lee")                   (["Ann", "Lee"], ["", " "]): words, and the white space before each
    tokenise = Tokeniser("zhao2020")
    tokenise("48-year-old in HealthCare")     48 | - | year | - | old | in | Health | Care
    BytePairs.train({"hospital": 9, "hospice": 4, "spice": 1}, n_merges=10).split("hospitable")     hospi | t | a | ...

Tokens never overlap and never contain white space. `liu` (Liu 2017) splits at blanks and then between runs of digits,
runs of letters and single other characters, underscores included: `birchwood_anselm` has three tokens. `zhao2020`
(Zhao 2020) also splits a run of letters before every capital, and may then split each token by byte pair encoding; its
columns describe whole words. `zhao` is an older form in old bundles: a run of capitals stays whole, and columns
describe tokens. Bundles name their tokeniser, so the meaning of a name never changes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

import numpy as np

from phistack.features.arrays import Integers32
from phistack.features.errors import SettingsError, no_such

TokenOffsets = tuple[Integers32, Integers32]
Merge = tuple[str, str]

# A combining accent belongs to the letter before it.
_RUNS = re.compile(r"([^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*|\d+|\S)")
_WORDS_KEPT = 65_536


class BytePairs:
    """Byte pair encoding (Sennrich, Haddow and Birch 2016): learned merges, in the order in which they were learned.

    Frequent words become one piece, rare ones a few frequent pieces.

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


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """Splits text into tokens.

    :param name: one of `TOKENISERS`.
    :param byte_pairs: trained byte pair encoding that splits rare words further; not for `liu`.
    :raises SettingsError: for an unknown name, or byte pairs with `liu`.
    """

    name: str = "liu"
    byte_pairs: BytePairs | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.name not in TOKENISERS:
            raise SettingsError(no_such("tokeniser", self.name, TOKENISERS))
        if self.byte_pairs is not None and self.name == "liu":
            raise SettingsError("byte pair encoding belongs to the tokenisers zhao and zhao2020")

    @property
    def keeps_words(self) -> bool:
        """Whether tokens are pieces of words, and columns describe the whole words."""
        return self.name == "zhao2020"

    def __call__(self, text: str) -> TokenOffsets:
        """Offsets of all tokens: starts and ends, each of shape `(n_tokens,)`."""
        words, gaps = self.cut(text)
        return offsets_of(words, gaps)

    def cut(self, text: str) -> tuple[list[str], list[str]]:
        """The text of each token, and the white space before it; both of length `n_tokens`."""
        found = _RUNS.split(text)
        words, gaps = found[1::2], found[:-1:2]
        if self.name == "liu":
            return words, gaps
        pieces = [self._pieces(word) for word in words]
        inner = [(gap, *[""] * (len(parts) - 1)) for gap, parts in zip(gaps, pieces, strict=True)]
        return list(chain.from_iterable(pieces)), list(chain.from_iterable(inner))

    def letters(self, run: str) -> tuple[str, ...]:
        """The pieces of a run of letters, before byte pair encoding; digits and signs stay whole."""
        return _CUTS[self.name](run) if run[0].isalpha() else (run,)

    def _pieces(self, run: str) -> tuple[str, ...]:
        pieces = self.letters(run)
        if self.byte_pairs is None or not run[0].isalpha():
            return pieces
        return tuple(part for piece in pieces for part in self.byte_pairs.split(piece))


def offsets_of(words: Sequence[str], gaps: Sequence[str]) -> TokenOffsets:
    """The offsets of the tokens of `Tokeniser.cut`: starts and ends, each of shape `(n_tokens,)`."""
    lengths = np.fromiter(map(len, words), dtype=np.int32, count=len(words))
    ends = np.cumsum(np.fromiter(map(len, gaps), dtype=np.int32, count=len(gaps)) + lengths, dtype=np.int32)
    return ends - lengths, ends


@lru_cache(maxsize=65536)
def camel_case_pieces(run: str) -> tuple[str, ...]:
    """Split a run of letters before upper-case letters: `HealthCare` -> `Health`, `Care`.

    A stretch of capitals stays whole (`MADRID`), except for the last one before a lower-case letter
    (`MRISmith` -> `MRI`, `Smith`).
    """
    cuts = [
        i
        for i in range(1, len(run))
        if run[i].isupper() and (run[i - 1].islower() or (i + 1 < len(run) and run[i + 1].islower()))
    ]
    return tuple(run[a:b] for a, b in zip([0, *cuts], [*cuts, len(run)], strict=True))


@lru_cache(maxsize=65536)
def capital_pieces(run: str) -> tuple[str, ...]:
    """Split a run of letters before every upper-case letter: `McDonald` -> `Mc`, `Donald`; `MRI` -> `M`, `R`, `I`."""
    cuts = [i for i in range(1, len(run)) if run[i].isupper()]
    return tuple(run[a:b] for a, b in zip([0, *cuts], [*cuts, len(run)], strict=True))


_CUTS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "liu": lambda run: (run,),
    "zhao": camel_case_pieces,
    "zhao2020": capital_pieces,
}
"""Tokeniser -> how it splits a run of letters."""

TOKENISERS = tuple(_CUTS)
"""The names of the tokenisers."""
