"""CSV with a header, also gzipped: one note a record.

    id,group,text,spans
    110-01,110,Dr. Ames,"[{""start"": 4, ""end"": 8, ""label"": ""DOCTOR""}]"

The grammar is that of RFC 4180, with a comma, semicolon, tab or bar between fields; the header shows which. The spans
are a JSON list; their column may be left out, and so may `group`, the patient.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from phistack.features.documents import Corpus
from phistack.features.errors import CorpusError
from phistack.features.files import encode_all, encode_text, read_text
from phistack.features.formats.columns import SPANS, USUAL_NAMES, ColumnNames, read_record, record_of, spans_in
from phistack.features.formats.format import Format, ReadNotes

_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_FIELD = 2**31 - 1
_LONGEST_HEADER = 2**20


def read(paths: Sequence[Path], columns: ColumnNames = USUAL_NAMES) -> ReadNotes:
    """Read the notes of each file, in order.

    :raises CorpusError: for a missing column, a record that breaks the grammar, or spans that do not fit.
    """
    documents = []
    names: list[str] = []
    warnings: Counter[str] = Counter()
    for path in paths:
        text = read_text(path)
        delimiter, header = header_of(text, columns)
        columns.check(str(path), header)
        records = [*_records(path, text, delimiter, header)]
        documents += [read_record(place, record, columns) for place, record in records]
        names += header
        warnings += columns.without_patient(header, len(records))
    return ReadNotes(tuple(documents), warnings=warnings + columns.left_out(names))


def header_of(text: str, columns: ColumnNames) -> tuple[str, list[str]]:
    """The delimiter and the names of the columns: the delimiter by which those that are wanted, or most, are found."""
    found = {delimiter: _first(text[:_LONGEST_HEADER], delimiter) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda delimiter: (columns.are_in(found[delimiter]), len(found[delimiter])))
    return best, found[best]


def _first(text: str, delimiter: str) -> list[str]:
    try:
        return next(_reader(text, delimiter), [])
    except csv.Error:
        return []


def _reader(text: str, delimiter: str) -> Any:
    csv.field_size_limit(_LONGEST_FIELD)
    return csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, strict=True)


def _records(path: Path, text: str, delimiter: str, header: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each record after the header, and the line where it begins."""
    reader = _reader(text, delimiter)
    line = 1
    try:
        for number, fields in enumerate(reader):
            place = f"{path}, line {line}"
            line = reader.line_num + 1
            if number and fields:
                yield place, _record(place, header, fields)
    except csv.Error:
        raise CorpusError(f"{path}, line {line}: a quote is misplaced or never closed; correct the record") from None


def _record(place: str, header: list[str], fields: list[str]) -> dict[str, Any]:
    if len(fields) != len(header):
        raise CorpusError(
            f"{place}: the record has {len(fields)} fields and the header {len(header)}; a field that holds a "
            "delimiter, a quote or a line end must be in quotes"
        )
    record: dict[str, Any] = dict(zip(header, fields, strict=True))
    if SPANS in record:
        record[SPANS] = spans_in(place, record[SPANS])
    return record


def render(corpus: Corpus) -> Iterator[tuple[str, bytes]]:
    """All notes as one file; :raises CorpusError: if a text holds a lone surrogate."""
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, ("id", "group", "text", SPANS))
    writer.writeheader()
    for document in corpus.documents:
        encode_text(document)
        record = record_of(document)
        writer.writerow({**record, SPANS: json.dumps(record[SPANS])})
    yield "corpus.csv", encode_all(table.getvalue())


CSV = Format(
    "csv",
    "a table with a header, a note a row, its spans as JSON",
    (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    read,
    render,
    read_columns=read,
    single_file=True,
)
