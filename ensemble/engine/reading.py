"""Notes on their way through an engine.

Reading(document)        a note: first unread, in the end with a decision on each candidate
Piece(reading, 0, 90)    a stretch of a note that one engine reads at once
Batch(readings)          some notes under way, and what each step made of their pieces
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from phistack.ensemble.stacking.candidates import Decision, Pools
from phistack.features.arrays import Floats
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.passages import Passage
from phistack.features.plain_view import PlainView


@dataclass(slots=True, eq=False)
class Reading:
    """The result of reading a note.

    :ivar document: the note as it was written, without spans; `view` is its plain view.
    :ivar objection: why it was not read, without quoting it; empty if it was.
    :ivar elsewhere: its passages in other languages that another engine reads, with its name.
    :ivar unread: what no engine read, labelled `TEXT IN RUSSIAN`; the whole note if there is an objection.
    :ivar decisions: on each candidate, sorted by span; accepted ones do not overlap.
    :ivar rejected_beside: what engines beside the main one considered and did not accept.
    :ivar trace: after each step its name and the number of accepted spans; kept only if asked for.
    """

    document: Document
    view: PlainView = field(repr=False)
    objection: str = ""
    elsewhere: tuple[tuple[Passage, str], ...] = ()
    unread: tuple[Span, ...] = ()
    decisions: list[Decision] = field(default_factory=list, repr=False)
    rejected_beside: list[Span] = field(default_factory=list, repr=False)
    trace: list[tuple[str, int]] = field(default_factory=list, repr=False)

    @property
    def accepted(self) -> tuple[Span, ...]:
        """The spans that are PHI."""
        return tuple(decision.span for decision in self.decisions if decision.accepted)

    @property
    def suggested(self) -> Document:
        """The note with these spans, and how sure the stack is of each."""
        scores = {decision.span: decision.probability for decision in self.decisions if decision.accepted}
        return replace(self.document, spans=self.accepted, scores=scores)

    @property
    def annotated(self) -> Document:
        """The note with all spans that must not come out: PHI, and text that no engine read."""
        return self.document.with_spans((*self.accepted, *self.unread))


class Piece(NamedTuple):
    """A stretch of a note that one engine reads at once; `language` is empty unless another engine reads it."""

    reading: Reading
    start: int
    end: int
    language: str = ""

    @property
    def document(self) -> Document:
        note = self.reading.document
        return note if self.end - self.start == len(note.text) else replace(note, text=note.text[self.start : self.end])

    def in_note(self, decision: Decision) -> Decision:
        """A decision on the piece as one on the note."""
        if not self.start:
            return decision
        votes = tuple(replace(vote, span=vote.span.moved(self.start)) for vote in decision.votes)
        return replace(decision, span=decision.span.moved(self.start), votes=votes)


@dataclass(slots=True, eq=False)
class Batch:
    """Some notes under way.

    :ivar pieces: those that the engine reads itself; the fields below are in their order.
    :ivar probabilities: what the stacker makes of them, `(n_candidates,)` a piece.
    :ivar thresholds: those that the cascade asks for, `(n_candidates,)` a piece; else that of the stacker holds.
    :ivar decisions: on each candidate, in the plain view of the piece.
    """

    readings: Sequence[Reading] = ()
    pieces: list[Piece] = field(default_factory=list)
    tables: Sequence[FeatureTable] = ()
    pools: Pools = ()
    probabilities: Sequence[Floats] = ()
    thresholds: Sequence[Floats] | None = None
    decisions: list[list[Decision]] = field(default_factory=list)

    @property
    def to_read(self) -> list[Reading]:
        """The notes that can be read."""
        return [reading for reading in self.readings if not reading.objection]

    def trace(self, step: str) -> None:
        """Record how many spans of each note are accepted after a step."""
        counts = Counter[int]()
        for piece, decisions in zip((p for p in self.pieces if not p.language), self.decisions, strict=False):
            counts[id(piece.reading)] += sum(decision.accepted for decision in decisions)
        for reading in self.readings:
            found = len(reading.accepted) if reading.decisions else counts[id(reading)]
            reading.trace.append((step, found))

    def in_pieces(self) -> Iterator[list[Decision]]:
        """The decisions on each piece, on its text as it was written."""
        for table, decisions in zip(self.tables, self.decisions, strict=True):
            yield [decision.in_note(table.view) for decision in decisions]
