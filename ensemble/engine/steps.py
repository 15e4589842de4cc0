"""The steps that notes take through an engine, in the order in which they are here.

    for step in engine.steps:
        step(batch)

Each step changes a `Batch` of notes and knows only the parts of the engine that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from phistack.ensemble.deidentification.kinds import label_like
from phistack.ensemble.engine.options import HOLD, READ
from phistack.ensemble.engine.reading import Batch, Piece, Reading
from phistack.ensemble.stacking.candidates import Decision, pools_of
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.stacking.overruling import Overruling
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import Subset
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.features.language_gate import LanguageGate, mostly_in
from phistack.features.languages import language_name
from phistack.features.passages import UNREAD, nearest
from phistack.features.ranges import overlapping_groups
from phistack.submodels.base import Submodel

if TYPE_CHECKING:
    from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers

LONGEST_PIECE = 100_000
"""Longer notes are read in pieces of at most so many characters."""

_BREAKS = ("\n\n", "\n", " ")


class Step(Protocol):
    """A step: its name, as the trace shows it, and what it does to a batch."""

    name: ClassVar[str]

    def __call__(self, batch: Batch) -> None: ...


class Reads(Protocol):
    """What reads passages in another language: an engine."""

    label_set: LabelSet

    def decide(self, documents: Sequence[Document]) -> Iterator[list[Decision]]: ...


@dataclass(frozen=True)
class Gate:
    """Holds back notes that cannot be read, and finds the passages that are for another engine or for none.

    :param others: language -> the engine that reads passages in it.
    :param is_known: whether a word is one of the engine's language.
    """

    name: ClassVar[str] = "gate"
    gate: LanguageGate
    choice: str
    others: Mapping[str, Reads]
    is_known: Callable[[str], bool] | None

    def __call__(self, batch: Batch) -> None:
        for reading in batch.readings if self.choice != READ else ():
            self._look(reading)

    def _look(self, reading: Reading) -> None:
        text = reading.document.text
        reading.objection = self.gate.not_text(text)
        if reading.objection:
            reading.unread = _whole(reading, f"{UNREAD}THAT CANNOT BE READ")
            return
        plain = reading.view.document.text
        passages = self.gate.passages(plain, self.is_known)
        if not passages:
            return
        elsewhere = tuple((passage, nearest(plain, passage, self.others)) for passage in passages)
        unread = [passage for passage, language in elsewhere if not language]
        if unread and (self.choice == HOLD or mostly_in(plain, unread)):
            reading.objection = self.gate.reason(unread)
            reading.unread = _whole(reading, label_of(unread[0].language))
        else:
            reading.elsewhere = tuple((passage, language) for passage, language in elsewhere if language)
            reading.unread = tuple(
                reading.view.in_note(Span(passage.start, passage.end, label_of(passage.language))) for passage in unread
            )


def label_of(language: str) -> str:
    """The label of a passage that no engine reads: `TEXT IN RUSSIAN`."""
    return f"{UNREAD}IN {language_name(language).upper()}"


def _whole(reading: Reading, label: str) -> tuple[Span, ...]:
    return (Span(0, len(reading.document.text), label),) if reading.document.text else ()


@dataclass(frozen=True)
class Pieces:
    """Cuts what is to be read of each note into pieces: at passages, and where a piece would be too long."""

    name: ClassVar[str] = "pieces"

    def __call__(self, batch: Batch) -> None:
        for reading in batch.readings:
            batch.pieces += _pieces_of(reading) if not reading.objection else ()


def _pieces_of(reading: Reading) -> Iterator[Piece]:
    text, at = reading.document.text, 0
    others = [(*reading.view.place(passage.start, passage.end), language) for passage, language in reading.elsewhere]
    cuts = sorted([*others, *((span.start, span.end, None) for span in reading.unread)])
    for start, end, language in [*cuts, (len(text), len(text), None)]:
        yield from (Piece(reading, at + a, at + b) for a, b in stretches(text[at:start]) if at < start or not text)
        if language:
            yield from (Piece(reading, start + a, start + b, language) for a, b in stretches(text[start:end]))
        at = end


def stretches(text: str, longest: int = LONGEST_PIECE) -> list[tuple[int, int]]:
    """Begin and end of stretches of a text that are not too long, cut at an empty line, a line end or a blank."""
    bounds = [0]
    while len(text) - bounds[-1] > longest:
        begin, end = bounds[-1], bounds[-1] + longest
        middle = begin + longest // 2
        cuts = (text.rfind(mark, middle, end) + len(mark) for mark in _BREAKS if mark in text[middle:end])
        bounds.append(next(cuts, end))
    return list(zip(bounds, [*bounds[1:], len(text)], strict=True))


@dataclass(frozen=True)
class Propose:
    """All submodels propose candidates, the expensive ones only in lines that leave doubt; the stacker judges them."""

    name: ClassVar[str] = "propose"
    space: FeatureSpace
    submodels: Sequence[Submodel]
    stackers: Mapping[Subset, Stacker]
    cascade: Cascade | None

    def __call__(self, batch: Batch) -> None:
        own = [piece for piece in batch.pieces if not piece.language]
        if own:
            batch.tables = self.space.tables(piece.document for piece in own)
        if not batch.tables:
            return
        if self.cascade is not None:
            judged = self.cascade.judge(batch.tables, self.submodels, self.stackers)
            batch.pools, batch.probabilities, batch.thresholds = judged
            return
        names = tuple(model.name for model in self.submodels)
        batch.pools = pools_of(batch.tables, {m.name: m.propose(batch.tables) for m in self.submodels}, names)
        batch.probabilities = self.stackers[names].probabilities(batch.tables, batch.pools)


@dataclass(frozen=True)
class Decide:
    """The stacker chooses among the candidates of each piece."""

    name: ClassVar[str] = "decide"
    stacker: Stacker

    def __call__(self, batch: Batch) -> None:
        batch.decisions = self.stacker.chosen(batch.pools, batch.probabilities, batch.thresholds)


@dataclass(frozen=True)
class Repeats:
    """Names accepted in one note are also searched for in the patient's neighbouring notes."""

    name: ClassVar[str] = "repeats"
    stacker: Stacker

    def __call__(self, batch: Batch) -> None:
        batch.decisions = self.stacker.with_repeats(batch.tables, batch.decisions)


