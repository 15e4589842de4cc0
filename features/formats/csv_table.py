"""CSV with a header, also gzipped: one note a record.

    id,group,text,spans
    110-01,110,Dr. Ames,"[{""start"": 4, ""end"": 8, ""label"": ""DOCTOR""}]"

The grammar is that of RFC 4180, with a comma, semicolon, tab or bar between fields; the header shows which. The spans
are a JSON list; their column may be left out, and so may `group`, the patient. A record with a misplaced quote or the
wrong number of fields is not guessed at, as text could be taken for another column and pass untouched.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.files import encode_all, encode_text
from phistack.features.formats.columns import SPANS, record_of
from phistack.features.formats.format import Format, Pieces
from phistack.features.formats.note_file import NoteFile
from phistack.features.formats.tables import TOO_LONG, LineTable, Record, read_table, sha256
from phistack.features.labels import LabelSet

_DELIMITERS = (",", ";", "\t", "|")
# Quotes are stepped over one by one and all else in stretches, as a step takes some hundred bytes of memory.
_FIELD = {d: re.compile(rf'"([^"]*(?:""[^"]*)*)"|([^"{re.escape(d)}\r\n]*)') for d in _DELIMITERS}
_LINE_ENDS = ("", "\n", "\r\n", "\r")


class Fields(NamedTuple):
    """The fields of a record: their values, how they are written, and the line end."""

    values: list[str]
    spelled: list[str]
    end: str


class CsvTable(LineTable):
    """CSV."""

    def __init__(self, file: NoteFile, wanted: Collection[str] = ()) -> None:
        super().__init__(file, wanted)
        self.encoding = file.encoding
        self._delimiter = ","
        self._header: list[str] = []

    def header(self) -> list[str]:
        """The names in the first record; :raises CorpusError: if it is in another encoding."""
        if not self._header:
            self._read_header(next(self._records(), (1, b""))[1] or b"")
        return self._header

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """The header, which is no row, then each record."""
        records = self._records()
        first = next(records, (1, b""))[1] or b""
        mark, header = self._read_header(first)
        yield Record("line 1", raw=(mark, header), digest=sha256(first))
        for line, record in records:
            yield self._record(f"line {line}", record)

    def _records(self) -> Iterator[tuple[int, bytes | None]]:
        """The number of its first line, and a record with its line end; it ends where quotes are closed."""
        pending: list[bytes] = []
        begin, length, quotes = 0, 0, 0
        for number, line in enumerate(self.file.lines(), 1):
            begin = begin or number
            length += self.file.longest + 1 if line is None else len(line)
            quotes += (line or b"").count(b'"')
            # The rest of a record that is too long is passed over, and never taken for a record of its own.
            if length <= self.file.longest:
                pending.append(line or b"")
            else:
                pending.clear()
            if quotes % 2 == 0:
                yield begin, b"".join(pending) if pending else None
                pending, begin, length, quotes = [], 0, 0, 0
        if begin:
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

        def fitness(delimiter: str) -> tuple[bool, int]:
            names = read[delimiter].values
            return {*self.wanted} <= {*names}, len(names)

        self._delimiter = max(_DELIMITERS, key=fitness)
        header = read[self._delimiter]
        self._header = header.values if any(header.values) else []
        return text[: len(text) - len(plain)], header

    def _record(self, place: str, record: bytes | None) -> Record:
        if record is None:
            return Record(place, problem=f"{TOO_LONG}, or a quote is never closed")
        digest = sha256(record)
        try:
            text = record.decode(self.encoding)
        except UnicodeDecodeError as error:
            problem = f"not {self.encoding} at byte {error.start} of the record"
            return Record(place, digest=digest, problem=problem)
        if not text.strip("\r\n"):
            return Record(place, raw=(text, Fields([], [], "")), digest=digest)
        fields = parsed(text, self._delimiter)
        if fields is None:
            return Record(place, digest=digest, problem="a quote is misplaced or never closed")
        if len(fields.values) != len(self._header):
            problem = f"the record has {len(fields.values)} fields and the header {len(self._header)}"
            return Record(place, digest=digest, problem=problem)
        values = dict(zip(self._header, fields.values, strict=True))
        return Record(place, values, values, ("", fields), digest)

    def rewritten(self, record: Record, new: Mapping[str, str]) -> str:
        """The record with other fields; one that was in quotes stays so, and an unchanged one as it is."""
        before: str = record.raw[0]
        written: Fields = record.raw[1]
        fields = []
        for name, field in zip(self._header if written.spelled else (), written.spelled, strict=True):
            if not self.is_removed(name):
                is_new = name in new and new[name] != record.texts[name]
                fields.append(self._spelled(new[name], in_quotes=field.startswith('"')) if is_new else field)
        return before + self._delimiter.join(fields) + written.end

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
    writer = csv.DictWriter(table, ("id", "group", "text", SPANS))
    writer.writeheader()
    for document in documents:
        encode_text(document)
        record = record_of(document)
        writer.writerow({**record, SPANS: json.dumps(record[SPANS])})
        yield "corpus.csv", encode_all(table.getvalue())
        table.seek(0)
        table.truncate()


CSV = Format(
    "csv", "a table with a header, a note a row, its spans as JSON", (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    partial(read_table, CsvTable), render, single_file=True, table=CsvTable,
)  # fmt: skip
