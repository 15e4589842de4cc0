"""Identifiers in a column of a table, searched for in the texts of the same patient.

    parts = (Part("Hill, Ann", "PATIENT"), Part("The wife of Ann Hill called."))
    with_column_identifiers([parts], found, search)[0][1].spans    (Span(12, 20, "PATIENT"),): nothing had to detect it

A table knows the patient's name for certain, so it is a roster of the patient's own: what a column says is found as
`ensemble.stacking.known` finds what a record says, with initials, a typing error away, dates in any format, numbers in
any grouping; and, as `ensemble.stacking.repeats` does, whole, in parts and in any order, also parts of two letters
(`Ng`, `Li`). Only a single word in small letters is left that is one of the language, such as `hope`, or has two
letters, such as `ng` for nanogram. What anybody may share, such as an age, is not sought. All is read in plain view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from phistack.ensemble.batch.formats.rows import Part
from phistack.ensemble.batch.workers.detection import Detection
from phistack.ensemble.deidentification.kinds import kind_anywhere
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import RecordSearch
from phistack.ensemble.stacking.known.reading import separated
from phistack.ensemble.stacking.known.roster import Record
from phistack.ensemble.stacking.repeats import Mention, Repeat, SearchMode, WordCounts, search_mode
from phistack.ensemble.stacking.repeats import search as search_again
from phistack.features.documents import Document, Span
from phistack.features.letters import fold
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import covering

_WHOLE = ("DATE", "STREET", "ADDRESS", "CITY", "ZIP", "PLACE", "URL")
"""Kinds that are sought as they are written, besides those that `ensemble.stacking.repeats` seeks."""

_SHORTEST_PART = 2

_MOST_SHARED = 16
"""So many values of one label are sought in all notes of a patient however they are written."""


def with_column_identifiers(
    notes: Sequence[Sequence[Part]],
    found: Sequence[Sequence[Detection]],
    search: RecordSearch,
    removes: Callable[[str], bool] = lambda label: True,
) -> list[tuple[Detection, ...]]:
    """What was found in the notes of a patient, with the identifiers of their columns.

    :param notes: the parts of each note; those with a label are one identifier as a whole.
    :param found: for each note what is in each part.
    :param removes: whether what has a label will not come out; what stays hides no identifier of a column.
    """
    pairs = [pair for parts, in_parts in zip(notes, found, strict=True) for pair in zip(parts, in_parts, strict=True)]
    views = [plain_view(Document("part", part.text, in_part.spans if part.label else ())) for part, in_part in pairs]
    mentions = [[Mention(span) for span in view.document.spans] for view in views]
    texts = [view.document.text for view in views]
    repeats = search_again(texts, mentions, search.language, _search_mode, _SHORTEST_PART)
    again = (
        view.all_in_note(repeat.span for repeat in of_part if _is_certain(repeat, search.language))
        for view, of_part in zip(views, repeats, strict=True)
    )
    records = (record for parts, record in zip(notes, _records(notes), strict=True) for _ in parts)
    more = (
        found if part.label else _with_record(part, _with_spans(found, spans, removes), record, search, removes)
        for (part, found), spans, record in zip(pairs, again, records, strict=True)
    )
    return [tuple(islice(more, len(parts))) for parts in notes]


def _records(notes: Sequence[Sequence[Part]]) -> list[Record]:
    """What the columns say of the patient, by label, for each note: its own row, and the others where they say little.

    The dates of a thousand visits are sought in other notes only as they are written, or time would grow with their
    square.
    """
    rows = list(map(_values, notes))
    every: dict[str, dict[str, None]] = {}
    for row in rows:
        for label, values in row.items():
            every.setdefault(label, {}).update(values)
    shared = {label: values for label, values in every.items() if len(values) <= _MOST_SHARED}
    return [{label: tuple(row.get(label, {}) | shared.get(label, {})) for label in every} for row in rows]


def _values(parts: Iterable[Part]) -> dict[str, dict[str, None]]:
    """The values of the columns of a row by label, each once, of the kinds that are sought."""
    found: dict[str, dict[str, None]] = {}
    for part in parts:
        if part.label and _search_mode(part.label):
            found.setdefault(part.label, {}).update(dict.fromkeys(separated(plain_text(part.text))))
    return found


def _with_record(
    part: Part, found: Detection, record: Record, search: RecordSearch, removes: Callable[[str], bool]
) -> Detection:
    """What was found in a text, with what the record says of letters and digits that nothing covers yet."""
    known = search.added(Document("part", part.text), [Decision(span, 1.0, True, ()) for span in found.spans], record)
    covered = {at for span in found.spans if removes(span.label) for at in range(span.start, span.end)}
    more = (
        decision.span
        for decision in known
        if decision.accepted
        and any(part.text[at].isalnum() for at in {*range(decision.span.start, decision.span.end)} - covered)
    )
    return replace(found, spans=(*found.spans, *more))


def _search_mode(label: str) -> SearchMode | None:
    return search_mode(label) or ("whole" if kind_anywhere(label) in _WHOLE else None)


def _with_spans(found: Detection, spans: Iterable[Span], removes: Callable[[str], bool]) -> Detection:
    """What was found in a text, with the spans that it does not cover yet."""
    covered = covering((span.start, span.end) for span in found.spans if removes(span.label))
    return replace(found, spans=found.spans + tuple(span for span in spans if not covered(span.start, span.end)))


def _is_certain(repeat: Repeat, language: str) -> bool:
    word = fold(repeat.words[0])
    is_small = len(repeat.words) == 1 and repeat.words[0].islower()
    return not (is_small and (len(word) <= _SHORTEST_PART or WordCounts(language).is_common(word)))
