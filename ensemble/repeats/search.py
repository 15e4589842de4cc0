"""Accepted names and numbers, found again where nothing marks them.

    mentions = [[Mention(Span(8, 18, "PATIENT"), 0.98)], []]          of two notes of one patient
    repeats = search(["Patient Dana Smith.", "Smith, Dana: fell."], mentions, manner_of, "en")
    repeats[1][0].span                                                Span(0, 11, "PATIENT")
    repeats[1][0].seeds[0].mention                                    what it repeats, and in which note that is

Case and accents do not count, and only whole words are found. Of a name any part is sought, in any order and with a
comma between, but a part of less than three letters only beside another; of a number, an address or a user name the
whole. What a mention already covers is no repeat; what holds a mention and goes on is one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from ensemble.deidentification.kinds import kind_anywhere
from ensemble.deidentification.letters import fold
from ensemble.deidentification.words import known_words
from features.documents import Span

__all__ = ["Manner", "Mention", "Repeat", "Seed", "folded", "manner_of", "search", "words_of"]

Manner = Literal["parts", "whole"]
"""How a mention is sought again."""

_MANNERS: dict[str, Manner] = {
    "PERSON": "parts",
    "INITIALS": "whole",
    "USERNAME": "whole",
    "PHONE": "whole",
    "EMAIL": "whole",
    "ID": "whole",
}
"""Kind of PHI -> how it is sought; these are the direct identifiers of patients, relatives and staff."""

_WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*)+")
_GAP = re.compile(r"[ \t]{0,3},?[ \t]{0,3}(?:\r?\n)?[ \t]{0,3}|[-‐‑'’]")
_AFTER_INITIAL = re.compile(r"\.?[ \t]?,?[ \t]?")
_SHORTEST_PART, _SHORTEST_CODE = 3, 4
_LONGEST = 9


@dataclass(frozen=True, slots=True)
class Mention:
    """PHI that was found, and how sure the finder is."""

    span: Span
    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class Seed:
    """A mention that is sought again.

    :param note: the place of its note among those that are searched.
    :param mention: what was found.
    :param words: as written, in order.
    :param parts: the folded words that are found by themselves; of what is sought whole, none.
    """

    note: int
    mention: Mention
    words: tuple[str, ...] = field(repr=False)
    parts: frozenset[str] = field(repr=False)

    @property
    def folded(self) -> tuple[str, ...]:
        """The words without case and accents."""
        return tuple(map(folded, self.words))


@dataclass(frozen=True, slots=True)
class Repeat:
    """A place where a mention stands again.

    :param span: where, with the label of the mention.
    :param words: as written, in order.
    :param seeds: the mentions of this label that it repeats, in order; never empty.
    """

    span: Span
    words: tuple[str, ...] = field(repr=False)
    seeds: tuple[Seed, ...] = field(repr=False)

    @property
    def parts(self) -> frozenset[str]:
        """The folded words that count: those parts of a name that are found by themselves, or else all."""
        every = frozenset(map(folded, self.words))
        return frozenset().union(*(every & seed.parts for seed in self.seeds)) or every


def manner_of(label: str) -> Manner | None:
    """How mentions of a label are sought again; nothing for those that are not."""
    return _MANNERS.get(kind_anywhere(label))


@lru_cache(maxsize=65536)
def folded(word: str) -> str:
    """A word without case and accents."""
    return fold(word)


def words_of(text: str) -> list[tuple[int, int]]:
    """Begin and end of the runs of letters and digits of a text."""
    return [match.span() for match in _WORD.finditer(text)]


def search(
    texts: Sequence[str],
    mentions: Sequence[Sequence[Mention]],
    language: str,
    manner_of: Callable[[str], Manner | None] = manner_of,
) -> list[list[Repeat]]:
    """Where the mentions stand again in notes of one patient.

    :param texts: the notes.
    :param mentions: for each note what was found there; only labels that have a manner are sought.
    :param language: ISO 639-1 code; decides what is a title or a particle and no name.
    :returns: for each note its repeats, sorted by span; each span and label once.
    """
    seeds = [
        seed
        for note, (text, found) in enumerate(zip(texts, mentions, strict=True))
        for mention in found
        if (seed := _seed(note, text, mention, manner_of(mention.span.label), language)) is not None
    ]
    index = _Index(seeds)
    return [
        list(_repeats(text, index, [m.span for m in found])) if seeds else []
        for text, found in zip(texts, mentions, strict=True)
    ]


def _seed(note: int, text: str, mention: Mention, manner: Manner | None, language: str) -> Seed | None:
    """What is sought of a mention; nothing if that would also be found by chance."""
    begin = mention.span.start
    written = text[begin : mention.span.end]
    words = tuple(written[start:end] for start, end in words_of(written))
    if manner == "parts" and len(words) <= _LONGEST:
        idle = known_words(language, "names", "titles", "particles", "connectors", "credentials")
        parts = frozenset(w for w in map(folded, words) if len(w) >= _SHORTEST_PART and w.isalpha() and w not in idle)
        return Seed(note, mention, words, parts) if parts else None
    if manner == "whole" and sum(map(len, words)) >= _SHORTEST_CODE:
        return Seed(note, mention, words, frozenset())
    return None


class _Index:
    """Seeds by what finds them."""

    def __init__(self, seeds: Sequence[Seed]) -> None:
        self.by_part: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.by_code: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.seeds: defaultdict[tuple[str, ...], list[Seed]] = defaultdict(list)
        for seed in seeds:
            self.seeds[seed.folded].append(seed)
            for part in seed.parts:
                self.by_part[part].add(seed.folded)
            if not seed.parts:
                self.by_code[seed.folded[0]].add(seed.folded)


def _repeats(text: str, index: _Index, marked: Sequence[Span]) -> Iterator[Repeat]:
    places = words_of(text)
    words = [folded(text[start:end]) for start, end in places]
    runs: defaultdict[Span, dict[int, Seed]] = defaultdict(dict)
    lengths: dict[Span, tuple[int, int]] = {}
    for first, last, name in _runs(text, places, words, index):
        start, end = places[first][0], places[last][1]
        if not any(span.start <= start and end <= span.end for span in marked):
            for seed in index.seeds[name]:
                span = Span(start, end, seed.mention.span.label)
                runs[span][id(seed)] = seed
                lengths[span] = first, last
    for span in sorted(runs):
        if not any(_holds(other, span) for other in runs if other.label == span.label):
            first, last = lengths[span]
            written = tuple(text[start:end] for start, end in places[first : last + 1])
            yield Repeat(span, written, tuple(runs[span].values()))


def _holds(span: Span, other: Span) -> bool:
    return span != other and span.start <= other.start and other.end <= span.end


def _runs(
    text: str, places: Sequence[tuple[int, int]], words: Sequence[str], index: _Index
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """First and last word of each stretch that is made of the words of one seed, and the seed's words."""
    for i, word in enumerate(words):
        for name in index.by_part.get(word, ()):
            first, last = _stretch(text, places, words, i, frozenset(name))
            yield first, last, name
        for code in index.by_code.get(word, ()):
            last = i + len(code) - 1
            if tuple(words[i : last + 1]) == code and all(_near(text, places, at) for at in range(i, last)):
                yield i, last, code


def _stretch(
    text: str, places: Sequence[tuple[int, int]], words: Sequence[str], at: int, name: frozenset[str]
) -> tuple[int, int]:
    """The longest stretch around a word that holds words of the name only, none of them twice."""
    first = last = at
    used = {words[at]}
    while last + 1 < len(words) and words[last + 1] in name - used and _joined(text, places, last):
        last += 1
        used.add(words[last])
    while first > 0 and words[first - 1] in name - used and _joined(text, places, first - 1):
        first -= 1
        used.add(words[first])
    return first, last


def _joined(text: str, places: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether a word and the next can be of one name: nothing stands between but what does in names."""
    gap = text[places[at][1] : places[at + 1][0]]
    is_short = places[at][1] - places[at][0] < _SHORTEST_PART
    return _GAP.fullmatch(gap) is not None or (is_short and _AFTER_INITIAL.fullmatch(gap) is not None)


def _near(text: str, places: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether a word and the next can be of one number or address."""
    gap = text[places[at][1] : places[at + 1][0]]
    return len(gap) <= _SHORTEST_PART and "\n" not in gap
