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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phistack.features.documents import Document, Span, patient_of
from phistack.features.errors import CorpusError, SettingsError, did_you_mean
from phistack.features.formats.spans import checked_span, is_id

SPANS = "spans"
"""The column of the annotations."""

PATIENT_COLUMN = "group"
"""The usual name of the column of patients."""

_USUAL = {"id", "text", PATIENT_COLUMN, SPANS}
_COLUMN_NAME = re.compile(r"(?=.{1,40}\Z)[^\W\d]\S*(?: \S+){0,3}")


def refuse_shared(text: str, *names: str | None) -> None:
    """Refuse a column of texts that also names notes in reports; :raises SettingsError: with the options."""
    if text in names:
        raise SettingsError(
            f"the column {text} cannot hold both the text and the id or the patient; give each its own with "
            "--id-column, --text-column and --patient-column"
        )


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """How the columns of records are named.

    :param id: unique within the corpus.
    :param text: the note.
    :param patient: whose note it is; if a record has nothing in it, or a table lacks the column of the usual name, the
        patient is read from the id.
    :raises SettingsError: if two of them are the same.
    """

    id: str = "id"
    text: str = "text"
    patient: str = PATIENT_COLUMN

    def __post_init__(self) -> None:
        refuse_shared(self.text, self.id, self.patient)

    def are_in(self, header: Sequence[str]) -> bool:
        """Whether a table has the columns of id and text."""
        return self.id in header and self.text in header

    def check(self, place: str, header: Sequence[str]) -> None:
        """Refuse a table that lacks a column, or has it twice; :raises CorpusError: naming column and option."""
        self.check_record(place, header)
        if self.patient in header or self.patient != PATIENT_COLUMN:
            refuse_not_once(place, self.patient, header, "--patient-column")

    def check_record(self, place: str, header: Sequence[str]) -> None:
        """Refuse a record without id or text; :raises CorpusError: naming column and option."""
        refuse_not_once(place, self.id, header, "--id-column")
        refuse_not_once(place, self.text, header, "--text-column")

    def remarks(self, header: Collection[str], n_notes: int) -> Counter[str]:
        """Warnings of the columns that no document holds, and of notes whose patient is read from the id.

        :param header: every column that was met.
        :param n_notes: how many notes have these columns.
        """
        n_notes = 0 if self.patient in header else n_notes
        others = [name for name in header if name not in (self.id, self.text, self.patient, SPANS)]
        names = [name if _COLUMN_NAME.fullmatch(name) else "one of another kind" for name in others]
        no_patient = f"notes without a column {self.patient}, so that the patient is read from the id"
        return +Counter({f"columns left out, {', '.join(names)}": len(others), no_patient: n_notes})


USUAL_NAMES = ColumnNames()
"""As phistack writes them."""


def refuse_not_once(place: str, name: str, header: Sequence[str], option: str) -> None:
    """Refuse a table in which a column is missing or doubled; :raises CorpusError: with the option that names it."""
    if name in header:
        if header.count(name) > 1:
            raise CorpusError(f"{place} has the column {name} more than once; rename one, or name another")
        return
    near = did_you_mean(name, shown_names(header))
    raise CorpusError(
        f"{place} has no column {name}{near}; it has {listed_names(header)}: name the right one with {option}"
    )


def shown_names(header: Iterable[str]) -> tuple[str, ...]:
    """The names of columns, if all look like names: a file without a header begins with a note, perhaps of one word."""
    names = tuple(header)
    are_names = all(map(_COLUMN_NAME.fullmatch, names)) and (len(names) > 1 or {*names} <= _USUAL)
    return names if are_names else ()


def listed_names(header: Sequence[str], most: int = 100) -> str:
    """The names of columns as a message lists them: each once, and not too many."""
    names = list(dict.fromkeys(filter(None, header)))
    if not names:
        return "no header line with the names of columns"
    unlike = "one that does not look like a name" if len(names) == 1 else f"{len(names)} that do not look like names"
    shown = ", ".join(shown_names(names[:most])) or unlike
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return " and ".join([shown, *more, *["one without a name"] * ("" in header)])


def one_name(value: object) -> str:
    """A string, or a whole number as one: tables with gaps turn 17 into 17.0; empty for anything else."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def id_in(value: object) -> str:
    """The id of a note in a cell; empty if it is none, as in a damaged file, where a text may be in its place."""
    id = one_name(value)
    return id if is_id(id) else ""


def patient_in(value: object, id: str) -> str:
    """The patient in a cell, read from the id if the cell is empty; empty for what cannot name a patient."""
    return patient_of(id) if value is None or value == "" else one_name(value)


def read_record(place: str, record: Mapping[str, Any], columns: ColumnNames, *, annotated: bool = True) -> Document:
    """A record as a note.

    :param place: where it is, as messages name it.
    :param record: column -> value.
    :param annotated: whether its spans are read.
    :raises CorpusError: for a value that is missing or of the wrong kind, and for spans that do not fit the text.
    """
    document_id = id_in(record.get(columns.id))
    if not document_id:
        raise CorpusError(f"{place}: {columns.id} is missing or no id, which is one line of 1 to 200 characters")
    patient = patient_in(record.get(columns.patient), document_id)
    if not patient:
        raise CorpusError(f"{place}: {columns.patient} is neither a string nor a whole number")
    text = record.get(columns.text)
    if not isinstance(text, str):
        raise CorpusError(f"{place}: {columns.text} is missing or is not a string")
    spans = _spans_in(place, record.get(SPANS)) if annotated else []
    return Document(document_id, text, tuple(_read_span(place, document_id, text, span) for span in spans), patient)


def _spans_in(place: str, cell: Any) -> list[dict[str, Any]]:
    """The spans of a cell, as a list or as JSON."""
    try:
        spans = json.loads(cell.strip() or "null") if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        raise CorpusError(f"{place}: spans is not a JSON list") from None
    if not isinstance(spans, list | None) or not all(isinstance(span, dict) for span in spans or ()):
        raise CorpusError(f"{place}: spans must be a list of objects with start, end and label")
    return spans or []


def _read_span(place: str, document_id: str, text: str, span: Mapping[str, Any]) -> Span:
    start, end, label = span.get("start"), span.get("end"), span.get("label")
    # In Python a boolean is an integer; in JSON it is not.
    if type(start) is not int or type(end) is not int or not isinstance(label, str):
        raise CorpusError(f"{place}: the start and end of a span must be whole numbers, and its label a string")
    return checked_span(document_id, text, start, end, label)


def record_of(document: Document) -> dict[str, Any]:
    """A note as a record with the usual names, JSON-ready; `read_record` reads it back."""
    return {
        "id": document.id,
        PATIENT_COLUMN: document.group,
        "text": document.text,
        SPANS: [{"start": span.start, "end": span.end, "label": span.label} for span in document.spans],
    }
