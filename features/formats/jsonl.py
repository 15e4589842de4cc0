"""JSON lines: one note a line.

    {"id": "110-01", "group": "110", "text": "Dr. Ames", "spans": [{"start": 4, "end": 8, "label": "DOCTOR"}]}

`group`, the patient, may be left out, and so may `spans`. This format holds every document that phistack can hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from features.documents import Corpus, Document, Span, patient_of
from features.errors import CorpusError
from features.formats.files import read_text
from features.formats.layout import Format, Reading
from features.formats.spans import checked_id, checked_span

__all__ = ["JSONL"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def read(paths: Sequence[Path]) -> Reading:
    """Read the notes of each file, in order; :raises CorpusError: for malformed JSON or spans that do not fit."""
    return Reading(tuple(document for path in paths for document in _read_file(path)))


def _read_file(path: Path) -> Iterator[Document]:
    for number, line in enumerate(read_text(path).removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            yield _read_note(f"{path}, line {number}", line)


def _read_note(place: str, line: str) -> Document:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise CorpusError(f"{place}, is not valid JSON; each line must be one JSON object") from None
    if not isinstance(record, dict):
        raise CorpusError(f"{place}, is not a JSON object with id, text and spans")
    document_id, text = checked_id(place, _string(place, record, "id")), _string(place, record, "text")
    group = _string(place, record, "group") if record.get("group") is not None else patient_of(document_id)
    spans = record.get("spans", [])
    if not isinstance(spans, list) or not all(isinstance(span, dict) for span in spans):
        raise CorpusError(f"{place}: spans must be a list of objects with start, end and label")
    return Document(document_id, text, tuple(_read_span(place, document_id, text, span) for span in spans), group)


def _read_span(place: str, document_id: str, text: str, span: dict[str, Any]) -> Span:
    start, end = span.get("start"), span.get("end")
    # In Python a boolean is an integer; in JSON it is not.
    if type(start) is not int or type(end) is not int:
        raise CorpusError(f"{place}: the start and end of a span must be whole numbers")
    return checked_span(document_id, text, start, end, _string(place, span, "label"))


def _string(place: str, record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise CorpusError(f"{place}: {key} is missing or is not a string")
    return value


def render(corpus: Corpus) -> Iterator[tuple[str, bytes]]:
    """All notes as one file.

    :raises CorpusError: if a text holds a high surrogate before a low one, which JSON takes for one character.
    """
    yield "corpus.jsonl", "".join(_line(document) + "\n" for document in corpus.documents).encode("utf-8")


def _line(document: Document) -> str:
    pair = _SURROGATE_PAIR.search(document.text)
    if pair:
        raise CorpusError(
            f"document {document.id}: the characters from {pair.start()} are a surrogate pair, which JSON joins"
        )
    record = {
        "id": document.id,
        "group": document.group,
        "text": document.text,
        "spans": [{"start": span.start, "end": span.end, "label": span.label} for span in document.spans],
    }
    line = json.dumps(record, ensure_ascii=False)
    return json.dumps(record) if _SURROGATE.search(line) else line


JSONL = Format("jsonl", "a file with one JSON object a line", (".jsonl", ".ndjson"), read, render, single_file=True)
