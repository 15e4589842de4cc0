"""Notes and the PHI marked in them.

    Span(12, 17, "DOCTOR")            characters 12 to 16 of a text name a doctor
    Document("110-01", text, spans)   one note of patient 110, with its PHI
    Corpus(documents, label_set)      many notes, and the labels they may carry

Offsets are Unicode code points, half-open: `text[span.start:span.end]` is the PHI. All three are frozen and validated.
Their `repr` shows ids and offsets but no text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phistack.features.errors import CorpusError, LabelError
from phistack.features.labels import LabelSet, label_mapping
from phistack.features.shown import shown_id, shown_label

_PATIENT_AND_RECORD = re.compile(r"(?P<patient>\d+)-(?P<record>\d{2})")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A labelled stretch of text.

    :param start: offset of the first character, in code points.
    :param end: offset after the last character; greater than `start`.
    :param label: the PHI type, as written in the label set.
    :raises CorpusError: if the offsets are negative, empty or reversed, or the label is empty.
    """

    start: int
    end: int
    label: str

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise CorpusError(f"a span must have 0 <= start < end, not start {self.start} and end {self.end}")
        if not self.label:
            raise CorpusError(f"the span {self.start}-{self.end} has an empty label")

    def overlaps(self, other: Span) -> bool:
        """Whether the two spans share at least one character."""
        return self.start < other.end and other.start < self.end

    def moved(self, by: int) -> Span:
        """The span, moved by this many characters."""
        return Span(self.start + by, self.end + by, self.label)


@dataclass(frozen=True, slots=True)
class Document:
    """One note.

    :param id: unique within its corpus; file names are made from it.
    :param text: the note exactly as read: code points, byte order mark and line ends are not normalised.
    :param spans: the PHI, kept sorted; duplicates and overlaps are allowed, as real annotation has them.
    :param group: the patient, never split between folds; the id if the patient is unknown.
    :param fold_group: a larger unit that no fold splits, such as a template or a hospital.
    :param scores: if an engine suggests the spans, how sure it is of each, in [0, 1]; None if somebody has judged them.
    :raises CorpusError: if a span ends beyond the text, or the id is empty.
    """

    id: str
    text: str = field(repr=False)
    spans: tuple[Span, ...] = ()
    group: str = ""
    fold_group: str = field(default="", repr=False)
    scores: Mapping[Span, float] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.id:
            raise CorpusError("a document must have an id that is not empty")
        object.__setattr__(self, "spans", tuple(sorted(self.spans)))
        object.__setattr__(self, "group", self.group or self.id)
        furthest = max(self.spans, key=lambda span: span.end, default=None)
        if furthest is not None and furthest.end > len(self.text):
            raise CorpusError(
                f"document {shown_id(self.id)}: the span {furthest.start}-{furthest.end} ends beyond the text, which "
                f"has {len(self.text)} characters; check that offsets count Unicode characters, not bytes"
            )

    @property
    def unsplit(self) -> str:
        """The unit that no fold splits: `fold_group`, or else the patient."""
        return self.fold_group or self.group

    def with_spans(self, spans: Iterable[Span]) -> Document:
        """The same note with other PHI, without scores."""
        return replace(self, spans=tuple(spans), scores=None)

    def relabelled(self, table: Mapping[str, str]) -> Document:
        """The same note with other names of its labels."""
        new = {span: replace(span, label=table[span.label]) for span in self.spans}
        scores = self.scores and {new[span]: score for span, score in self.scores.items()}
        return replace(self, spans=tuple(new[span] for span in self.spans), scores=scores)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents with unique ids, in order, and the label set of their spans.

    :param documents: the notes, in the order in which they were read.
    :param label_set: contains every label of the spans.
    :param warnings: how often each kind of problem was repaired while reading, for example discontinuous spans.
    :param remarks: what the user should know about how it was read, in sentences.
    :raises CorpusError: if two documents share an id.
    """

    documents: tuple[Document, ...] = field(repr=False)
    label_set: LabelSet
    warnings: Counter[str] = field(default_factory=Counter)
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_repeated([id for id, count in Counter(d.id for d in self.documents).items() if count > 1])

    def __len__(self) -> int:
        return len(self.documents)

    def with_spans(self, notes: Sequence[Iterable[Span]]) -> Corpus:
        """The same notes with other PHI, given for each in their order; :raises ValueError: for another number."""
        spans = zip(self.documents, notes, strict=True)
        return replace(self, documents=tuple(document.with_spans(found) for document, found in spans))

    def mapped(self, target: str) -> Corpus:
        """The corpus with its labels turned into those of another set; :raises LabelError: if there is no table."""
        if target == self.label_set.name:
            return self
        table = label_mapping(self.label_set.name, target)
        unknown = sorted({span.label for d in self.documents for span in d.spans if span.label not in table})
        if unknown:
            raise LabelError(
                f"the mapping from {self.label_set.name} to {target} does not have the label {shown_label(unknown[0])}"
            )
        documents = tuple(document.relabelled(table) for document in self.documents)
        return Corpus(documents, LabelSet.of(target), self.warnings, self.remarks)


def refuse_repeated(ids: Sequence[str]) -> None:
    """:raises CorpusError: if any ids occur more than once, with the first."""
    if ids:
        raise CorpusError(
            f"{len(ids)} document ids occur more than once, the first is {shown_id(ids[0])}; give each note an id of "
            "its own, in tables in the column that --id-column names"
        )


def patient_of(document_id: str) -> str:
    """The patient in the file name of a shared task: `110` for `110-01`; otherwise the whole id.

    Both i2b2 tasks name a record `XXX-YY`, where `XXX` is the patient and `YY` the record.
    """
    match = _PATIENT_AND_RECORD.fullmatch(document_id)
    return match["patient"] if match else document_id
