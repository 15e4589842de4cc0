"""A whole annotated corpus with surrogates for its PHI, and its spans moved to where the surrogates are.

    result = pseudonymise(corpus, Policy.named("trienes2020"), key)
    result.corpus                 the same notes, labels and order; the text of each span is its surrogate

This makes a corpus that can be shared (Stubbs et al. 2015; Trienes et al. 2020; Dalianis 2019). All notes of a patient
are known before the first surrogate is made, so that misspelt names are linked across them and no surrogate is another
identifier of the patient. Spans that overlap get one surrogate, which each of them covers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from phistack.ensemble.deidentification.deidentifier import Deidentifier, Shuffled
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices
from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.policy import Policy
from phistack.ensemble.deidentification.verification import Deidentified, verify
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError
from phistack.features.labels import most_frequent
from phistack.features.letters import normalised
from phistack.features.plain_view import plain_text

CORPUS = "the corpus as a whole"
"""In the place of a patient, for choices that are made for all."""


@dataclass(frozen=True, slots=True)
class Pseudonymised:
    """What became of a corpus.

    :param corpus: the new notes.
    :param results: for each note, what became of each stretch of its PHI.
    :param removed: how many spans have no text any more and are not in the new notes.
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
    """The corpus with its PHI treated as the policy says.

    :param key: the secret of the surrogates; see `ensemble.deidentification.keyed_choices`.
    :param language: of the notes, as an ISO 639-1 code; otherwise that of the label set.
    :raises CorpusError: if the notes have no PHI marked, so that all of it would stay.
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
    documents = tuple(replace(note, text=result.text, spans=tuple(_moved(note, result))) for note, result in pairs)
    before, after = (sum(len(note.spans) for note in notes) for notes in (corpus.documents, documents))
    return Pseudonymised(replace(corpus, documents=documents), results, before - after)


def _moved(note: Document, result: Deidentified) -> Iterator[Span]:
    """Each span where the surrogate of its stretch is; what was removed has no span."""
    stretches = iter(result.replacements)
    stretch = next(stretches, None)
    for span in note.spans:  # Sorted, as the stretches are.
        while stretch is not None and stretch.span.end <= span.start:
            stretch = next(stretches, None)
        if stretch is not None and stretch.start_in_output < stretch.end_in_output:
            yield Span(stretch.start_in_output, stretch.end_in_output, span.label)


def _shuffled(corpus: Corpus, policy: Policy, key: bytes | None) -> Shuffled:
    """Each mention of a shuffled label -> another of the label; every distinct one takes the place of one other.

    A label with a single distinct mention has nothing to shuffle, so that it is not in the table.
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
