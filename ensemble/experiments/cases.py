"""Who said what, place by place: where the stack is right and a submodel is not.

    places = places_of(documents, {"crf": answers, "blstm": answers, "stack": answers})
    places[0].right                  ("blstm", "stack"): these mark exactly what gold marks there
    saved_by_the_stack(places)       those where the stack is right and a submodel wrong

A place is a stretch of a note that gold or any system marks, together with everything that overlaps it. A system is
right there if its spans are gold's, types included; where gold marks nothing, if it marks nothing either. Places are
named by document id and offsets, never by text. The counterpart of table 7 of Zhao 2020, for all notes at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phistack.ensemble.experiments.parts import STACK, Answers
from phistack.features.documents import Document, Span


@dataclass(frozen=True, slots=True)
class Place:
    """One stretch of a note and what gold and every system mark there.

    :param document: the id of the note.
    :param start: offset of the first character.
    :param end: offset after the last character.
    :param gold: what is to be marked; empty where somebody marks what is no PHI.
    :param said: system -> what it marks.
    """

    document: str
    start: int
    end: int
    gold: tuple[Span, ...]
    said: Mapping[str, tuple[Span, ...]] = field(repr=False)

    @property
    def right(self) -> tuple[str, ...]:
        """The systems that mark exactly what gold marks."""
        return tuple(name for name, spans in self.said.items() if spans == self.gold)

    @property
    def wrong(self) -> tuple[str, ...]:
        """The other systems."""
        return tuple(name for name, spans in self.said.items() if spans != self.gold)

    def to_dict(self) -> dict[str, Any]:
        """The place as JSON can hold it: ids, offsets and labels."""
        return {
            "document": self.document,
            "start": self.start,
            "end": self.end,
            "gold": [[span.start, span.end, span.label] for span in self.gold],
            "said": {name: [[s.start, s.end, s.label] for s in spans] for name, spans in self.said.items()},
            "wrong": list(self.wrong),
        }


def places_of(documents: Sequence[Document], systems: Mapping[str, Answers]) -> list[Place]:
    """All places of all notes, in order.

    :param documents: the notes with gold spans.
    :param systems: for each system its spans, in the order of the notes.
    """
    return [
        place
        for document, answers in zip(documents, zip(*systems.values(), strict=True), strict=True)
        for place in _places(document, dict(zip(systems, answers, strict=True)))
    ]


def saved_by_the_stack(places: Iterable[Place]) -> list[Place]:
    """The places where the stack is right and at least one submodel is wrong, those with most submodels wrong first."""
    found = [place for place in places if STACK in place.right and place.wrong]
    return sorted(found, key=lambda place: -len(place.wrong))


def patterns(places: Iterable[Place]) -> list[tuple[tuple[str, ...], int]]:
    """How often exactly these systems were right, the most frequent first; also where the stack was wrong."""
    counts = Counter(place.right for place in places)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _places(document: Document, answers: Mapping[str, Sequence[Span]]) -> Iterator[Place]:
    marked = sorted({*document.spans, *(span for spans in answers.values() for span in spans)})
    for start, end in _stretches(marked):
        yield Place(
            document.id,
            start,
            end,
            _within(document.spans, start, end),
            {name: _within(spans, start, end) for name, spans in answers.items()},
        )


def _stretches(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """The hulls of spans that overlap, directly or through others; `spans` are sorted."""
    hulls: list[tuple[int, int]] = []
    for span in spans:
        if hulls and span.start < hulls[-1][1]:
            hulls[-1] = (hulls[-1][0], max(hulls[-1][1], span.end))
        else:
            hulls.append((span.start, span.end))
    return hulls


def _within(spans: Iterable[Span], start: int, end: int) -> tuple[Span, ...]:
    return tuple(sorted({span for span in spans if start <= span.start and span.end <= end}))


def cases_as_text(places: Sequence[Place], systems: Sequence[str]) -> str:
    """Two aligned tables: which systems are right together how often, and the cases one by one.

    :param systems: the names, in the order of the columns.
    """
    cases = saved_by_the_stack(places)
    submodels = [name for name in systems if name != STACK]
    pattern_rows = [
        [str(count), *("right" if name in right else "-" for name in systems)] for right, count in patterns(places)
    ]
    case_rows = [
        [place.document, _as_text(place.gold), *(_answer(place, name) for name in submodels)] for place in cases
    ]
    return "\n".join(
        (
            f"{len(places)} places marked in gold or by a system: which systems are right there, and how often.",
            "",
            *_aligned(["places", *systems], pattern_rows),
            "",
            f"{len(cases)} places where the stack is right and a submodel is wrong; `right` means as in gold.",
            "",
            *_aligned(["document", "gold", *submodels], case_rows),
            "",
        )
    )


def _answer(place: Place, system: str) -> str:
    return "right" if system in place.right else _as_text(place.said[system])


def _as_text(spans: Sequence[Span]) -> str:
    return " + ".join(f"{span.label} {span.start}-{span.end}" for span in spans) or "nothing"


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
