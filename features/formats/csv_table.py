"""CSV with a header, also gzipped: one note per record.

    id,group,text,spans
    110-01,110,Dr. Ames,"[{""start"": 4, ""end"": 8, ""label"": ""DOCTOR""}]"

The grammar is that of RFC 4180, with a comma, semicolon, tab or bar between fields; the header shows which. The spans
are a JSON list; their column may be left out, and so may `group`, the patient. A record with a misplaced quote or the
wrong number of fields is refused: a guess could take text for another column, and it would pass untouched.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.formats.format import Format, LineTable, NoteFile, Parsed, Pieces, Record, read_table, sha256
from phistack.features.formats.records import SPANS, encode_all, encode_text, record_of
from phistack.features.labels import LabelSet

_DELIMITERS = (",", ";", "\t", "|")
# Quotes are matched one by one and all else in stretches, as a step takes some hundred bytes of memory.
_FIELD = {d: re.compile(rf'"([^"]*(?:""[^"]*)*)"|([^"{re.escape(d)}\r\n]*)') for d in _DELIMITERS}
_LINE_ENDS = ("", "\n", "\r\n", "\r")


class Fields(NamedTuple):
    """The fields of a record: their values, how they are written, and the line end."""

    values: list[str]
    spelled: list[str]
    end: str


class CsvTable(LineTable):
    """CSV."""

    too_long = "longer than the limit, or a quote is never closed"

    def __init__(self, file: NoteFile, wanted: Collection[str] = ()) -> None:
        super().__init__(file, wanted)
        self.encoding = file.how.encoding
        self._delimiter = ","
        self._header: list[str] = []

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        """The fields of the first record; :raises CorpusError: if it is in another encoding."""
        if not self._header:
            self._read_header(next(self._records(), (1, b""))[1] or b"")
        return self._header

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        records = self._records()
        first = next(records, (1, b""))[1] or b""
        yield Record("line 1", raw=self._read_header(first), digest=sha256(first))
        yield from (self.record(f"line {line}", record) for line, record in records)

    def _records(self) -> Iterator[tuple[int, bytes | None]]:
        """Each record with its line end, and the number of its first line; a line end in quotes does not end it."""
        pending: list[bytes] = []
        begin, length, quotes = 1, 0, 0
        for number, line in enumerate(self.file.lines(), 1):
            length += self.file.how.longest + 1 if line is None else len(line)
            quotes += (line or b"").count(b'"')
            # The rest of a record that is too long is skipped, never taken for a record of its own.
            pending = [*pending, line or b""] if length <= self.file.how.longest else []
            if quotes % 2 == 0:
                yield begin, b"".join(pending) if pending else None
                pending, begin, length, quotes = [], number + 1, 0, 0
        if length:
            yield begin, b"".join(pending) if pending else None

    def _read_header(self, record: bytes) -> tuple[str, Fields]:
        """Learn the delimiter and the names from the first record; :returns: its byte order mark and its fields."""
        try:
            text = record.decode(self.encoding)
        except UnicodeDecodeError as error:
            where = f"line 1: not {self.encoding} at byte {error.start} of the record"
            raise CorpusError(f"{self.file.name}, {where}; convert it to UTF-8") from None
        plain = text.removeprefix("\ufeff")
        read = {delimiter: parsed(plain, delimiter) or Fields([], [], "") for delimiter in _DELIMITERS}
        fitness = {d: ({*self.wanted} <= {*fields.values}, len(fields.values)) for d, fields in read.items()}
        self._delimiter = max(_DELIMITERS, key=lambda delimiter: fitness[delimiter])
        header = read[self._delimiter]
        self._header = header.values if any(header.values) else []
        return text[: len(text) - len(plain)], header

    def parsed(self, text: str) -> Parsed:
        """The fields of a record by name; a blank line is not a row."""
        if not text.strip("\r\n"):
            return None, {}, (text, Fields([], [], ""))
        fields = parsed(text, self._delimiter)
        if fields is None:
            raise ValueError("a quote is misplaced or never closed")
        if len(fields.values) != len(self._header):
            raise ValueError(f"the record has {len(fields.values)} fields and the header {len(self._header)}")
        values = dict(zip(self._header, fields.values, strict=True))
        return values, values, ("", fields)

    def rewritten(self, raw: tuple[str, Fields], old: Mapping[str, str], new: Mapping[str, str]) -> str:
        """The record; a field that was in quotes stays so."""
        before, (_, spelled, end) = raw
        fields = []
        for name, field in zip(self._header if spelled else (), spelled, strict=True):
            if not self.is_removed(name):
                is_new = name in new and new[name] != old[name]
                fields.append(self._spelled(new[name], in_quotes=field.startswith('"')) if is_new else field)
        return before + self._delimiter.join(fields) + end

    def _spelled(self, new: str, *, in_quotes: bool) -> str:
        needs_quotes = in_quotes or any(mark in new for mark in ('"', "\r", "\n", self._delimiter))
        return '"' + new.replace('"', '""') + '"' if needs_quotes else new


def parsed(record: str, delimiter: str) -> Fields | None:
    """The fields of a record, or nothing if it breaks the grammar."""
    body = record.rstrip("\r\n")
    if not any(mark in body for mark in '"\r\n'):
        fields = body.split(delimiter)
        return Fields(fields, fields, record[len(body) :]) if record[len(body) :] in _LINE_ENDS else None
    values: list[str] = []
    spelled: list[str] = []
    at = 0
    while match := _FIELD[delimiter].match(record, at):
        values.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        spelled.append(match[0])
        at = match.end()
        if record[at : at + 1] != delimiter:
            return Fields(values, spelled, record[at:]) if record[at:] in _LINE_ENDS else None
        at += 1
    return None


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """A header, and a record for each note; :raises CorpusError: if a text holds a lone surrogate."""
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(("id", "group", "text", SPANS))
    for document in documents:
        encode_text(document)
        *names, spans = record_of(document).values()
        writer.writerow((*names, json.dumps(spans)))
        yield "corpus.csv", encode_all(table.getvalue())
        table.seek(0)
        table.truncate()


CSV = Format(
    "csv", "a table with a header, a note a row, its spans as JSON", (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    partial(read_table, CsvTable), render, single_file=True, table=CsvTable,
)  # fmt: skip
