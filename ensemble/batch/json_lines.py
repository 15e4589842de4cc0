"""JSON lines, also gzipped: of each line only the value of the text column changes, byte for byte.

    {"id": "110-01", "text": "Dr. Ames", "ward": 7.0}   ->   {"id": "110-01", "text": "Dr. [DOCTOR]", "ward": 7.0}

Spelling, order and blanks of everything else stay. A line whose text is `null`, and an empty line, pass as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from ensemble.batch.line_reader import LineReader, compressed, write_chunks
from ensemble.batch.rows import NO_PATIENT, FormSettings, Frame, Part, Row, patient_name, printable_id, sha256

__all__ = ["JsonLines"]

_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()
_Values = dict[str, tuple[Any, int, int]]


class JsonLines:
    """JSON lines.

    :param path: of the input.
    :param target: of the output; gzipped if its name ends in `.gz`.
    :param settings: the names of the columns.
    """

    name = "jsonl"

    def __init__(self, path: Path, target: Path, settings: FormSettings) -> None:
        self.target = target
        self.columns = settings.columns
        self.reader = LineReader(path, max_bytes=settings.max_bytes)

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return self.reader.fraction()

    def rows(self) -> Iterator[Row]:
        """A row for each line."""
        for number, line in enumerate(self.reader, 1):
            yield self._row(f"line {number}", line)

    def _row(self, place: str, line: bytes | None) -> Row:
        if line is None:
            return Row(place, b"", b"", place, place, problem="longer than the limit")
        digest = sha256(line)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            return Row(place, b"", digest, place, place, problem=f"not UTF-8 at byte {error.start} of the line")
        if not text.removeprefix("\ufeff").strip(" \t\r\n"):
            return Row(place, Frame((text,)), digest)
        try:
            values = _members(text)
        except (ValueError, RecursionError):
            return Row(place, b"", digest, place, place, problem="not one valid JSON object, or a name occurs twice")
        return self._note(place, text, digest, values)

    def _note(self, place: str, line: str, digest: bytes, values: _Values) -> Row:
        id = printable_id(values.get(self.columns.id, (None, 0, 0))[0])
        named = id or place
        patient = patient_name(values.get(self.columns.patient, (None, 0, 0))[0], named)
        problem = "" if id else f"{self.columns.id} is missing or is no name"
        if not patient or (self.columns.is_patient_named and self.columns.patient not in values):
            problem = problem or NO_PATIENT.format(self.columns.patient)
        text, start, end = values.get(self.columns.text, ("", 0, 0))
        if not end or not isinstance(text, str | None):
            problem = problem or f"{self.columns.text} is missing or is not a string"
        if problem:
            return Row(place, b"", digest, named, patient, problem=problem)
        if text is None:
            return Row(place, Frame((line,)), digest, named, patient)
        return Row(place, Frame((line[:start], line[end:]), (line[start:end],)), digest, named, patient, (Part(text),))

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """The lines, compressed if the output is to be."""
        return compressed(b"".join(map(_line, rows)), self.target)

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the lines of all chunks."""
        write_chunks(chunks, target)


def _line(row: tuple[Row, Sequence[str]]) -> bytes:
    old, texts = row
    frame: Frame = old.raw
    return frame.filled(map(_value, frame.spelled, old.texts, texts)).encode()


def _value(spelled: str, old: str, new: str) -> str:
    if new == old:
        return spelled
    # JSON can say a lone surrogate only by an escape; and a value that was written in ASCII stays so.
    return json.dumps(new, ensure_ascii=spelled.isascii() or bool(_SURROGATE.search(new)))


def _members(line: str) -> _Values:
    """Name -> value and where it begins and ends in the line; :raises ValueError: if that is not one JSON object."""
    at = _skip(line, 1 if line.startswith("\ufeff") else 0)
    members: _Values = {}
    if line[at : at + 1] != "{":
        raise ValueError
    at = _skip(line, at + 1)
    while line[at : at + 1] != "}":
        if members:
            at = _skip(line, _expect(line, at, ","))
        name, at = scanstring(line, _expect(line, at, '"'), True)
        start = _skip(line, _expect(line, _skip(line, at), ":"))
        value, end = _DECODER.raw_decode(line, start)
        if name in members:
            raise ValueError
        members[name] = value, start, end
        at = _skip(line, end)
    if _skip(line, at + 1) != len(line):
        raise ValueError
    return members


def _skip(line: str, at: int) -> int:
    match = _BLANK.match(line, at)
    return match.end() if match else at


def _expect(line: str, at: int, mark: str) -> int:
    if line[at : at + 1] != mark:
        raise ValueError
    return at + 1
