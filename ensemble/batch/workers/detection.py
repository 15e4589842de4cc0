"""What was found in the parts of notes: by an engine, or because a column of the same patient holds it.

Detection.of(reading)       Detection(spans=(Span(12, 17, "DOCTOR"),), lowest=0.93)
parts = (Part("Hill, Ann", "PATIENT"), Part("The wife of Ann Hill called."))
with_column_identifiers([parts], found, search)[0][1].spans    (Span(12, 20, "PATIENT"),): no engine had to find it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from phistack.ensemble.batch.rows import Part
from phistack.ensemble.deidentification.kinds import kind_anywhere
from phistack.ensemble.engine import Reading
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.known.identifiers import RecordSearch
from phistack.ensemble.stacking.known.search import KnownIndex
from phistack.ensemble.stacking.overruling import overruled
from phistack.ensemble.stacking.repeats.search import search_mode
from phistack.features.documents import Document, Span
from phistack.features.formats.recognise import separated
from phistack.features.plain_view import plain_text
from phistack.features.ranges import ranges_of, remainders

_KINDS = ("DATE", "STREET", "ADDRESS", "CITY", "ZIP", "PLACE", "URL")
"""Kinds of identifiers that are searched for, besides those whose mentions are searched for again."""


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in one part of a note.

    :param spans: what must not come out: what the engine accepted, and what no engine read.
    :param lowest: the least probability among the accepted; 1 if there are none.
    :param overruled: on how many spans the user's lists and patterns had a say, by their source.
    :param known: the labels of those that a roster says.
    :param rejected: start, end and probability of each candidate that was rejected.
    """

    spans: tuple[Span, ...] = ()
    lowest: float = 1.0
    overruled: Mapping[str, int] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    rejected: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def of(cls, reading: Reading) -> Self:
        """From what became of the part."""
        accepted = [decision for decision in reading.decisions if decision.accepted]
        lowest = min((decision.probability for decision in accepted), default=1.0)
        known = tuple(d.span.label for d in accepted if any(vote.source == KNOWN for vote in d.votes))
        rejected = tuple((d.span.start, d.span.end, d.probability) for d in reading.decisions if not d.accepted)
        return cls(reading.annotated.spans, lowest, overruled(reading.decisions), known, rejected)


def with_column_identifiers(
    notes: Sequence[Sequence[Part]],
    found: Sequence[Sequence[Detection]],
    search: RecordSearch,
    removes: Callable[[str], bool] = lambda label: True,
) -> list[tuple[Detection, ...]]:
    """What was found in the notes of a patient, with the identifiers of their columns.

    A table knows the patient's name for certain, so its columns are a roster of the patient's own, searched for as
    `ensemble.stacking.known` searches for what a record holds, also in parts of two letters (`Ng`, `Li`). Only a
    single word in small letters stays that is an everyday word, such as `hope`, or has two letters, such as `ng` for
    nanogram. What many people share, such as an age, is not searched for.

    :param notes: the parts of each note; those with a label are one identifier as a whole.
    :param found: for each note what is in each part.
    :param removes: whether what has a label will not come out; what stays hides no identifier of a column.
    """
    values: dict[str, dict[str, None]] = {}
    for part in (part for parts in notes for part in parts):
        if part.label and (search_mode(part.label) or kind_anywhere(part.label) in _KINDS):
            values.setdefault(part.label, {}).update(dict.fromkeys(separated(plain_text(part.text))))
    index = search.index({label: tuple(of_label) for label, of_label in values.items()})
    return [
        tuple(
            of_part if part.label else _with_known(part.text, of_part, index, search, removes)
            for part, of_part in zip(parts, in_parts, strict=True)
        )
        for parts, in_parts in zip(notes, found, strict=True)
    ]


def _with_known(
    text: str, found: Detection, index: KnownIndex, search: RecordSearch, removes: Callable[[str], bool]
) -> Detection:
    """What was found in a text, with known identifiers of whose letters and digits it does not cover all."""
    decisions = [Decision(span, 1.0, True, ()) for span in found.spans]
    covered = sorted(ranges_of(span for span in found.spans if removes(span.label)))
    more = (
        decision.span
        for decision in search.added(Document("part", text), decisions, index, is_of_columns=True)
        if decision.accepted
        and any(
            any(map(str.isalnum, text[start:end]))
            for start, end in remainders((decision.span.start, decision.span.end), covered)
        )
    )
    return replace(found, spans=(*found.spans, *more))
