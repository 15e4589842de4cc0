"""Notes as records with named columns: what JSON lines, CSV and Parquet have in common.

    columns = ColumnNames(id="note_id", text="body")
    columns.check("notes.csv", ["note_id", "body", "ward"])      or a CorpusError that names what is there
    read_record("notes.csv, line 7", {"note_id": "110-01", "body": "Dr. Ames"}, columns)

A record has an id, a text, and, if it likes, the patient and `spans`, a list of `{"start": 4, "end": 8, "label":
"DOCTOR"}`. Other columns are passed over, and counted in a warning that names them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phistack.features.documents import Document, Span, patient_of
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats.spans import checked_id, checked_span
from phistack.features.suggestions import did_you_mean

SPANS = "spans"
"""The column of the annotations."""

_PATIENT = "group"
_NAME_OF_A_COLUMN = re.compile(r"(?=.{1,40}\Z)[^\W\d]\S*(?: \S+){0,3}")


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """How the columns of records are named.

    :param id: unique within the corpus.
    :param text: the note.
    :param patient: whose note it is; where a record has nothing in it, and where a table lacks the column of the usual
        name, it is read from the id.
    :raises SettingsError: if two of them are the same.
    """

    id: str = "id"
    text: str = "text"
    patient: str = _PATIENT

    def __post_init__(self) -> None:
        if self.text in (self.id, self.patient):
            raise SettingsError(
                f"the column {self.text} cannot hold both the text and the id or the patient; give each its own with "
                "--id-column, --text-column and --patient-column"
            )

    def are_in(self, header: Sequence[str]) -> bool:
        """Whether a table has the columns of id and text."""
        return self.id in header and self.text in header

    def check(self, place: str, header: Sequence[str]) -> None:
        """Refuse a table that lacks a column, or has it twice; :raises CorpusError: naming column and option."""
        self.check_record(place, header)
        if self.patient != _PATIENT:
            _refuse_missing(place, self.patient, header, "--patient-column")
        for name in (self.id, self.text, self.patient):
            if header.count(name) > 1:
                raise CorpusError(f"{place} has the column {name} more than once; rename one, or name another")

    def check_record(self, place: str, header: Sequence[str]) -> None:
        """Refuse a record without id or text; :raises CorpusError: naming column and option."""
        _refuse_missing(place, self.id, header, "--id-column")
        _refuse_missing(place, self.text, header, "--text-column")

    def left_out(self, header: Iterable[str]) -> Counter[str]:
        """A warning that counts and names the columns that no document holds."""
        others = [name for name in dict.fromkeys(header) if name not in (self.id, self.text, self.patient, SPANS)]
        names = [name if _NAME_OF_A_COLUMN.fullmatch(name) else "one of another kind" for name in others]
        return Counter({f"columns left out, {', '.join(names)}": len(others)} if others else {})

    def without_patient(self, header: Iterable[str], n_notes: int) -> Counter[str]:
        """A warning that counts the notes whose patient is read from the id."""
        if self.patient in header:
            return Counter()
        return Counter({f"notes without a column {self.patient}, so that the patient is read from the id": n_notes})


USUAL_NAMES = ColumnNames()
"""As phistack writes them."""


def shown_names(header: Iterable[str]) -> tuple[str, ...]:
    """The names of columns, if there are some and all look like it: in a file without a header, a note stands there."""
    names = tuple(header)
    return names if len(names) > 1 and all(map(_NAME_OF_A_COLUMN.fullmatch, names)) else ()


def _refuse_missing(place: str, name: str, header: Sequence[str], option: str) -> None:
    if name not in header:
        near = did_you_mean(name, shown_names(header))
        raise CorpusError(
            f"{place} has no column {name}{near}; it has {listed_names(header)}: name the right one with {option}"
        )


def listed_names(header: Sequence[str]) -> str:
    """The names of columns as a message says them."""
    return ", ".join(shown_names(header)) or (f"{len(header)} that do not look like names" if header else "none")


def read_record(place: str, record: Mapping[str, Any], columns: ColumnNames) -> Document:
    """A record as a note.

    :param place: where it stands, as messages say it.
    :param record: column -> value; the spans as a list.
    :raises CorpusError: for a value that is missing or of the wrong kind, and for spans that do not fit the text.
    """
    document_id = checked_id(place, _name(place, record, columns.id))
    text = _string(place, record, columns.text)
    empty = record.get(columns.patient) in (None, "")
    group = patient_of(document_id) if empty else _name(place, record, columns.patient)
    spans = record.get(SPANS)
    if spans is None:
        spans = []
    if not isinstance(spans, list) or not all(isinstance(span, dict) for span in spans):
        raise CorpusError(f"{place}: spans must be a list of objects with start, end and label")
    return Document(document_id, text, tuple(_read_span(place, document_id, text, span) for span in spans), group)


def _read_span(place: str, document_id: str, text: str, span: Mapping[str, Any]) -> Span:
    start, end = span.get("start"), span.get("end")
    # In Python a boolean is an integer; in JSON it is not.
    if type(start) is not int or type(end) is not int:
        raise CorpusError(f"{place}: the start and end of a span must be whole numbers")
    return checked_span(document_id, text, start, end, _string(place, span, "label"))


def _string(place: str, record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise CorpusError(f"{place}: {key} is missing or is not a string")
    return value


def _name(place: str, record: Mapping[str, Any], key: str) -> str:
    """A name, or a whole number as one: tables with gaps turn 17 into 17.0."""
    value = record.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise CorpusError(f"{place}: {key} is missing or is neither a string nor a whole number")
    return str(value)


def spans_in(place: str, value: Any) -> Any:
    """The spans of a table's cell, where a string is JSON; nothing for an empty one.

    :raises CorpusError: if a string is not JSON.
    """
    try:
        return (json.loads(value) if value.strip() else None) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise CorpusError(f"{place}: spans is not a JSON list") from None


def record_of(document: Document) -> dict[str, Any]:
    """A note as a record with the usual names, JSON-ready; `read_record` reads it back."""
    return {
        "id": document.id,
        _PATIENT: document.group,
        "text": document.text,
        SPANS: [{"start": span.start, "end": span.end, "label": span.label} for span in document.spans],
    }
