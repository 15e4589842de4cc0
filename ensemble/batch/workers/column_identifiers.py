"""Identifiers in a column of a table, searched for in the texts of the same patient.

    parts = (Part("Hill, Ann", "PATIENT"), Part("The wife of Ann Hill called."))
    with_column_identifiers([parts], found, "en")[0][1].spans    (Span(12, 20, "PATIENT"),): nothing had to detect it

A table knows the patient's name for certain, so it is replaced wherever it stands: whole, in parts and in any order, as
`ensemble.stacking.repeats` finds it, also parts of two letters (`Ng`, `Li`). Only a single word in small letters is
left that is one of the language, such as `hope`, or has two letters, such as `ng` for nanogram. Dates, numbers and
places are sought as they are written; what anybody may share, such as an age, is not. All is read in its plain view.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from ensemble.batch.formats.rows import Part
from ensemble.batch.workers.detector import Detection
from ensemble.deidentification.kinds import kind_anywhere
from ensemble.stacking.repeats import Mention, Repeat, SearchMode, WordCounts, search, search_mode
from features.documents import Document, Span
from features.letters import fold
from features.plain_view import plain_view
from features.ranges import covering

__all__ = ["with_column_identifiers"]

_WHOLE = ("DATE", "STREET", "ADDRESS", "CITY", "ZIP", "PLACE", "URL")
"""Kinds that are sought as they are written, besides those that `ensemble.stacking.repeats` seeks."""

_SHORTEST_PART = 2


def with_column_identifiers(
    notes: Sequence[Sequence[Part]], found: Sequence[Sequence[Detection]], language: str
) -> list[tuple[Detection, ...]]:
    """What was found in the notes of a patient, with the identifiers of their columns.

    :param notes: the parts of each note; those with a label are one identifier as a whole.
    :param found: for each note what is in each part.
    :param language: ISO 639-1 code.
    """
    pairs = [pair for parts, in_parts in zip(notes, found, strict=True) for pair in zip(parts, in_parts, strict=True)]
    views = [plain_view(Document("part", part.text, in_part.spans if part.label else ())) for part, in_part in pairs]
    mentions = [[Mention(span) for span in view.document.spans] for view in views]
    repeats = search([view.document.text for view in views], mentions, language, _search_mode, _SHORTEST_PART)
    again = (
        view.all_in_note(repeat.span for repeat in of_part if _is_certain(repeat, language))
        for view, of_part in zip(views, repeats, strict=True)
    )
    more = (
        found if part.label else _with_spans(found, spans) for (part, found), spans in zip(pairs, again, strict=True)
    )
    return [tuple(islice(more, len(parts))) for parts in notes]


def _search_mode(label: str) -> SearchMode | None:
    return search_mode(label) or ("whole" if kind_anywhere(label) in _WHOLE else None)


def _with_spans(found: Detection, spans: Iterable[Span]) -> Detection:
    """What was found in a text, with the spans that it does not cover yet."""
    covered = covering((span.start, span.end) for span in found.spans)
    return replace(found, spans=found.spans + tuple(span for span in spans if not covered(span.start, span.end)))


def _is_certain(repeat: Repeat, language: str) -> bool:
    word = fold(repeat.words[0])
    is_small = len(repeat.words) == 1 and repeat.words[0].islower()
    return not (is_small and (len(word) <= _SHORTEST_PART or WordCounts(language).is_common(word)))
