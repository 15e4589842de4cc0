"""Where the tokens and the sentences of a text begin and end.

    tokenise = Tokeniser("liu")
    tokenise("48-year-old in HealthCare")     48 | - | year | - | old | in | HealthCare
    tokenise.cut("Ann Lee")                   (["Ann", "Lee"], ["", " "]): words, and the white space before each
    sentence_starts(*tokenise.cut("Seen. Ann Lee"))     [0, 2, 4]
    tokenise = Tokeniser("zhao2020")
    tokenise("48-year-old in HealthCare")     48 | - | year | - | old | in | Health | Care
    BytePairs.train({"hospital": 9, "hospice": 4, "spice": 1}, n_merges=10).split("hospitable")     hospi | t | a | ...

Tokens never overlap and never contain white space. `liu` (Liu 2017) splits at blanks and then between runs of digits,
runs of letters and single other characters, underscores included: `birchwood_anselm` has three tokens. `zhao2020`
(Zhao 2020) also splits a run of letters before every capital, and may then split each token by byte pair encoding; its
columns describe whole words. `zhao` is an older form in old bundles: a run of capitals stays whole, and columns
describe tokens. Bundles name their tokeniser, so the meaning of a name never changes.

A sentence ends with its line. Within a line it ends after `.`, `?` or `!` if white space and a capital or a digit
follow, unless the word before is an abbreviation or a single letter. Abbreviations are those listed here and those
learned from the training notes: words with a full stop inside marked PHI (`Avda. de la Paz`). If the training corpus
marks PHI over line ends, such as addresses, only an empty line ends a sentence. Libraries that split sentences are made
for prose, not forms, and need data for each language.
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
        return offsets_of(*self.cut(text))

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
    cuts = (
        i for i in range(1, len(run)) if run[i].isupper() and (run[i - 1].islower() or run[i + 1 : i + 2].islower())
    )
    return tuple(run[a:b] for a, b in pairwise((0, *cuts, len(run))))


@lru_cache(maxsize=65536)
def capital_pieces(run: str) -> tuple[str, ...]:
    """Split a run of letters before every upper-case letter: `McDonald` -> `Mc`, `Donald`; `MRI` -> `M`, `R`, `I`."""
    cuts = (i for i in range(1, len(run)) if run[i].isupper())
    return tuple(run[a:b] for a, b in pairwise((0, *cuts, len(run))))


_CUTS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "liu": lambda run: (run,),
    "zhao": camel_case_pieces,
    "zhao2020": capital_pieces,
}
"""Tokeniser -> how it splits a run of letters."""

TOKENISERS = tuple(_CUTS)
"""The names of the tokenisers."""


_ABBREVIATIONS = frozenset(
    "dr dra drs mr mrs ms prof st sr sra sto sta no nº n tel fax av avda avd ave blvd rd c ctra pza pl dpto depto núm "
    "num hosp univ vs approx ca etc eg ie fig ref pt pts jr rev vol ed dept ext apt mt ft dhr mw mevr str nr bzw z hr "
    "fr geb art pág pag izq dcha dpt col km crta cra gral hnos".split()
)
"""Abbreviations of several languages whose full stop seldom ends a sentence."""

_INNER_STOP = re.compile(r"([^\W\d_]+)\.\s+\S")
_STOPS = frozenset(".?!")
_LONGEST = 200


def sentence_starts(
    words: Sequence[str],
    gaps: Sequence[str],
    *,
    split_lines: bool = True,
    abbreviations: frozenset[str] = frozenset(),
) -> Integers32:
    """The index of the first token of each sentence, then the number of tokens: shape `(n_sentences + 1,)`.

    Sentences of more than 200 tokens are cut.

    :param words: the text of the tokens, from `Tokeniser.cut`.
    :param gaps: the white space before each token.
    :param abbreviations: in lower case, in addition to the built-in ones.
    """
    if not words:
        return np.zeros(1, dtype=np.int32)
    breaks_needed = 1 if split_lines else 2
    bounds = [0]
    for i, (gap, mark) in enumerate(zip(gaps[1:], words, strict=False), start=1):
        if gap and (
            (mark in _STOPS and _stops(words, gaps, i, abbreviations))
            or (gap != " " and (gap.count("\n") or gap.count("\r")) >= breaks_needed)
        ):
            bounds.append(i)
    return cut_long([*bounds, len(words)])


def cut_long(bounds: Iterable[int]) -> Integers32:
    """Cut sentences of more than 200 tokens.

    :param bounds: the first token of each sentence, then the number of tokens.
    """
    bounds = list(bounds)
    starts = [start for a, b in pairwise(bounds) for start in range(a, b, _LONGEST)]
    return np.array([*starts, *bounds[-1:]], dtype=np.int32)


def _stops(words: Sequence[str], gaps: Sequence[str], i: int, abbreviations: frozenset[str]) -> bool:
    """Whether token `i`, after a stop and white space, opens a sentence."""
    first = words[i][0]
    if not (first.isupper() or first.isdigit()):
        return False
    if i < 2 or words[i - 1] != "." or gaps[i - 1]:
        return True
    before = words[i - 2].lower()
    ends_word = before.isalpha() or before in ")]}\"'»”’%" or (before.isdigit() and first.isupper())
    return ends_word and not (
        before in _ABBREVIATIONS or before in abbreviations or (len(before) == 1 and before.isalpha())
    )


def learned_abbreviations(marked: Iterable[str]) -> frozenset[str]:
    """The words before a full stop and a blank inside marked PHI, in lower case.

    :param marked: the texts of spans.
    """
    return frozenset(match[1].lower() for text in marked for match in _INNER_STOP.finditer(text))


def count_sentences(text: str) -> int:
    """The number of sentences; 0 for a text without tokens."""
    return len(sentence_starts(*Tokeniser().cut(text))) - 1
