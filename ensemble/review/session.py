"""Notes under review: what is suggested, what was decided, which is next, and how well it goes.

    session = Session(documents, decisions, outlooks, order_by="random")
    session.order                   [4, 0, 7, ...]: numbers of entries, those to judge first first
    session.opened(4)               the entry as the page shows it
    session.edit(4, "accept", [Change(8, 12, "DOCTOR", SUGGESTED, JUDGED)], seconds=1.5)
    session.finish(4, seconds=2.0)

An entry is a note, or a note for the second time: a few are judged twice to see how far people agree with themselves.
A fifth of the patients, drawn at random, is set aside: no engine learns from them, so each can be measured on them.
With `blind`, the suggestions of a tenth of the notes are hidden, which shows how far people follow suggestions (South
et al. 2014).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

import msgspec

from phistack.ensemble.evaluation.measures import count, f1_of_counts
from phistack.ensemble.review.decisions import (
    ABSENT,
    JUDGED,
    SUGGESTED,
    Begun,
    Change,
    Decisions,
    Edited,
    Finished,
    Judgement,
    digest_of,
)
from phistack.ensemble.review.order import Outlook, in_order, is_drawn, mixed
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError

PARTS = ("all", "training", "aside")

_ASIDE, _HIDDEN, _TWICE, _LATER = 0.2, 0.1, 0.05, 10
_UNSHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HIDDEN_MARKS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Entry(NamedTuple):
    """A note to judge, for the second time if `again`; `place` is its position among the notes."""

    place: int
    document: Document
    again: bool = False

    @property
    def key(self) -> tuple[str, bool]:
        """Its key among the decisions."""
        return self.document.id, self.again


@dataclass
class Session:
    """A review.

    :param documents: the notes, without spans.
    :param outlooks: what is suggested for each.
    :param order_by: one of `ORDERS`; empty for the order of the notes: then none is set aside or judged twice.
    :param blind: whether the suggestions of a tenth of the notes are hidden.
    :param engine: how the page names who makes the suggestions.
    """

    documents: Sequence[Document]
    decisions: Decisions
    outlooks: Sequence[Outlook]
    order_by: str = "diverse"
    blind: bool = False
    engine: str = ""

    def _is(self, what: str, name: str, share: float) -> bool:
        return bool(self.order_by) and is_drawn(self.decisions.scheme.seed, what, name, share)

    def is_aside(self, document: Document) -> bool:
        """Whether a note is set aside, to measure on."""
        return self._is("aside", document.group, _ASIDE)

    @cached_property
    def entries(self) -> list[Entry]:
        """The notes, and again those that are judged twice."""
        once = [Entry(place, document) for place, document in enumerate(self.documents)]
        return once + [entry._replace(again=True) for entry in once if self._is("twice", entry.document.id, _TWICE)]

    @property
    def order(self) -> list[int]:
        """The numbers of all entries, in the order to judge them."""
        if not self.order_by:
            return [*range(len(self.entries))]
        aside = [number for number, document in enumerate(self.documents) if self.is_aside(document)]
        rest = [*({*range(len(self.documents))} - {*aside})]
        ranked = in_order([self.outlooks[number] for number in rest], self.order_by, seed=self.decisions.scheme.seed)
        drawn = in_order([self.outlooks[number] for number in aside], "random", seed=self.decisions.scheme.seed)
        order = mixed([rest[place] for place in ranked], [aside[place] for place in drawn])
        twice = {entry.place: number for number, entry in enumerate(self.entries) if entry.again}
        for rank, number in reversed([*enumerate(order)]):
            if number in twice:
                order.insert(rank + _LATER, twice[number])
        return order

    def judgement(self, number: int) -> Judgement | None:
        """What was decided on the text that an entry has now; None if nothing was."""
        found = self.decisions.of(*self.entries[number].key)
        return found if found and found.begun.text == digest_of(self.entries[number].document.text) else None

    def state(self, number: int) -> str:
        """How far an entry is: `new`, `changed` (judged on another text), `begun` or `done`."""
        found = self.judgement(number)
        if found is None:
            return "changed" if self.decisions.of(*self.entries[number].key) else "new"
        return "done" if found.done else "begun"

    def opened(self, number: int) -> dict[str, Any]:
        """An entry as the page shows it; a note that was not begun begins."""
        entry, state = self.entry(number), self.state(number)
        judgement = self.judgement(number)
        if judgement is None:
            self.decisions.add(self._begun(entry))
            judgement = self.judgement(number)
            assert judgement is not None
        told = {(s.start, s.end, s.label): (s.probability, s.by) for s in judgement.begun.suggestions}
        spans = [
            (s.start, s.end, s.label, is_, *told.get((s.start, s.end, s.label), (None, "")))
            for s, is_ in sorted(judgement.states.items())
        ]
        return {
            "number": number, "id": entry.document.id, "text": shown_text(entry.document.text), "spans": spans,
            "state": state, "again": entry.again, "aside": judgement.begun.aside, "shown": judgement.begun.shown,
            "edits": [(edit.kind, edit.changes) for edit in judgement.edits],
        }  # fmt: skip

    def entry(self, number: int) -> Entry:
        """An entry by its number; :raises CorpusError: if there is none."""
        if not 0 <= number < len(self.entries):
            raise CorpusError(f"there is no note with the number {number}; there are {len(self.entries)}")
        return self.entries[number]

    def _begun(self, entry: Entry) -> Begun:
        document, suggestions = entry.document, self.outlooks[entry.place].suggestions
        is_hidden, is_aside = self.blind and self._is("blind", document.id, _HIDDEN), self.is_aside(document)
        begun = Begun(document.id, digest_of(document.text), suggestions, shown=not is_hidden, aside=is_aside)
        return msgspec.structs.replace(begun, again=entry.again)

    def edit(self, number: int, kind: str, changes: Sequence[Change], seconds: float) -> None:
        """Store an edit; :raises CorpusError: if it does not fit the note, its text or the labels."""
        _, document, again = self.entry(number)
        labels, states = self.decisions.scheme.labels, {ABSENT, SUGGESTED, JUDGED}
        for start, end, label, was, now in changes:
            if not 0 <= start < end <= len(document.text) or label not in labels or not {was, now} <= states:
                raise CorpusError("an edit has a place that the note does not have, or an unknown label; read it again")
        self.decisions.add(Edited(document.id, kind, tuple(changes), seconds, again=again))

    def finish(self, number: int, seconds: float, done: bool = True) -> None:
        """Store that a note is done, or that it is not after all."""
        _, document, again = self.entry(number)
        self.decisions.add(Finished(document.id, seconds, done, again=again))

    def finished(self, *, again: bool = False) -> Iterator[tuple[int, Judgement]]:
        """The notes that are done, with their numbers."""
        for number, entry in enumerate(self.entries):
            if entry.again == again and (judgement := self.judgement(number)) and judgement.done:
                yield number, judgement

    def measured(self) -> tuple[Corpus, Corpus] | None:
        """The notes set aside that are done, as they were judged and as the present engine marks them."""
        done = [(number, judgement) for number, judgement in self.finished() if judgement.begun.aside]
        if not done:
            return None
        gold = tuple(self.documents[number].with_spans(judgement.spans) for number, judgement in done)
        corpus = Corpus(gold, self.decisions.scheme.labels)
        return corpus, corpus.with_spans([[s.span for s in self.outlooks[number].suggestions] for number, _ in done])

    def status(self) -> dict[str, Any]:
        """The figures of the review, without the scores of engines."""
        done = [judgement for _, judgement in self.finished()]
        first = dict(self.finished())
        second = ((self.entries[number].place, judgement) for number, judgement in self.finished(again=True))
        twice = [(first[place].spans, judgement.spans) for place, judgement in second if place in first]
        return {
            "notes": len(self.documents), "done": len(done), "aside": sum(j.begun.aside for j in done),
            "changed": sum(self.state(number) == "changed" for number in range(len(self.documents))),
            "seconds": median(judgement.seconds for judgement in done) if done else None,
            "edits": sum(len(judgement.edits) for judgement in done),
            "agreement": {
                "with suggestions": _agreement((_suggested(j), j.spans) for j in done if j.begun.shown),
                "where they were hidden": _agreement((_suggested(j), j.spans) for j in done if not j.begun.shown),
                "with oneself": _agreement(twice),
            },
            "engine": self.engine,
        }  # fmt: skip


def _suggested(judgement: Judgement) -> list[Span]:
    return [suggestion.span for suggestion in judgement.begun.suggestions]


def _agreement(pairs: Iterable[tuple[Iterable[Span], Iterable[Span]]]) -> tuple[float, int] | None:
    """Strict F1, and on how many notes; None if there are none."""
    counts = [count({*one}, {*other}) for one, other in pairs]
    return (float(f1_of_counts([sum(column) for column in zip(*counts, strict=True)])), len(counts)) if counts else None


def judged(
    documents: Iterable[Document], decisions: Decisions, part: str = "all"
) -> tuple[list[Document], Mapping[str, str]]:
    """The notes that are done, with their spans, and id -> reason of each other note that was begun.

    :param part: `all`, `training` or `aside`.
    """
    done, others = [], {}
    for document in documents:
        found = decisions.of(document.id)
        if found is None or part not in ("all", "aside" if found.begun.aside else "training"):
            continue
        if found.begun.text != digest_of(document.text):
            others[document.id] = "its text changed since it was judged; judge it again"
        elif not found.done:
            others[document.id] = "it was begun, and is not done"
        else:
            done.append(document.with_spans(found.spans))
    return done, others


def shown_text(text: str) -> str:
    """The text with as many code points, all of them visible: no controls, marks of direction or half pairs."""
    text = _UNSHOWN.sub(lambda found: chr(0x2400 + ord(found[0])), text.replace("\r\n", "\u200b\n").replace("\r", "\n"))
    return _HIDDEN_MARKS.sub("\ufffd", text)
