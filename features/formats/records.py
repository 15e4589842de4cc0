"""Content of files, checked before use: ids, spans, and notes as records with named columns.

    checked_span("110-01", text, 12, 17, "DOCTOR", quoted=quoted)    a Span, or a CorpusError that names id and offsets

    columns = ColumnNames(id="note_id", text="body")
    columns.check("notes.csv", ["note_id", "body", "ward"])      or a CorpusError that names what is there
    read_record("notes.csv, line 7", {"note_id": "110-01", "body": "Dr. Ames"}, columns)

Files often quote the text of a span beside its offsets. White space in a quotation is compared loosely, as XML and brat
turn line ends into blanks.

A record, in JSON lines, CSV and Parquet, has an id, a text and, optionally, the patient and `spans`, a list of
`{"start": 4, "end": 8, "label": "DOCTOR"}`. Other columns are left out, and counted in a warning that names them.
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
from phistack.features.labels import is_label
from phistack.features.shown import shown_id

_UNSAFE_PART = re.compile(r"^\.|^$|[\\\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_OFFSET = re.compile(r"[0-9]{1,12}")
_ID = re.compile(r"[^\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]{1,200}")


def is_id(text: str) -> bool:
    """Whether a text can be the id of a note: one line of 1 to 200 characters, all of which can be shown."""
    return _ID.fullmatch(text) is not None


def parse_offset(document_id: str, place: str, text: str | None) -> int:
    """An offset written in digits.

    :param place: where it is written, for example `line 7`.
    :raises CorpusError: if it is anything else.
    """
    if text is None or not _OFFSET.fullmatch(text):
        raise CorpusError(f"document {shown_id(document_id)}, {place}: an offset is missing or is not a whole number")
    return int(text)


def checked_span(
    document_id: str,
    text: str,
    start: int,
    end: int,
    label: str,
    *,
    quoted: str | None = None,
    pieces: str | None = None,
) -> Span:
    """A span that lies in the text and covers what the file says it covers.

    :param quoted: the text of the span as the file quotes it, if it does.
    :param pieces: what `quoted` may equal besides `text[start:end]`, such as the joined pieces of a discontinuous span.
    :raises CorpusError: if the offsets are empty, reversed or beyond the text, the label cannot be a name, or the
        quotation differs.
    """
    place = f"document {shown_id(document_id)}: the span {start}-{end}"
    if not 0 <= start < end:
        raise CorpusError(f"{place} is empty or reversed; a span must have 0 <= start < end")
    if end > len(text):
        raise CorpusError(
            f"{place} ends beyond the text, which has {len(text)} characters; check that offsets count Unicode "
            "characters, not bytes"
        )
    if not is_label(label):
        raise CorpusError(
            f"{place} has a label that is not a valid name; a label starts with a letter and has no spaces"
        )
    covered = [text[start:end], text[start:end] if pieces is None else pieces]
    if quoted is not None and quoted.split() not in map(str.split, covered):
        raise CorpusError(
            f"{place} does not cover the text that the annotation quotes; check the offsets, and that the text was "
            "not changed after it was annotated"
        )
    return Span(start, end, label)


def encode_text(document: Document) -> bytes:
    """The text of a note as UTF-8; :raises CorpusError: for a lone surrogate, which UTF-8 cannot express."""
    surrogate = _SURROGATE.search(document.text)
    if surrogate:
        raise CorpusError(
            f"document {shown_id(document.id)}: the character at {surrogate.start()} is a lone surrogate, which UTF-8 "
            "cannot hold; write the corpus as jsonl"
        )
    return document.text.encode("utf-8")


def encode_all(content: str) -> bytes:
    """A piece of a file as UTF-8; :raises CorpusError: for a lone surrogate in an id or a patient."""
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise CorpusError(
            "the name of a document or patient has a lone surrogate, which UTF-8 cannot hold; write the corpus as jsonl"
        ) from None


def file_name(document_id: str, suffix: str) -> str:
    """The path of a note's file within a folder; an id with slashes has folders in it.

    :raises CorpusError: if the id, or a part between slashes, holds what a file name should not.
    """
    if any(map(_UNSAFE_PART.search, document_id.split("/"))):
        raise CorpusError(
            f"the document id {shown_id(document_id)!r} cannot be a file name, as it, or a part of it between slashes, "
            "is empty, begins with a dot or holds a backslash or a control character; rename the document or write the "
            "corpus as jsonl"
        )
    return document_id + suffix


SPANS = "spans"
"""The column of the annotations."""

PATIENT_COLUMN = "group"
"""The usual name of the column of patients."""

_USUAL = {"id", "text", PATIENT_COLUMN, SPANS}
_MOST_LISTED = 100
_COLUMN_NAME = re.compile(r"(?=.{1,40}\Z)[^\W\d]\S*(?: \S+){0,3}")


def refuse_shared(text: str, *names: str | None) -> None:
    """Refuse the text column as the column of ids or patients; :raises SettingsError: with the options."""
    if text in names:
        raise SettingsError(
            f"the column {text} cannot hold both the text and the id or the patient; give each its own with "
            "--id-column, --text-column and --patient-column"
        )


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """How the columns of records are named.

    :param id: unique within the corpus.
    :param patient: whose note it is; if it is empty, or a table lacks the column of the usual name, the patient is read
        from the id.
    :param unit: the larger unit of a note, kept as its `fold_group`, if there is a column.
    :raises SettingsError: if two of them are the same.
    """

    id: str = "id"
    text: str = "text"
    patient: str = PATIENT_COLUMN
    unit: str | None = None

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
        if self.unit:
            refuse_not_once(place, self.unit, header, "--stratify")

    def check_record(self, place: str, header: Sequence[str]) -> None:
        """Refuse a record without id or text; :raises CorpusError: naming column and option."""
        refuse_not_once(place, self.id, header, "--id-column")
        refuse_not_once(place, self.text, header, "--text-column")

    def remarks(self, header: Collection[str], n_notes: int) -> Counter[str]:
        """Warnings about columns that are not read, and notes whose patient is read from the id.

        :param n_notes: how many notes have these columns.
        """
        n_notes = 0 if self.patient in header else n_notes
        others = [name for name in header if name not in (self.id, self.text, self.patient, self.unit, SPANS)]
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
    """The names of columns, if all look like names: in a file without a header the first row may be a short note."""
    names = tuple(header)
    are_names = all(map(_COLUMN_NAME.fullmatch, names)) and (len(names) > 1 or {*names} <= _USUAL)
    return names if are_names else ()


def listed_names(header: Sequence[str]) -> str:
    """The names of columns as a message lists them: each once, and not too many."""
    names = list(dict.fromkeys(filter(None, header)))
    if not names:
        return "no header line with the names of columns"
    unlike = "one that does not look like a name" if len(names) == 1 else f"{len(names)} that do not look like names"
    shown = ", ".join(shown_names(names[:_MOST_LISTED])) or unlike
    more = [f"{len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
    return " and ".join([shown, *more, *["one without a name"] * ("" in header)])


def one_name(value: object) -> str:
    """A string, or a whole number as one: tables with gaps turn 17 into 17.0; empty for anything else."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def id_in(value: object) -> str:
    """The id of a note in a cell; empty if it is not one: a damaged file may have note text there."""
    id = one_name(value)
    return id if is_id(id) else ""


def patient_in(value: object, id: str) -> str:
    """The patient in a cell, read from the id if the cell is empty; empty for what cannot name a patient."""
    return patient_of(id) if value is None or value == "" else one_name(value)


def read_record(place: str, record: Mapping[str, Any], columns: ColumnNames, *, annotated: bool = True) -> Document:
    """A record as a note.

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
    found = tuple(_read_span(place, document_id, text, span) for span in spans)
    unit = one_name(record.get(columns.unit)) if columns.unit else ""
    return Document(document_id, text, found, patient, unit)


def _spans_in(place: str, cell: Any) -> list[dict[str, Any]]:
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
