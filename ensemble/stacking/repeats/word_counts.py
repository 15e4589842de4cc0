"""Which words are words of the language, not only names.

    counts = WordCounts.of(documents, "en")
    counts.is_word("brown")                       True: it is in small letters outside PHI, or in a list of ours
    counts.count("brown")                         Seen(small=14, outside=17, inside=2), in patients

The training notes show how often a word occurs outside PHI; `common_words.toml` lists names that are everyday words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, TypedDict

from phistack.ensemble.deidentification.word_lists import LANGUAGES, known_words
from phistack.ensemble.stacking.repeats.search import search_mode
from phistack.features.discretion import Discretion
from phistack.features.documents import Document
from phistack.features.letters import fold
from phistack.features.ranges import ranges_of, touching
from phistack.features.registry import packaged_table
from phistack.features.saved_files import SavedFiles
from phistack.features.text_words import words_of
from phistack.features.writing import write_json

_SMALL, _OUTSIDE = 2, 3
"""The fewest patients for a word of the language: in small letters, or in any case."""

_KNOWN = 3
_SHORTEST = 3


class Seen(NamedTuple):
    """The number of patients whose notes contain a word.

    :param small: outside PHI, in small letters.
    :param outside: outside PHI.
    :param inside: inside a name.
    """

    small: int = 0
    outside: int = 0
    inside: int = 0


class _CountsState(TypedDict):
    language: str
    seen: dict[str, Seen]


@dataclass(frozen=True)
class WordCounts:
    """The words of three letters and more of annotated notes.

    :param seen: folded word -> its counts; without names of only one patient.
    :param patients: patient -> the words of their notes, with counts of 1 or 0; in training only.
    """

    FILE: ClassVar[str] = "word_counts.json"

    language: str
    seen: Mapping[str, Seen] = field(default_factory=dict, repr=False)
    patients: Mapping[str, Mapping[str, Seen]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, documents: Iterable[Document], language: str, discretion: Discretion | None = None) -> WordCounts:
        """Count the words of notes whose PHI is marked; :param discretion: what may be kept, `None` for everything."""
        sets: defaultdict[str, tuple[set[str], set[str], set[str]]] = defaultdict(lambda: (set(), set(), set()))
        for document in documents:
            _add(document, *sets[document.group])
        patients = {
            patient: {word: Seen(word in small, word in outside, word in inside) for word in outside | inside}
            for patient, (small, outside, inside) in sets.items()
        }
        totals = [Counter(word for found in sets.values() for word in found[i]) for i in range(3)]
        # Names of a single patient are useless for others, and must not be saved.
        kept = sorted(totals[1].keys() | {word for word, patients in totals[2].items() if patients > 1})
        seen = {word: Seen(*(total[word] for total in totals)) for word in kept}
        if discretion is not None:
            least = discretion.least
            seen = {w: Seen(*(n * (n >= least) for n in found)) for w, found in seen.items() if discretion.keeps(w)}
        return cls(language, seen, patients)

    def count(self, word: str, without: str = "") -> Seen:
        """The counts of a folded word; `without` leaves out a training patient."""
        every = self.seen.get(word)
        if every is None or not without:
            return every or Seen()
        own = self.patients.get(without, {}).get(word, Seen())
        return Seen(*(max(total - mine, 0) for total, mine in zip(every, own, strict=True)))

    def is_common(self, word: str) -> bool:
        """Whether a folded word is in our list, or a month or a day of the week."""
        return word in common_words(self.language)

    def is_word(self, word: str) -> bool:
        """Whether a folded word is a word of the language, by the list and the counts."""
        seen = self.count(word)
        is_usual = seen.outside >= _OUTSIDE and seen.outside > seen.inside
        return self.is_common(word) or seen.small >= _SMALL or is_usual

    @cached_property
    def known_from(self) -> int:
        """The number of patients from which a word is known; see `seen_words`."""
        # The most frequent word is in the notes of nearly all patients.
        n_patients = max((seen.outside for seen in self.seen.values()), default=0)
        return max(_KNOWN, n_patients // 100)

    def never_names(self) -> Iterator[str]:
        """The folded words that were in small letters with two patients or more, and never in a name."""
        return (word for word, seen in self.seen.items() if seen.small >= _SMALL and not seen.inside)

    def save(self, folder: Path) -> None:
        """Write the counts, without the patients, as JSON."""
        state = {"language": self.language, "seen": {word: list(seen) for word, seen in self.seen.items()}}
        write_json(folder / self.FILE, state, indent=None)

    @classmethod
    def load(cls, files: SavedFiles) -> WordCounts:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state = files.json(cls.FILE, _CountsState)
        return cls(state["language"], state["seen"])


def seen_words(counts: WordCounts | None) -> Callable[[str], bool] | None:
    """Whether a word in small letters was outside PHI in the notes of three training patients and of one in a hundred.

    A word of another language, as in an English quotation, has fewer patients.

    :returns: `None` for an engine without word counts.
    """
    return None if counts is None else lambda word: counts.count(fold(word)).outside >= counts.known_from


def _add(document: Document, small: set[str], outside: set[str], inside: set[str]) -> None:
    is_phi = touching(ranges_of(document.spans))
    is_name = touching(ranges_of(span for span in document.spans if search_mode(span.label) == "parts"))
    for start, end in words_of(document.text):
        word = fold(document.text[start:end])
        if len(word) >= _SHORTEST and word.isalpha():
            if is_name(start, end):
                inside.add(word)
            elif not is_phi(start, end):
                outside.add(word)
                small.update([word] if document.text[start:end].islower() else [])


@cache
def common_words(language: str) -> frozenset[str]:
    """Names that are everyday words, months and days of the week, folded."""
    listed = packaged_table("phistack.ensemble.stacking.repeats", "common_words.toml").get(language, "").split()
    dates = known_words(language, "dates", "months", "weekdays") if language in LANGUAGES else ()
    return frozenset(map(fold, (*listed, *dates)))
