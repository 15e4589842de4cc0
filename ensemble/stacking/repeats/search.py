"""Repeated mentions: accepted names and numbers, found again where nothing marks them.

    accepted = [[Decision(Span(8, 18, "PATIENT"), 0.98, True, ())], []]          of two notes of one patient
    repeats = search(["Patient Dana Smith.", "Smith, Dana: fell."], accepted, "en")
    repeats[1][0].span                                                Span(0, 11, "PATIENT")

Case and accents do not matter, and only whole words are found. Any part of a name counts, in its order, or inverted
with a comma (`Smith, Dana`); a title only before the name, and a part of fewer than three letters only beside another.
Numbers, addresses and user names count as a whole. A place inside a marked span is no repeat; one that extends it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from phistack.ensemble.deidentification.kinds import kind_anywhere
from phistack.ensemble.deidentification.word_lists import known_words
from phistack.ensemble.stacking.candidates import Decision
from phistack.features.documents import Span
from phistack.features.letters import fold
from phistack.features.ranges import covering, ranges_of
from phistack.features.text_words import Index, Words, written_words

SearchMode = Literal["parts", "whole"]
"""How a mention is searched for."""

_WHOLE = ("INITIALS", "USERNAME", "PHONE", "EMAIL", "ID")
"""Kinds of PHI that are searched for as a whole; with names, the direct identifiers of persons."""

_GAP = re.compile(r"[ \t]{0,3},?[ \t]{0,3}(?:\r?\n)?[ \t]{0,3}|[-‐‑'’]")
_AFTER_INITIAL = re.compile(r"\.?[ \t]?,?[ \t]?")
_SHORTEST_PART, _SHORTEST_CODE, _LONGEST, _WIDEST_GAP = 3, 4, 9, 3
_MOST_SEEDS = 20
"""The most names with the same word; if there are more, the most frequent are searched for."""

NUMERALS = frozenset({"ii", "iii", "iv"})
_END = " "
"""Appended to each word of the index, so only whole words match."""


@dataclass(frozen=True, slots=True)
class Seed:
    """All mentions of one label with the same folded words.

    :param words: folded, in order.
    :param parts: the words that count alone; empty if only the whole counts.
    :param first: index of the first word that is not a title.
    :param is_inverted: whether a mention has a comma, so the first words may follow.
    :param written: the words as in the mentions.
    :param places: index of a note -> start of its first mention.
    :param probability: of the surest mention.
    """

    label: str
    words: tuple[str, ...] = field(repr=False)
    parts: frozenset[str] = field(repr=False)
    order: Mapping[str, int] = field(repr=False)
    first: int
    is_inverted: bool
    written: frozenset[str] = field(repr=False)
    places: Mapping[int, int]
    times: int
    probability: float


@dataclass(frozen=True, slots=True)
class Repeat:
    """A place where a seed is repeated.

    :param span: where, with the label of the seeds.
    :param words: as written, in order.
    :param seeds: what it repeats; never empty.
    """

    span: Span
    words: tuple[str, ...] = field(repr=False)
    seeds: tuple[Seed, ...] = field(repr=False)

    @property
    def is_name(self) -> bool:
        """Whether it repeats a name; parts of names count."""
        return any(seed.parts for seed in self.seeds)

    @property
    def parts(self) -> frozenset[str]:
        """The folded words that count: the parts of a name that count alone, or else all."""
        every = frozenset(map(fold, self.words))
        return frozenset().union(*(every & seed.parts for seed in self.seeds)) or every


def search_mode(label: str) -> SearchMode | None:
    """How mentions of a label are searched for; `None` if they are not."""
    kind = kind_anywhere(label)
    return "parts" if kind == "PERSON" else "whole" if kind in _WHOLE else None


@cache
def non_name_words(language: str) -> frozenset[str]:
    """Words in many names that identify no person: titles, particles, credentials."""
    return known_words(language, "names", "titles", "particles", "connectors", "credentials")


def search(texts: Sequence[str], accepted: Sequence[Sequence[Decision]], language: str) -> list[list[Repeat]]:
    """Repeats of accepted mentions in the notes of one patient.

    :param accepted: for each note its accepted decisions; only labels with a search mode are searched for.
    :returns: for each note its repeats, sorted by span; each span and label once.
    """
    strings = [*_strings(_seeds(texts, accepted, language))]
    if not strings:
        return [[] for _ in texts]
    index = Index(strings)
    return [list(_repeats(Words(text), index, found)) for text, found in zip(texts, accepted, strict=True)]


def _seeds(texts: Sequence[str], accepted: Sequence[Sequence[Decision]], language: str) -> Iterator[Seed]:
    """The seeds, the most frequent first."""
    no_names, titles = NUMERALS | non_name_words(language), known_words(language, "names", "titles")
    alike: defaultdict[tuple[str, tuple[str, ...]], list[tuple[int, Decision, str]]] = defaultdict(list)
    for note, (text, found) in enumerate(zip(texts, accepted, strict=True)):
        for mention in found:
            if search_mode(mention.span.label) is not None:
                written = text[mention.span.start : mention.span.end]
                alike[mention.span.label, tuple(map(fold, written_words(written)))].append((note, mention, written))
    for (label, words), group in sorted(alike.items(), key=lambda item: (-len(item[1]), item[0])):
        parts = frozenset(w for w in words if len(w) >= _SHORTEST_PART and w.isalpha() and w not in no_names)
        is_whole = search_mode(label) == "whole"
        if sum(map(len, words)) >= _SHORTEST_CODE if is_whole else parts and len(words) <= _LONGEST:
            order = {word: place for place, word in enumerate(dict.fromkeys(words))}
            yield Seed(
                label,
                words,
                frozenset() if is_whole else parts,
                order,
                min((place for word, place in order.items() if word not in titles), default=0),
                any("," in written for _, _, written in group),
                frozenset(word for _, _, written in group for word in written_words(written)),
                {note: mention.span.start for note, mention, _ in reversed(group)},
                len(group),
                max(mention.probability for _, mention, _ in group),
            )


def _strings(seeds: Iterable[Seed]) -> Iterator[tuple[str, Seed]]:
    """The strings of each seed, at most 20 seeds for each string."""
    times: Counter[str] = Counter()
    for seed in seeds:
        strings = [part + _END for part in sorted(seed.parts)]
        for string in strings or ["".join(word + _END for word in seed.words)]:
            times[string] += 1
            if times[string] <= _MOST_SEEDS:
                yield string, seed


def _repeats(words: Words, index: Index[Seed], marked: Sequence[Decision]) -> Iterator[Repeat]:
    runs: defaultdict[Span, dict[int, Seed]] = defaultdict(dict)
    within: dict[Span, tuple[int, int]] = {}
    is_marked = covering(ranges_of(marked))
    for at, after, seed in index.find([word + _END for word in words.folded]):
        gaps = () if seed.parts else map(words.gap, range(at + 1, after))
        if all(len(gap) <= _WIDEST_GAP and "\n" not in gap for gap in gaps):
            first, last = _stretch(words, at, seed) if seed.parts else (at, after - 1)
            start, end = words.place(first, last + 1)
            if not is_marked(start, end):
                span = Span(start, end, seed.label)
                within[span] = first, last
                runs[span][id(seed)] = seed
    furthest: dict[str, int] = {}
    for span in sorted(runs, key=lambda span: (span.start, -span.end, span.label)):
        if span.end > furthest.get(span.label, 0):
            furthest[span.label] = span.end
            first, last = within[span]
            written = tuple(words.text[start:end] for start, end in words.places[first : last + 1])
            yield Repeat(span, written, tuple(runs[span].values()))


def _stretch(words: Words, at: int, seed: Seed) -> tuple[int, int]:
    """First and last word of the longest stretch around a word of only the seed's words, in its order."""
    first = at
    while first > 0 and _follow(words, first - 1, seed):
        first -= 1
    last = _last(words, at, seed)
    # Inverted: `Smith, Dana`.
    if last + 1 < len(words) and seed.order[words.folded[last]] == len(seed.order) - 1:
        is_first = seed.order.get(words.folded[last + 1]) == seed.first < seed.order[words.folded[first]]
        if is_first and _joined(words, last) and (seed.is_inverted or "," in words.gap(last + 1)):
            end = _last(words, last + 1, seed)
            last = end if seed.order[words.folded[end]] < seed.order[words.folded[first]] else last
    return first, last


def _last(words: Words, at: int, seed: Seed) -> int:
    while at + 1 < len(words) and _follow(words, at, seed):
        at += 1
    return at


def _follow(words: Words, at: int, seed: Seed) -> bool:
    """Whether a word and the next are words of the seed in its order."""
    before, after = (seed.order.get(word) for word in words.folded[at : at + 2])
    return before is not None and after is not None and before < after and _joined(words, at)


def _joined(words: Words, at: int) -> bool:
    """Whether a word and the next can be in one name, by the gap between them."""
    gap, is_short = words.gap(at + 1), len(words.folded[at]) < _SHORTEST_PART
    return _GAP.fullmatch(gap) is not None or (is_short and _AFTER_INITIAL.fullmatch(gap) is not None)
