"""What of the PHI would still be readable: leaks and character recall.

    Leak(3, 120, "reference")      three missed PHI in 120 sentences: 0.025 a sentence
    Coverage(980, 1000, 2, 5, 20)  980 of 1000 PHI characters covered; 2 and 5 of 20 documents not clean

A PHI is covered by spans of any label, as redaction hides it whatever it is called; a PHI is missed, by contrast,
unless a span of the same category, type, start and end finds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phistack.ensemble.evaluation.counts import IntArray
from phistack.ensemble.evaluation.pairing import AnnotatedText, DocumentPair
from phistack.features.errors import EvaluationError
from phistack.features.sentences import count_sentences
from phistack.features.shown import shown_id


@dataclass(frozen=True, slots=True)
class Leak:
    """False negatives for each sentence, as MEDDOCAN counts them.

    :param false_negatives: PHI of gold without a strict hit.
    :param sentences: in all documents scored.
    :param sentence_source: `reference` if the counts were given, `phistack` if our own splitter counted.
    """

    false_negatives: int
    sentences: int
    sentence_source: str

    @property
    def rate(self) -> float:
        """False negatives divided by sentences, 0 without sentences."""
        return self.false_negatives / self.sentences if self.sentences else 0.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """Readable PHI, by characters and by documents.

    :param covered_characters: characters of gold PHI inside any span of the system.
    :param phi_characters: characters of gold PHI, each once.
    :param uncovered_documents: documents with at least one character of PHI that is not covered.
    :param leaking_documents: documents with at least one missed PHI.
    :param documents: documents scored.
    """

    covered_characters: int
    phi_characters: int
    uncovered_documents: int
    leaking_documents: int
    documents: int

    @property
    def character_recall(self) -> float:
        """The share of PHI characters that are covered, 0 without PHI."""
        return self.covered_characters / self.phi_characters if self.phi_characters else 0.0

    @property
    def document_leak(self) -> float:
        """The share of documents with at least one missed PHI."""
        return self.leaking_documents / self.documents

    @property
    def document_exposure(self) -> float:
        """The share of documents with at least one character of PHI that is not covered."""
        return self.uncovered_documents / self.documents


def leak(pairs: Sequence[DocumentPair], false_negatives: int, sentence_counts: Mapping[str, int] | None) -> Leak:
    """The leak over documents.

    :param sentence_counts: document id -> sentences in a reference; our own splitter counts without it.
    :raises EvaluationError: if the reference lacks a document.
    """
    if sentence_counts is None:
        return Leak(false_negatives, sum(count_sentences(pair.gold.text) for pair in pairs), "phistack")
    unknown = [pair.id for pair in pairs if pair.id not in sentence_counts]
    if unknown:
        raise EvaluationError(
            f"the sentence counts lack {len(unknown)} documents, the first is {shown_id(unknown[0])}; add them to what "
            "--sentences names, or leave it out to count sentences as phistack does"
        )
    return Leak(false_negatives, sum(sentence_counts[pair.id] for pair in pairs), "reference")


def coverage(pairs: Sequence[DocumentPair], missed: IntArray) -> Coverage:
    """Character recall, and the documents that are not clean.

    :param missed: strict false negatives of each document, shape `(n_documents,)`.
    """
    characters = [(_characters(pair.gold), _characters(pair.system)) for pair in pairs]
    return Coverage(
        covered_characters=sum(len(gold & system) for gold, system in characters),
        phi_characters=sum(len(gold) for gold, _ in characters),
        uncovered_documents=sum(bool(gold - system) for gold, system in characters),
        leaking_documents=int((missed > 0).sum()),
        documents=len(pairs),
    )


def _characters(note: AnnotatedText) -> set[int]:
    return {offset for phi in note.phi for offset in range(phi.start, phi.end)}
