"""Which documents are compared, and their PHI in one vocabulary.

    Phi(12, 17, "NAME", "DOCTOR", False)             one PHI, its category, and whether HIPAA lists its type
    DocumentPair("110-01", "110", gold_note, system_note)     the two sides of one document of a patient

Labels are compared ignoring case, and come from both gold and system, so a type that only the system uses is scored
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from phistack.features.documents import Corpus, Document
from phistack.features.errors import EvaluationError, LabelError
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id, shown_label


class Phi(NamedTuple):
    """One PHI: where it is, its category and type, and whether HIPAA Safe Harbor lists the type."""

    start: int
    end: int
    category: str
    label: str
    hipaa: bool


class Label(NamedTuple):
    """A label as its label set spells it, with its category and HIPAA status."""

    name: str
    category: str
    hipaa: bool


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """The text of a document and the PHI that one side marks in it, sorted, each once."""

    text: str = field(repr=False)
    phi: tuple[Phi, ...]


@dataclass(frozen=True, slots=True)
class DocumentPair:
    """One document, as gold and as the system see it; the patient is gold's."""

    id: str
    patient: str
    gold: AnnotatedText
    system: AnnotatedText


@dataclass(frozen=True, slots=True)
class Pairing:
    """The documents that both sides have, in the order of gold, the ids that the system lacks, and its extra ids."""

    pairs: tuple[DocumentPair, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]


def vocabulary(gold: LabelSet, system: LabelSet) -> Mapping[str, Label]:
    """Every label of both sets by its upper-case spelling; where both know one, gold decides."""
    known: dict[str, Label] = {}
    for labels in (gold, system):
        for name, category in labels.categories.items():
            known.setdefault(name.upper(), Label(name, category, labels.hipaa(name)))
    return known


def pair(gold: Corpus, system: Corpus, labels: Mapping[str, Label], *, allow_missing: bool = False) -> Pairing:
    """Match documents by id and check that their texts agree.

    :param labels: the result of `vocabulary`.
    :param allow_missing: compare what both sides have, instead of refusing.
    :raises EvaluationError: if ids differ and `allow_missing` is off, if no document is common, or if texts differ.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    answers = {document.id: document for document in system.documents}
    known = {document.id for document in gold.documents}
    missing = tuple(document.id for document in gold.documents if document.id not in answers)
    extra = tuple(id for id in answers if id not in known)
    for ids, where in (
        (missing, "of gold are missing from the system's output"),
        (extra, "of the system's output are not in gold"),
    ):
        if ids and not allow_missing:
            raise EvaluationError(
                f"{len(ids)} documents {where}, the first is {shown_id(ids[0])}; add them, or score only the documents "
                "of both with --allow-missing"
            )
    pairs = tuple(_pair(d, answers[d.id], labels) for d in gold.documents if d.id in answers)
    if not pairs:
        raise EvaluationError("gold and system have no document in common, so nothing can be scored")
    return Pairing(pairs, missing, extra)


def _pair(gold: Document, system: Document, labels: Mapping[str, Label]) -> DocumentPair:
    if gold.text != system.text:
        ends = min(len(gold.text), len(system.text))
        offset = next((i for i in range(ends) if gold.text[i] != system.text[i]), ends)
        raise EvaluationError(
            f"document {shown_id(gold.id)}: the texts of gold and system differ from offset {offset} on; a system must "
            "not change the text"
        )
    return DocumentPair(gold.id, gold.group, _note(gold, labels), _note(system, labels))


def _note(document: Document, labels: Mapping[str, Label]) -> AnnotatedText:
    phi = set()
    for span in document.spans:
        label = labels.get(span.label.upper())
        if label is None:
            raise LabelError(
                f"document {shown_id(document.id)}: the label of the span {span.start}-{span.end}, "
                f"{shown_label(span.label)}, is in neither label set, that of gold or of the system"
            )
        phi.add(Phi(span.start, span.end, label.category, label.name, label.hipaa))
    return AnnotatedText(document.text, tuple(sorted(phi)))
