"""CSV with a header, also gzipped: of each record only what the columns' treatments ask for changes, byte for byte.

    id,text,ward                       id,text,ward
    110-01,"Seen by Dr. Ames",7   ->   110-01,"Seen by Dr. [DOCTOR]",7

The grammar is that of RFC 4180, with a comma, semicolon, tab or bar between fields; the header shows which. It is kept
to strictly: a record with a stray quote or the wrong number of fields is not guessed at, as text could be taken for
another column and pass untouched.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from phistack.ensemble.batch.formats.columns import REMOVE, Columns
from phistack.ensemble.batch.formats.line_format import LineFormat
from phistack.ensemble.batch.formats.rows import FormatSettings, Frame, Part, Row, patient_name, printable_id, sha256
from phistack.features.errors import CorpusError

_DELIMITERS = (",", ";", "\t", "|")
# Quotes are stepped over one by one and all else in stretches, as a step takes some hundred bytes of memory.
_FIELD = {d: re.compile(rf'"([^"]*(?:""[^"]*)*)"|([^"{re.escape(d)}\r\n]*)') for d in _DELIMITERS}
_END = re.compile(r"\r?\n?")


@dataclass(frozen=True, slots=True)
class _Record:
    """Value and spelling of each field, and the line end."""

    values: list[str] = field(repr=False)
    spelled: list[str] = field(repr=False)
    end: str = ""


class CsvRows(LineFormat):
    """CSV."""

    name = "csv"

    def __init__(self, path: Path, target: Path, settings: FormatSettings) -> None:
        super().__init__(path, target, settings)
        self.encoding = settings.encoding
        self._delimiter = ","
        self._header: list[str] = []

    def find_columns(self, labels: Collection[str] = ()) -> Columns:
        """What becomes of each field of the header; :raises CorpusError: if that is not clear."""
        self._read_header(next(self._records(), (1, b""))[1])
        self.columns = self.settings.columns.found(self.path, self._header, labels)
        return self.columns

    def rows(self) -> Iterator[Row]:
        """The header, then a row for each record; :raises CorpusError: as `find_columns` does."""
        self.find_columns()
        records = self._records()
        first = next(records, (1, b""))[1]
        yield Row("line 1", self._read_header(first), sha256(first or b""))
        for line, record in records:
            yield self._row(f"line {line}", record)

    def _records(self) -> Iterator[tuple[int, bytes | None]]:
        """The number of its first line, and a record with its line end; it ends where quotes are closed."""
        pending: list[bytes] = []
        begin, length, quotes = 0, 0, 0
        for number, line in enumerate(self.lines(), 1):
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

    def _read_header(self, record: bytes | None) -> Frame:
        """Learn the delimiter and the names; :returns: what is written of the header."""
        try:
            text = (record or b"").decode(self.encoding)
        except UnicodeDecodeError:
            raise CorpusError(f"the first line of {self.path} is not {self.encoding}") from None
        plain = text.removeprefix("\ufeff")
        read = {delimiter: _parsed(plain, delimiter) or _Record([], []) for delimiter in _DELIMITERS}
        wanted = {self.columns.id, *self.columns.texts}
        self._delimiter = max(
            _DELIMITERS, key=lambda delimiter: (wanted <= {*read[delimiter].values}, len(read[delimiter].values))
        )
        header = read[self._delimiter]
        self._header = header.values
        return Frame.of([(text[: len(text) - len(plain)], False), *self._pieces(header, gaps=False)])

    def _row(self, place: str, record: bytes | None) -> Row:
        if record is None:
            return Row(place, None, b"", place, place, problem="longer than the limit, or a quote is never closed")
        digest = sha256(record)
        try:
            text = record.decode(self.encoding)
        except UnicodeDecodeError as error:
            problem = f"not {self.encoding} at byte {error.start} of the record"
            return Row(place, None, digest, place, place, problem=problem)
        if not text.strip("\r\n"):
            return Row(place, Frame((text,)), digest)
        fields = _parsed(text, self._delimiter)
        if fields is None or len(fields.values) != len(self._header):
            n_lines = len(text.splitlines())
            problem = f"in {n_lines} lines a quote is misplaced, or the number of fields differs from the header's"
            return Row(place, None, digest, place, place, problem=problem)
        return self._note(place, digest, fields)

    def _note(self, place: str, digest: bytes, record: _Record) -> Row:
        named = list(zip(self._header, record.values, strict=True))
        values = dict(named)
        id = printable_id(values[self.columns.id])
        if not id:
            return Row(place, None, digest, place, place, problem=f"{self.columns.id} is empty or not a valid id")
        patient = patient_name(None if self.columns.patient is None else values[self.columns.patient], id)
        labelled = ((self.columns.label(name), value) for name, value in named)
        parts = tuple(Part(value, label) for label, value in labelled if label is not None)
        kept = tuple((name, values[name]) for name in self.columns.kept)
        return Row(place, Frame.of(self._pieces(record)), digest, id, patient, parts, kept)

    def _pieces(self, record: _Record, *, gaps: bool = True) -> Iterator[tuple[str, bool]]:
        """What is written of a record, each with whether it is a gap."""
        between = ""
        for name, spelled in zip(self._header, record.spelled, strict=True):
            if self.columns.treatment(name) != REMOVE:
                yield between, False
                yield spelled, gaps and self.columns.label(name) is not None
                between = self._delimiter
        yield record.end, False

    def spelled(self, spelled: str, old: str, new: str) -> str:
        """The new field; one that was in quotes stays so."""
        if new == old:
            return spelled
        quoted = spelled.startswith('"') or any(mark in new for mark in ('"', "\r", "\n", self._delimiter))
        return '"' + new.replace('"', '""') + '"' if quoted else new


def _extended(lines: list[bytes], line: bytes | None) -> list[bytes]:
    lines.append(line or b"")
    return lines


def _parsed(record: str, delimiter: str) -> _Record | None:
    """The fields of a record, or nothing if it breaks the grammar."""
    values: list[str] = []
    spelled: list[str] = []
    at = 0
    while True:
        match = _FIELD[delimiter].match(record, at)
        if match is None:
            return None
        values.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        spelled.append(match[0])
        at = match.end()
        if record[at : at + 1] != delimiter:
            end = _END.match(record, at)
            return _Record(values, spelled, record[at:]) if end is not None and end.end() == len(record) else None
        at += 1
