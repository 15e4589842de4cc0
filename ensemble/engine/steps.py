"""The steps that notes take through an engine, in order.

    for name, step in engine.steps.items():
        step(batch)

Each step is a function that changes a `Batch` of notes; it knows only the parts of the engine that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from phistack.ensemble.deidentification.kinds import label_like
from phistack.ensemble.engine.options import HOLD, READ
from phistack.ensemble.engine.reading import Batch, Piece, Reading
from phistack.ensemble.stacking.candidates import Decision, pools_of
from phistack.ensemble.stacking.cascade import Cascade
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

Step = Callable[[Batch], None]

LONGEST_PIECE = 100_000
"""Longer notes are read in pieces of at most this many characters."""

CANNOT_BE_READ = f"{UNREAD}THAT CANNOT BE READ"
"""The label of a note that is not text."""

_BREAKS = ("\n\n", "\n", " ")


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

    gate: LanguageGate
    choice: str
    others: Mapping[str, Reads]
    is_known: Callable[[str], bool] | None

    def __call__(self, batch: Batch) -> None:
        for reading in batch.readings if self.choice != READ else ():
            self._look(reading)

    def _look(self, reading: Reading) -> None:
        if objection := self.gate.not_text(reading.document.text):
            _hold_back(reading, objection, CANNOT_BE_READ)
            return
        plain = reading.view.document.text
        passages = self.gate.passages(plain, self.is_known)
        elsewhere = [(passage, nearest(plain, passage, self.others)) for passage in passages]
        unread = [passage for passage, language in elsewhere if not language]
        if unread and (self.choice == HOLD or mostly_in(plain, unread)):
            _hold_back(reading, self.gate.reason(unread), label_of(unread[0].language))
        else:
            reading.elsewhere = tuple((passage, language) for passage, language in elsewhere if language)
            reading.unread = tuple(
                reading.view.in_note(Span(passage.start, passage.end, label_of(passage.language))) for passage in unread
            )


def label_of(language: str) -> str:
    """The label of a passage that no engine reads: `TEXT IN RUSSIAN`."""
    return f"{UNREAD}IN {language_name(language).upper()}"


def _hold_back(reading: Reading, objection: str, label: str) -> None:
    reading.objection = objection
    reading.unread = (Span(0, len(reading.document.text), label),) if reading.document.text else ()


def cut(batch: Batch) -> None:
    """Cut what is to be read of each note into pieces: at passages, and where a piece would be too long."""
    for reading in batch.to_read:
        batch.pieces += _pieces_of(reading)


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
class Stack:
    """The submodels and the stackers over them, by the names of their submodels; each method is a step."""

    space: FeatureSpace
    submodels: Sequence[Submodel]
    stackers: Mapping[Subset, Stacker]
    cascade: Cascade | None

    @property
    def names(self) -> Subset:
        """The names of the submodels."""
        return tuple(model.name for model in self.submodels)

    def propose(self, batch: Batch) -> None:
        """Let all submodels propose, the expensive ones only in lines that leave doubt, and the stacker judge."""
        own = [piece for piece in batch.pieces if not piece.language]
        if own:
            batch.tables = self.space.tables(piece.document for piece in own)
        if not batch.tables:
            return
        if self.cascade is not None:
            judged = self.cascade.judge(batch.tables, self.submodels, self.stackers)
            batch.pools, batch.probabilities, batch.thresholds = judged
            return
        batch.pools = pools_of(batch.tables, {m.name: m.propose(batch.tables) for m in self.submodels}, self.names)
        batch.probabilities = self.stackers[self.names].probabilities(batch.tables, batch.pools)

    def decide(self, batch: Batch) -> None:
        """Choose among the candidates of each piece."""
        batch.decisions = self.stackers[self.names].chosen(batch.pools, batch.probabilities, batch.thresholds)

    def repeats(self, batch: Batch) -> None:
        """Search for names that are accepted in one note in the patient's neighbouring notes too."""
        batch.decisions = self.stackers[self.names].with_repeats(batch.tables, batch.decisions)

    def rules(self, batch: Batch) -> None:
        """Add what the rules after the stacker find, where it overlaps nothing accepted."""
        batch.decisions = self.stackers[self.names].with_rules(batch.tables, batch.decisions)


@dataclass(frozen=True)
class Join:
    """Puts the decisions on pieces into their notes; other engines decide on passages in their languages."""

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

    engines: Sequence[Reads]
    label_set: LabelSet

    def __call__(self, batch: Batch) -> None:
        for engine in self.engines:
            decided = engine.decide([reading.document for reading in batch.to_read])
            for reading, decisions in zip(batch.to_read, decided, strict=True):
                theirs = [translated(d, engine.label_set, self.label_set) for d in decisions if d.accepted]
                reading.decisions = _united(reading.decisions, theirs)
                reading.rejected_beside += [d.span for d in decisions if not d.accepted]


def _united(ours: Sequence[Decision], theirs: Sequence[Decision]) -> list[Decision]:
    """All our decisions, with what either side accepts merged into spans that do not overlap."""
    groups = overlapping_groups([*(d for d in ours if d.accepted), *theirs])
    accepted = {d.span: d for d in map(_joined, groups)}
    rejected = [d for d in ours if not d.accepted and d.span not in accepted]
    return sorted([*accepted.values(), *rejected], key=lambda decision: decision.span)


def _joined(group: Sequence[Decision]) -> Decision:
    """One decision for a chain of decisions that overlap, each with the next."""
    longest = max(group, key=lambda decision: decision.span.end - decision.span.start)
    start, end = min(d.span.start for d in group), max(d.span.end for d in group)
    votes = tuple(vote for decision in group for vote in decision.votes)
    probability = max(decision.probability for decision in group)
    return replace(longest, span=Span(start, end, longest.span.label), probability=probability, votes=votes)


def changing(change: Callable[[Reading], list[Decision]]) -> Step:
    """A step that changes the decisions on each note that is read."""

    def step(batch: Batch) -> None:
        for reading in batch.to_read:
            reading.decisions = change(reading)

    return step
