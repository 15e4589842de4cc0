"""CSV with a header, also gzipped: of each record only the field of the text column changes, byte for byte.

    id,text,ward                       id,text,ward
    110-01,"Seen by Dr. Ames",7   ->   110-01,"Seen by Dr. [DOCTOR]",7

The grammar is that of RFC 4180, with a comma, semicolon, tab or bar between fields; the header tells which. It is kept
to strictly: a record with a stray quote or the wrong number of fields is not guessed at, as text could be taken for
another column and pass untouched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ensemble.batch.line_reader import LineReader, compressed, write_chunks
from ensemble.batch.rows import FormSettings, Frame, Part, Row, check_columns, patient_name, printable_id, sha256
from features.errors import CorpusError

__all__ = ["CsvRows"]

_DELIMITERS = (",", ";", "\t", "|")
_FIELD = {d: re.compile(rf'"((?:[^"]|"")*)"|([^"{re.escape(d)}\r\n]*)') for d in _DELIMITERS}
_END = re.compile(r"\r?\n?")


class CsvRows:
    """CSV.

    :param path: of the input.
    :param target: of the output; gzipped if its name ends in `.gz`.
    :param settings: the names of the columns and the encoding.
    :raises SettingsError: if the encoding is unknown or is no superset of ASCII.
    """

    name = "csv"

    def __init__(self, path: Path, target: Path, settings: FormSettings) -> None:
        self.path = path
        self.target = target
        self.settings = settings
        self.reader = LineReader(path, max_bytes=settings.max_bytes)
        self._delimiter = ","
        self._header: list[str] = []

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return self.reader.fraction()

    def rows(self) -> Iterator[Row]:
        """The header, then a row for each record; :raises CorpusError: if the header lacks a column."""
        records = self._records()
        first = next(records, (1, b""))[1]
        self._read_header(first)
        yield Row("line 1", Frame((self._decoded(first),)), sha256(first or b""))
        for line, record in records:
            yield self._row(f"line {line}", record)

    def _records(self) -> Iterator[tuple[int, bytes | None]]:
        """The number of its first line, and a record with its line end; it ends where quotes are closed."""
        pending: list[bytes] = []
        begin, length, quotes = 0, 0, 0
        for number, line in enumerate(self.reader, 1):
            begin = begin or number
            length += self.settings.max_bytes + 1 if line is None else len(line)
            quotes += (line or b"").count(b'"')
            # The rest of a record that is too long is passed over, and never taken for a record of its own.
            pending = _extended(pending, line) if length <= self.settings.max_bytes else []
            if quotes % 2 == 0:
                yield begin, b"".join(pending) if pending else None
                pending, begin, length, quotes = [], 0, 0, 0
        if begin:
            yield begin, b"".join(pending) if pending else None

    def _read_header(self, record: bytes | None) -> None:
        text = self._decoded(record).removeprefix("\ufeff")
        read = {delimiter: [value for value, _, _ in _fields(text, delimiter) or ()] for delimiter in _DELIMITERS}
        wanted = {self.settings.columns.id, self.settings.columns.text}
        self._delimiter = max(_DELIMITERS, key=lambda delimiter: (wanted <= {*read[delimiter]}, len(read[delimiter])))
        self._header = read[self._delimiter]
        check_columns(self.path, self._header, self.settings.columns)

    def _decoded(self, record: bytes | None) -> str:
        try:
            return (record or b"").decode(self.settings.encoding)
        except UnicodeDecodeError:
            raise CorpusError(f"the first line of {self.path} is not {self.settings.encoding}") from None

    def _row(self, place: str, record: bytes | None) -> Row:
        if record is None:
            return Row(place, b"", b"", place, place, problem="longer than the limit, or a quote is never closed")
        digest = sha256(record)
        try:
            text = record.decode(self.settings.encoding)
        except UnicodeDecodeError as error:
            problem = f"not {self.settings.encoding} at byte {error.start} of the record"
            return Row(place, b"", digest, place, place, problem=problem)
        if not text.strip("\r\n"):
            return Row(place, Frame((text,)), digest)
        fields = _fields(text, self._delimiter)
        if fields is None or len(fields) != len(self._header):
            n_lines = len(text.splitlines())
            problem = f"in {n_lines} lines a quote is out of place, or the number of fields is not the header's"
            return Row(place, b"", digest, place, place, problem=problem)
        return self._note(place, text, digest, fields)

    def _note(self, place: str, record: str, digest: bytes, fields: list[tuple[str, int, int]]) -> Row:
        columns = self.settings.columns
        id = printable_id(fields[self._header.index(columns.id)][0])
        if not id:
            return Row(place, b"", digest, place, place, problem=f"{columns.id} is empty or is no name")
        has_patient = columns.patient in self._header
        patient = fields[self._header.index(columns.patient)][0] if has_patient else None
        text, start, end = fields[self._header.index(columns.text)]
        frame = Frame((record[:start], record[end:]), (record[start:end],))
        return Row(place, frame, digest, id, patient_name(patient, id), (Part(text),))

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """The records, compressed if the output is to be.

        :raises UnicodeEncodeError: if the encoding lacks a character.
        """
        return compressed(b"".join(map(self._record, rows)), self.target)

    def _record(self, row: tuple[Row, Sequence[str]]) -> bytes:
        old, texts = row
        frame: Frame = old.raw
        fields = map(self._field, frame.spelled, old.texts, texts)
        return frame.filled(fields).encode(self.settings.encoding)

    def _field(self, spelled: str, old: str, new: str) -> str:
        if new == old:
            return spelled
        quoted = spelled.startswith('"') or any(mark in new for mark in ('"', "\r", "\n", self._delimiter))
        return '"' + new.replace('"', '""') + '"' if quoted else new

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the records of all chunks."""
        write_chunks(chunks, target)


def _extended(lines: list[bytes], line: bytes | None) -> list[bytes]:
    lines.append(line or b"")
    return lines


def _fields(record: str, delimiter: str) -> list[tuple[str, int, int]] | None:
    """Value, begin and end of each field, or nothing if the record breaks the grammar."""
    fields: list[tuple[str, int, int]] = []
    at = 0
    while True:
        match = _FIELD[delimiter].match(record, at)
        if match is None:
            return None
        value = match[2] if match[1] is None else match[1].replace('""', '"')
        fields.append((value, match.start(), match.end()))
        at = match.end()
        if record[at : at + 1] != delimiter:
            end = _END.match(record, at)
            return fields if end is not None and end.end() == len(record) else None
        at += 1
