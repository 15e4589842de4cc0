"""What the command pseudonymise does: a corpus to one with surrogates, and a sheet of what a person must see.

    made = pseudonymise_corpus(corpus, Policy.named("trienes2020"), key)
    made.sheet()       "document,start,end,label,why": offsets in the new notes, and no text

On the sheet are the tags, where the policy leaves it to a person to write something or no surrogate could be made; and
places where a name or number that was marked somewhere in the patient's notes stands again and nothing marked it, so
that it is still there. Nobody's annotation is perfect: Trienes et al. (2020) reviewed every surrogate of their notes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from phistack.ensemble.deidentification import REMOVING, Deidentified, Policy, kind_of
from phistack.ensemble.deidentification.pseudonymisation import Pseudonymised, pseudonymise
from phistack.ensemble.stacking.known.unmarked import unmarked
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Corpus, Document, Span
from phistack.features.sheets import sheet

_TAGGED = "a tag stands there: rewrite it"
_STILL_THERE = "stands unmarked and is marked elsewhere: see whether it is PHI"


@dataclass(frozen=True, slots=True)
class ForReview:
    """A place in a new note that a person must see."""

    document: str
    span: Span
    why: str


@dataclass(frozen=True, slots=True)
class PseudonymousCorpus:
    """The new notes, and what a person must see in them."""

    result: Pseudonymised
    review: tuple[ForReview, ...] = field(repr=False)

    @property
    def n_still_there(self) -> int:
        """How many places have PHI of the patient that nothing marked."""
        return sum(place.why == _STILL_THERE for place in self.review)

    @property
    def n_unmarked(self) -> int:
        """How many notes have no PHI at all, so that they are as they were."""
        return sum(not result.replacements for result in self.result.results)

    def sheet(self) -> str:
        """The places to see as CSV, in the order of the notes."""
        rows = (
            (place.document, place.span.start, place.span.end, place.span.label, place.why) for place in self.review
        )
        return sheet(("document", "start", "end", "label", "why"), rows)


def pseudonymise_corpus(corpus: Corpus, policy: Policy, key: bytes | None, *, language: str = "") -> PseudonymousCorpus:
    """Make surrogates for the PHI of a corpus and look for PHI that nothing marked; raises what `pseudonymise` does."""
    language = language or corpus.label_set.language
    result = pseudonymise(corpus, policy, key, language=language)
    tags, still_there = defaultdict(list), _still_there(corpus, policy, language)
    for id, span in result.tags:
        tags[id].append(ForReview(id, span, _TAGGED))
    review = [
        place
        for note, made in zip(corpus.documents, result.results, strict=True)
        for place in sorted([*tags[note.id], *_moved(note, made, still_there[note.id])], key=lambda place: place.span)
    ]
    return PseudonymousCorpus(result, tuple(review))


def _still_there(corpus: Corpus, policy: Policy, language: str) -> dict[str, tuple[Span, ...]]:
    """For each note by id the unmarked places in the old text, looked for in all notes of a patient together."""
    is_word = WordCounts.of(corpus.documents, language).is_word
    patients: dict[str, list[Document]] = defaultdict(list)
    for note in corpus.documents:
        patients[note.group].append(note)
    return {
        note.id: spans
        for notes in patients.values()
        for note, spans in zip(
            notes,
            unmarked(
                [(note, note.spans) for note in notes],
                language,
                is_word,
                lambda label: policy.strategy(label, kind_of(label, corpus.label_set.name)) in REMOVING,
            ),
            strict=True,
        )
    }


def _moved(note: Document, made: Deidentified, spans: tuple[Span, ...]) -> Iterator[ForReview]:
    """The unmarked places where they are in the new text; those that touch PHI are gone with it."""
    ends = [replacement.span.end for replacement in made.replacements]
    for span in spans:
        before = bisect_right(ends, span.start)
        after = made.replacements[before : before + 1]
        if after and after[0].span.start < span.end:
            continue
        shift = made.replacements[before - 1].end_in_output - ends[before - 1] if before else 0
        yield ForReview(note.id, Span(span.start + shift, span.end + shift, span.label), _STILL_THERE)
