"""The command `pseudonymise`: a corpus with surrogates, and a sheet of places for a person to review.

    made = pseudonymise_corpus(corpus, Policy.named("trienes2020"), key)
    made.sheet()       "document,start,end,label,why": offsets in the new notes, and no text

The sheet lists the tags, which the policy leaves to a person or for which no surrogate could be made, and unmarked
places with a name or number that is marked elsewhere in the patient's notes. No annotation is perfect: Trienes et al.
(2020) reviewed every surrogate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from phistack.ensemble.deidentification import REMOVING, Deidentified, Policy, kind_of
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices, usable_key
from phistack.ensemble.deidentification.pseudonymisation import CORPUS, Pseudonymised, pseudonymise
from phistack.ensemble.stacking.known.identifiers import unmarked
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Corpus, Document, Span
from phistack.features.files import sheet

_TAGGED = "a tag: write something in its place"
_STILL_THERE = "not marked here, but marked elsewhere: check whether it is PHI"


@dataclass(frozen=True, slots=True)
class PseudonymousCorpus:
    """The new notes, and the places to review: id of the note, place and reason, in the order of the notes."""

    result: Pseudonymised
    review: tuple[tuple[str, Span, str], ...] = field(repr=False)

    @property
    def n_still_there(self) -> int:
        """The number of unmarked places with PHI that is marked elsewhere."""
        return sum(why == _STILL_THERE for _, _, why in self.review)

    @property
    def n_unmarked(self) -> int:
        """The number of notes without marked PHI, which are unchanged."""
        return sum(not result.replacements for result in self.result.results)

    def sheet(self) -> str:
        """The places to review, as CSV."""
        rows = ((document, span.start, span.end, span.label, why) for document, span, why in self.review)
        return sheet(("document", "start", "end", "label", "why"), rows)


def pseudonymise_corpus(corpus: Corpus, policy: Policy, key: bytes | None, *, language: str = "") -> PseudonymousCorpus:
    """Make surrogates for the PHI of a corpus and search for unmarked PHI; raises what `pseudonymise` does."""
    language = language or corpus.label_set.language
    result = pseudonymise(corpus, policy, key, language=language)
    to_see: dict[str, list[tuple[Span, str]]] = defaultdict(list)
    for id, span in result.tags:
        to_see[id].append((span, _TAGGED))
    made = {note.id: of_note for note, of_note in zip(corpus.documents, result.results, strict=True)}
    for note, span in _still_there(corpus, policy, language):
        to_see[note.id] += ((moved, _STILL_THERE) for moved in _moved(span, made[note.id]))
    review = ((note.id, span, why) for note in corpus.documents for span, why in sorted(to_see[note.id]))
    return PseudonymousCorpus(result, tuple(review))


def _still_there(corpus: Corpus, policy: Policy, language: str) -> Iterator[tuple[Document, Span]]:
    """The unmarked places in the old notes, searched for patient by patient."""
    is_word = WordCounts.of(corpus.documents, language).is_word
    patients: dict[str, list[Document]] = defaultdict(list)
    for note in corpus.documents:
        patients[note.group].append(note)

    def is_removed(label: str) -> bool:
        return policy.strategy(label, kind_of(label, corpus.label_set.name)) in REMOVING

    for notes in patients.values():
        found = unmarked([(note, note.spans) for note in notes], language, is_word, is_removed)
        yield from ((note, span) for note, spans in zip(notes, found, strict=True) for span in spans)


def _moved(span: Span, made: Deidentified) -> Iterator[Span]:
    """An unmarked place by its offsets in the new text; nothing if it touched replaced PHI."""
    ends = [replacement.span.end for replacement in made.replacements]
    before = bisect_right(ends, span.start)
    after = made.replacements[before : before + 1]
    if not after or after[0].span.start >= span.end:
        shift = made.replacements[before - 1].end_in_output - ends[before - 1] if before else 0
        yield Span(span.start + shift, span.end + shift, span.label)


def renumbered(corpus: Corpus, key: bytes) -> Corpus:
    """The corpus with new ids, `007-02` for the second note of the seventh patient, sorted by them.

    :param key: decides the order of the patients; without it the numbers do not show which patient is which.
    """
    keyed = KeyedChoices(usable_key(key), CORPUS)
    groups = {note.group: (keyed.number(10**12, "patient", note.group), note.group) for note in corpus.documents}
    width = max(3, len(str(len(groups))))
    numbers = {group: f"{i:0{width}d}" for i, group in enumerate(sorted(groups, key=groups.__getitem__), 1)}
    records: Counter[str] = Counter()
    renamed = []
    for note in corpus.documents:
        records[note.group] += 1
        number = numbers[note.group]
        renamed.append(replace(note, id=f"{number}-{records[note.group]:02d}", group=number))
    return replace(corpus, documents=tuple(sorted(renamed, key=lambda note: note.id)))
