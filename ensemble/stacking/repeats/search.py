"""Accepted names and numbers, found again where nothing marks them.

    mentions = [[Mention(Span(8, 18, "PATIENT"), 0.98)], []]          of two notes of one patient
    repeats = search(["Patient Dana Smith.", "Smith, Dana: fell."], mentions, "en")
    repeats[1][0].span                                                Span(0, 11, "PATIENT")
    repeats[1][0].seeds[0].places                                     {0: 8}: it repeats what is there in the first note

Case and accents do not count, and only whole words are found. Of a name any part is sought, in any order and with a
comma between, but a part of less than three letters, unless asked for, only beside another; of a number, an address or
a user name the whole. What a mention already covers is no repeat; what holds a mention and goes on is one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from typing import Literal

from phistack.ensemble.deidentification.kinds import kind_anywhere
from phistack.ensemble.deidentification.word_lists import known_words
from phistack.features.documents import Span
from phistack.features.letters import fold
from phistack.features.ranges import covering

SearchMode = Literal["parts", "whole"]
"""How a mention is sought again."""

_SEARCH_MODES: dict[str, SearchMode] = {
    "PERSON": "parts",
    "INITIALS": "whole",
    "USERNAME": "whole",
    "PHONE": "whole",
    "EMAIL": "whole",
    "ID": "whole",
}
"""Kind of PHI -> how it is sought; these are the direct identifiers of patients, relatives and staff."""

_WORD = re.compile("[^\\W_]+(?:[\u0300-\u036f]+[^\\W_]*)*")
_CUT = re.compile(f"({_WORD.pattern})")
_GAP = re.compile(r"[ \t]{0,3},?[ \t]{0,3}(?:\r?\n)?[ \t]{0,3}|[-‐‑'’]")
_AFTER_INITIAL = re.compile(r"\.?[ \t]?,?[ \t]?")
_SHORTEST_PART, _SHORTEST_CODE = 3, 4
NUMERALS = frozenset({"ii", "iii", "iv"})
_LONGEST = 9
_WIDEST_GAP = 3
_MOST_SEEDS = 20
"""By one word; of more names with a word in common, those that occur most are sought."""


@dataclass(frozen=True, slots=True)
class Mention:
    """PHI that was found, and how sure the finder is."""

    span: Span
    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class Seed:
    """What is sought: all mentions that have one label and the same words, but for case and accents.

    :param label: of the mentions.
    :param words: folded, in order.
    :param parts: those of the words that are found by themselves; of what is sought whole, none.
    :param written: the words as they stand in the mentions.
    :param places: place of a note among those that are searched -> where its first mention begins.
    :param times: how many mentions there are.
    :param probability: of the surest mention.
    """

    label: str
    words: tuple[str, ...] = field(repr=False)
    parts: frozenset[str] = field(repr=False)
    written: frozenset[str] = field(repr=False)
    places: Mapping[int, int]
    times: int
    probability: float


@dataclass(frozen=True, slots=True)
class Repeat:
    """A place where a seed stands again.

    :param span: where, with the label of the seeds.
    :param words: as written, in order.
    :param seeds: what it repeats; never empty.
    """

    span: Span
    words: tuple[str, ...] = field(repr=False)
    seeds: tuple[Seed, ...] = field(repr=False)

    @property
    def is_name(self) -> bool:
        """Whether it can be a part of what it repeats."""
        return any(seed.parts for seed in self.seeds)

    @property
    def parts(self) -> frozenset[str]:
        """The folded words that count: those parts of a name that are found by themselves, or else all."""
        every = frozenset(map(fold, self.words))
        return frozenset().union(*(every & seed.parts for seed in self.seeds)) or every


def search_mode(label: str) -> SearchMode | None:
    """How mentions of a label are sought again; nothing for those that are not."""
    return _SEARCH_MODES.get(kind_anywhere(label))


def words_of(text: str) -> list[tuple[int, int]]:
    """Begin and end of the runs of letters and digits of a text."""
    return [match.span() for match in _WORD.finditer(text)]


def search(
    texts: Sequence[str],
    mentions: Sequence[Sequence[Mention]],
    language: str,
    search_mode: Callable[[str], SearchMode | None] = search_mode,
    shortest: int = _SHORTEST_PART,
) -> list[list[Repeat]]:
    """Where the mentions stand again in notes of one patient.

    :param texts: the notes.
    :param mentions: for each note what was found there; only labels with a search mode are searched for.
    :param language: ISO 639-1 code; decides what is a title or a particle and no name.
    :param search_mode: how mentions of a label are sought.
    :param shortest: how many letters a part of a name has that is found by itself.
    :returns: for each note its repeats, sorted by span; each span and label once.
    """
    by_word = _by_word(_seeds(texts, mentions, language, search_mode, shortest))
    if not by_word:
        return [[] for _ in texts]
    pairs = zip(texts, mentions, strict=True)
    return [list(_repeats(_Words(text), by_word, [m.span for m in found])) for text, found in pairs]


def _seeds(
    texts: Sequence[str],
    mentions: Sequence[Sequence[Mention]],
    language: str,
    search_mode: Callable[[str], SearchMode | None],
    shortest: int,
) -> Iterator[Seed]:
    """What is sought, the most frequent first."""
    idle = NUMERALS | idle_words(language)
    alike: defaultdict[tuple[str, tuple[str, ...]], list[tuple[int, Mention, list[str]]]] = defaultdict(list)
    for note, (text, found) in enumerate(zip(texts, mentions, strict=True)):
        for mention in found:
            if search_mode(mention.span.label) is not None:
                written = _WORD.findall(text[mention.span.start : mention.span.end])
                alike[mention.span.label, tuple(map(fold, written))].append((note, mention, written))
    for (label, words), group in sorted(alike.items(), key=lambda item: (-len(item[1]), item[0])):
        parts = frozenset(w for w in words if len(w) >= shortest and w.isalpha() and w not in idle)
        is_whole = search_mode(label) == "whole"
        if sum(map(len, words)) >= _SHORTEST_CODE if is_whole else parts and len(words) <= _LONGEST:
            yield Seed(
                label,
                words,
                frozenset() if is_whole else parts,
                frozenset(word for _, _, written in group for word in written),
                {note: mention.span.start for note, mention, _ in reversed(group)},
                len(group),
                max(mention.probability for _, mention, _ in group),
            )


@cache
def idle_words(language: str) -> frozenset[str]:
    """What stands in many names and says nothing by itself: titles, particles, credentials."""
    return known_words(language, "names", "titles", "particles", "connectors", "credentials")


def _by_word(seeds: Iterable[Seed]) -> dict[str, list[Seed]]:
    """Seeds by the words that find them, no more than so many by one word."""
    found: defaultdict[str, list[Seed]] = defaultdict(list)
    for seed in seeds:
        for word in sorted(seed.parts) or seed.words[:1]:
            if len(found[word]) < _MOST_SEEDS:
                found[word].append(seed)
    return dict(found)


class _Words:
    """The words of a text: as written and folded, where they stand, and what stands between them."""

    def __init__(self, text: str) -> None:
        self._pieces = _CUT.split(text)
        self.as_written = self._pieces[1::2]
        self.folded = list(map(fold, self.as_written))

    def __len__(self) -> int:
        return len(self.folded)

    @cached_property
    def _ends(self) -> list[int]:
        """Where each word and each gap ends, the first gap being that before the first word."""
        return list(accumulate(map(len, self._pieces)))

    def place(self, first: int, last: int) -> tuple[int, int]:
        """Begin and end of some words."""
        return self._ends[2 * first], self._ends[2 * last + 1]

    def gap(self, at: int) -> str:
        """What stands between a word and the next."""
        return self._pieces[2 * at + 2]

    def written(self, first: int, last: int) -> tuple[str, ...]:
        """Some words as they are written."""
        return tuple(self.as_written[first : last + 1])


def _repeats(words: _Words, by_word: Mapping[str, Sequence[Seed]], marked: Iterable[Span]) -> Iterator[Repeat]:
    runs: defaultdict[Span, dict[int, Seed]] = defaultdict(dict)
    within: dict[Span, tuple[int, int]] = {}
    is_marked = covering((span.start, span.end) for span in marked)
    for first, last, seed in _runs(words, by_word):
        start, end = words.place(first, last)
        if not is_marked(start, end):
            span = Span(start, end, seed.label)
            within[span] = first, last
            runs[span][id(seed)] = seed
    furthest: dict[str, int] = {}
    for span in sorted(runs, key=lambda span: (span.start, -span.end, span.label)):
        if span.end > furthest.get(span.label, 0):
            furthest[span.label] = span.end
            yield Repeat(span, words.written(*within[span]), tuple(runs[span].values()))


def _runs(words: _Words, by_word: Mapping[str, Sequence[Seed]]) -> Iterator[tuple[int, int, Seed]]:
    """First and last word of each stretch that is made of the words of one seed."""
    for i in [i for i, word in enumerate(words.folded) if word in by_word]:
        for seed in by_word[words.folded[i]]:
            if seed.parts:
                yield *_stretch(words, i, seed), seed
            elif _stands_whole(words, i, seed):
                yield i, i + len(seed.words) - 1, seed


def _stands_whole(words: _Words, at: int, seed: Seed) -> bool:
    last = at + len(seed.words) - 1
    return tuple(words.folded[at : last + 1]) == seed.words and all(_near(words.gap(i)) for i in range(at, last))


def _stretch(words: _Words, at: int, seed: Seed) -> tuple[int, int]:
    """The longest stretch around a word that holds words of the seed only, none of them twice."""
    first = last = at
    folded, n = words.folded, len(words)
    left = {*seed.words} - {folded[at]}
    while last + 1 < n and folded[last + 1] in left and _joined(words, last):
        last += 1
        left.remove(folded[last])
    while first > 0 and folded[first - 1] in left and _joined(words, first - 1):
        first -= 1
        left.remove(folded[first])
    return first, last


def _joined(words: _Words, at: int) -> bool:
    """Whether a word and the next can be of one name: nothing stands between but what does in names."""
    gap = words.gap(at)
    is_short = len(words.folded[at]) < _SHORTEST_PART
    return _GAP.fullmatch(gap) is not None or (is_short and _AFTER_INITIAL.fullmatch(gap) is not None)


def _near(gap: str) -> bool:
    """Whether two words with this between them can be of one number or address."""
    return len(gap) <= _WIDEST_GAP and "\n" not in gap