@dataclass(frozen=True)
class Rules:
    """Rules that are merged after the stacker add what overlaps nothing accepted."""

    name: ClassVar[str] = "rules"
    stacker: Stacker

    def __call__(self, batch: Batch) -> None:
        batch.decisions = self.stacker.with_rules(batch.tables, batch.decisions)


@dataclass(frozen=True)
class Join:
    """Puts the decisions on pieces into their notes; other engines decide on passages in their languages."""

    name: ClassVar[str] = "other engines"
    others: Mapping[str, Reads]
    label_set: LabelSet

    def __call__(self, batch: Batch) -> None:
        found = {id(piece): decisions for piece, decisions in self._decided(batch)}
        for piece in batch.pieces:
            piece.reading.decisions += map(piece.in_note, found[id(piece)])

    def _decided(self, batch: Batch) -> Iterator[tuple[Piece, list[Decision]]]:
        yield from zip((piece for piece in batch.pieces if not piece.language), batch.in_pieces(), strict=True)
        for language in sorted({piece.language for piece in batch.pieces} - {""}):
            other = self.others[language]
            theirs = [piece for piece in batch.pieces if piece.language == language]
            for piece, decisions in zip(theirs, other.decide([piece.document for piece in theirs]), strict=True):
                yield piece, [translated(decision, other.label_set, self.label_set) for decision in decisions]


def translated(decision: Decision, label_set: LabelSet, target: LabelSet) -> Decision:
    """The decision of an engine with a label of another one."""
    return replace(decision, span=replace(decision.span, label=label_like(decision.span.label, label_set, target)))


@dataclass(frozen=True)
class Beside:
    """Adds what other engines accept in a note; what overlaps becomes one span, labelled as the longest."""

    name: ClassVar[str] = "engines beside"
    engines: Sequence[Reads]
    label_set: LabelSet

    def __call__(self, batch: Batch) -> None:
        readings = [reading for reading in batch.readings if not reading.objection]
        for engine in self.engines:
            decided = engine.decide([reading.document for reading in readings])
            for reading, decisions in zip(readings, decided, strict=True):
                theirs = [translated(d, engine.label_set, self.label_set) for d in decisions if d.accepted]
                reading.decisions = _united(reading.decisions, theirs)


def _united(ours: Sequence[Decision], theirs: Sequence[Decision]) -> list[Decision]:
    """All decisions of ours, and what either accepts as spans that do not overlap."""
    groups = overlapping_groups([*(d for d in ours if d.accepted), *theirs])
    accepted = {d.span: d for d in map(_joined, groups)}
    rejected = [d for d in ours if not d.accepted and d.span not in accepted]
    return sorted([*accepted.values(), *rejected], key=lambda decision: decision.span)


def _joined(group: Sequence[Decision]) -> Decision:
    """One decision for those that overlap, if only each with the next."""
    longest = max(group, key=lambda decision: decision.span.end - decision.span.start)
    start, end = min(d.span.start for d in group), max(d.span.end for d in group)
    votes = tuple(vote for decision in group for vote in decision.votes)
    probability = max(decision.probability for decision in group)
    return replace(longest, span=Span(start, end, longest.span.label), probability=probability, votes=votes)


@dataclass(frozen=True)
class RosterSearch:
    """Finds what the roster says about the patient of each note."""

    name: ClassVar[str] = "roster"
    known: KnownIdentifiers

    def __call__(self, batch: Batch) -> None:
        for reading in batch.readings:
            if not reading.objection:
                reading.decisions = self.known.added(reading.document, reading.decisions)


@dataclass(frozen=True)
class Lists:
    """The user's lists and patterns have the last word."""

    name: ClassVar[str] = "lists and patterns"
    overruling: Overruling

    def __call__(self, batch: Batch) -> None:
        for reading in batch.readings:
            if not reading.objection:
                reading.decisions = self.overruling.applied(reading.view, reading.document.text, reading.decisions)
