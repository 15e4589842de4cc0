"""The command `pseudonymise`: a corpus with surrogates, and a sheet of places for a person to review.

    made = pseudonymise(corpus, Policy.named("trienes2020"), key)         the new notes, and what became of each PHI
    to_review(corpus, made, Policy.named("trienes2020"))                  [("110-01", 8, 12, "NAME", "a tag: ..."), ...]

`to_review` lists the tags, which the policy leaves to a person or which replace what has no surrogate, and unmarked
places with a name or number that is marked elsewhere in the patient's notes. No annotation is perfect: Trienes et al.
(2020) reviewed every surrogate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from phistack.ensemble.deidentification import REMOVING, Deidentified, PatientMemory, Policy, kind_of, verify
from phistack.ensemble.deidentification.deidentifier import Deidentifier, Shuffled
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices, usable_key
from phistack.ensemble.stacking.known.identifiers import unmarked
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError
from phistack.features.labels import most_frequent
from phistack.features.letters import normalised
from phistack.features.plain_view import plain_text

REVIEWED = ("document", "start", "end", "label", "why")
"""The columns of the places to review: offsets in the new notes, and no text."""

CORPUS = "the corpus as a whole"
"""Stands for the patient in choices that are made for all patients."""


@dataclass(frozen=True, slots=True)
class Pseudonymised:
    """A corpus with surrogates.

    :param corpus: the new notes.
    :param results: for each note, what replaced each stretch of its PHI.
    :param removed: how many spans have no text left and are not in the new notes.
    """

    corpus: Corpus
    results: tuple[Deidentified, ...] = field(repr=False)
    removed: int

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How many stretches of each label were treated by each strategy."""
        return sum((result.counts for result in self.results), Counter())

    @property
    def tags(self) -> tuple[tuple[str, Span], ...]:
        """Id of the note and span of each tag: where the policy asks for one, or no surrogate could be made."""
        return tuple(
            (note.id, Span(change.start_in_output, change.end_in_output, change.span.label))
            for note, result in zip(self.corpus.documents, self.results, strict=True)
            for change in result.replacements
            if change.strategy == "tag"
        )


def pseudonymise(corpus: Corpus, policy: Policy, key: bytes | None, *, language: str = "") -> Pseudonymised:
    """The corpus with its PHI treated as the policy says, to be shared (Stubbs et al. 2015; Dalianis 2019).

    All notes of a patient are known before the first surrogate is made: misspelt names are linked across them, and no
    surrogate is another identifier of the patient. Overlapping spans get one surrogate, which each of them covers.

    :param key: the secret of the surrogates; see `ensemble.deidentification.keyed_choices`.
    :param language: the language of the notes, as an ISO 639-1 code; by default that of the label set.
    :raises CorpusError: if the notes have no PHI marked, as all of it would stay.
    :raises SettingsError: for a policy that does not fit the labels, or lacks a key or a language.
    :raises VerificationError: if a new text is not the old one with just its PHI changed.
    """
    if not any(note.spans for note in corpus.documents):
        raise CorpusError(
            f"the {len(corpus)} notes have no PHI marked, so all of it would stay; let people or `phistack annotate` "
            "mark it first, or take `phistack deidentify`, which finds it"
        )
    shuffled = _shuffled(corpus, policy, key)
    deidentifier = Deidentifier(policy, corpus.label_set, language or corpus.label_set.language, key, shuffled=shuffled)
    memories: dict[str, PatientMemory] = defaultdict(lambda: PatientMemory(complete=True))
    for note in corpus.documents:
        deidentifier.remember(memories[note.group], note, note.spans)
    results = tuple(deidentifier.apply(note, note.spans, memories[note.group]) for note in corpus.documents)
    for note, result in zip(corpus.documents, results, strict=True):
        verify(note, result, note.spans)
    pairs = zip(corpus.documents, results, strict=True)
    documents = tuple(replace(note, text=result.text, spans=tuple(_new_spans(note, result))) for note, result in pairs)
    before, after = (sum(len(note.spans) for note in notes) for notes in (corpus.documents, documents))
    return Pseudonymised(replace(corpus, documents=documents), results, before - after)


def _new_spans(note: Document, result: Deidentified) -> Iterator[Span]:
    """Each span at the surrogate of its stretch; what was removed has no span."""
    stretches = iter(result.replacements)
    stretch = next(stretches, None)
    for span in note.spans:  # Sorted, as the stretches are.
        while stretch is not None and stretch.span.end <= span.start:
            stretch = next(stretches, None)
        if stretch is not None and stretch.start_in_output < stretch.end_in_output:
            yield Span(stretch.start_in_output, stretch.end_in_output, span.label)


def _shuffled(corpus: Corpus, policy: Policy, key: bytes | None) -> Shuffled:
    """Each mention of a shuffled label -> another of the label; every distinct one takes the place of one other.

    A label with a single distinct mention has nothing to shuffle, so it is not in the table.
    """
    written: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for note in corpus.documents:
        for span in note.spans:
            if policy.strategy(span.label, kind_of(span.label, corpus.label_set.name)) == "shuffle":
                mention = plain_text(note.text[span.start : span.end])
                written[span.label][normalised(mention)][mention] += 1
    if not written or key is None:
        return {}  # The deidentifier refuses to shuffle without a key.
    keyed, table = KeyedChoices(key, CORPUS), dict[tuple[str, str], str]()
    for label, mentions in written.items():
        places = {
            mention: (keyed.number(10**12, "shuffle", label, mention), mention) for mention in mentions if mention
        }
        ring = sorted(places, key=places.__getitem__)
        for mention, other in zip(ring, ring[1:] + ring[:1], strict=True):
            if mention != other:
                table[label, mention] = most_frequent(mentions[other])
    return table


_TAGGED = "a tag: write something in its place"
STILL_THERE = "not marked here, but marked elsewhere: check whether it is PHI"


def to_review(
    corpus: Corpus, made: Pseudonymised, policy: Policy, *, language: str = ""
) -> list[tuple[str, int, int, str, str]]:
    """The places of the new notes that a person must check, in their order; columns as in `REVIEWED`.

    :param corpus: the old notes; other parameters as in `pseudonymise`.
    """
    to_see: dict[str, list[tuple[Span, str]]] = defaultdict(list)
    for id, span in made.tags:
        to_see[id].append((span, _TAGGED))
    results = {note.id: of_note for note, of_note in zip(corpus.documents, made.results, strict=True)}
    for note, span in _still_there(corpus, policy, language or corpus.label_set.language):
        to_see[note.id] += ((moved, STILL_THERE) for moved in _moved(span, results[note.id]))
    rows = ((note.id, span, why) for note in corpus.documents for span, why in sorted(to_see[note.id]))
    return [(id, span.start, span.end, span.label, why) for id, span, why in rows]


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
        yield span.moved(shift)


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
