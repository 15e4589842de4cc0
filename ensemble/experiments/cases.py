"""Places where the stack is right and a submodel is wrong.

    places = places_of(documents, {"crf": answers, "blstm": answers, "stack": answers})
    places[0].right                  ("blstm", "stack"): these mark exactly the gold spans there

A place is a group of overlapping spans, gold or of any system. A system is right there if its spans and labels are
gold's; without a gold span, if it marks nothing. Places are named by document id and offsets, never by text. The
counterpart of table 7 of Zhao 2020, for all notes at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from phistack.ensemble.experiments.parts import STACK, Answers
from phistack.features.documents import Document, Span
from phistack.features.ranges import overlapping_groups


@dataclass(frozen=True, slots=True)
class Place:
    """A group of overlapping spans: where it is, which of them are gold, and which each system marks."""

    document: str
    start: int
    end: int
    gold: tuple[Span, ...]
    said: Mapping[str, tuple[Span, ...]] = field(repr=False)

    @property
    def right(self) -> tuple[str, ...]:
        """The systems that mark exactly the gold spans."""
        return tuple(name for name, spans in self.said.items() if spans == self.gold)

    @property
    def wrong(self) -> tuple[str, ...]:
        """The other systems."""
        return tuple(name for name, spans in self.said.items() if spans != self.gold)

    def to_dict(self) -> dict[str, Any]:
        """The place for JSON: ids, offsets and labels."""
        said = {name: [[s.start, s.end, s.label] for s in spans] for name, spans in self.said.items()}
        gold, place = [[s.start, s.end, s.label] for s in self.gold], {"start": self.start, "end": self.end}
        return {"document": self.document, **place, "gold": gold, "said": said, "wrong": list(self.wrong)}


def places_of(documents: Sequence[Document], systems: Mapping[str, Answers]) -> list[Place]:
    """All places of notes with gold spans, in order; :param systems: the spans of each, in the order of the notes."""
    found = []
    for document, answers in zip(documents, zip(*systems.values(), strict=True), strict=True):
        for group in overlapping_groups({*document.spans, *chain.from_iterable(answers)}):
            gold, *said = (tuple(sorted({*group}.intersection(spans))) for spans in (document.spans, *answers))
            place = group[0].start, max(span.end for span in group)
            found.append(Place(document.id, *place, gold, dict(zip(systems, said, strict=True))))
    return found


def saved_by_the_stack(places: Iterable[Place]) -> list[Place]:
    """The places where the stack is right and at least one submodel is wrong, those with most submodels wrong first."""
    found = [place for place in places if STACK in place.right and place.wrong]
    return sorted(found, key=lambda place: -len(place.wrong))


def patterns(places: Iterable[Place]) -> list[tuple[tuple[str, ...], int]]:
    """How often exactly these systems were right, the most frequent first; also where the stack was wrong."""
    counts = Counter(place.right for place in places)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def cases_as_text(places: Sequence[Place], systems: Sequence[str]) -> str:
    """Two aligned tables: which of these systems are right together how often, and the cases one by one."""
    cases = saved_by_the_stack(places)
    submodels = [name for name in systems if name != STACK]
    together = [[str(n), *("right" if name in right else "-" for name in systems)] for right, n in patterns(places)]
    rows = [
        [
            place.document, spans_as_text(place.gold),
            *("right" if name in place.right else spans_as_text(place.said[name]) for name in submodels),
        ]
        for place in cases
    ]  # fmt: skip
    head = f"{len(places)} places marked in gold or by a system: which systems are right there, and how often."
    saved = f"{len(cases)} places where the stack is right and a submodel is wrong; `right` means as in gold."
    tables = _aligned([["places", *systems], *together]), _aligned([["document", "gold", *submodels], *rows])
    return "\n".join((head, "", *tables[0], "", saved, "", *tables[1], ""))


def spans_as_text(spans: Sequence[Span]) -> str:
    """Label and offsets of some spans, or `nothing`."""
    return " + ".join(f"{span.label} {span.start}-{span.end}" for span in spans) or "nothing"


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
