"""Identifiers of a table's columns, found in the other parts of the same patient's notes.

parts = (Part("Hill, Ann", "PATIENT"), Part("The wife of Ann Hill called."))
with_column_identifiers([parts], found, search)[0][1]      (Span(12, 20, "PATIENT"),): no engine had to find it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phistack.ensemble.batch.rows import Part
from phistack.ensemble.deidentification.kinds import kind_anywhere
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known.identifiers import RecordSearch
from phistack.ensemble.stacking.known.search import KnownIndex
from phistack.ensemble.stacking.repeats.search import search_mode
from phistack.features.documents import Document, Span
from phistack.features.formats.recognise import separated
from phistack.features.plain_view import plain_text
from phistack.features.ranges import ranges_of, remainders

Spans = tuple[Span, ...]
_KINDS = ("DATE", "STREET", "ADDRESS", "CITY", "ZIP", "PLACE", "URL")
"""Kinds of identifiers that are searched for, besides those whose mentions are searched for again."""


def with_column_identifiers(
    notes: Sequence[Sequence[Part]],
    found: Sequence[Sequence[Spans]],
    search: RecordSearch,
    removes: Callable[[str], bool] = lambda label: True,
) -> list[tuple[Spans, ...]]:
    """What was found in the notes of a patient, with the identifiers of their columns.

    A table knows the patient's name for certain, so its columns are the patient's own roster. They are searched for as
    `ensemble.stacking.known` searches for a record, and in parts of two letters too (`Ng`, `Li`). The exception is a
    single word in small letters that is an everyday word, such as `hope`, or has two letters, as `ng` for nanogram.
    What many people share, such as an age, is not searched for.

    :param notes: the parts of each note; those with a label are one identifier as a whole.
    :param found: for each note what is in each part.
    :param removes: whether text with a label is removed; text that stays does not cover an identifier of a column.
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
    text: str, found: Spans, index: KnownIndex, search: RecordSearch, removes: Callable[[str], bool]
) -> Spans:
    """What was found in a text, and known identifiers with letters or digits that this does not cover."""
    decisions = [Decision(span, 1.0, True, ()) for span in found]
    covered = sorted(ranges_of(span for span in found if removes(span.label)))
    more = (
        decision.span
        for decision in search.added(Document("part", text), decisions, index, is_of_columns=True)
        if decision.accepted
        and any(
            any(map(str.isalnum, text[start:end]))
            for start, end in remainders((decision.span.start, decision.span.end), covered)
        )
    )
    return (*found, *more)
