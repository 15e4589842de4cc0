"""JSON lines, also gzipped: of each line only what the columns' treatments ask for changes, byte for byte.

    {"id": "110-01", "text": "Dr. Ames", "ward": 7.0}   ->   {"id": "110-01", "text": "Dr. [DOCTOR]", "ward": 7.0}

Spelling, order and blanks of everything else stay; what is removed goes with its comma. A line of which all texts are
`null`, and an empty line, have nothing to de-identify. A line with a name that no other treatment is known for is held
back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from phistack.ensemble.batch.formats.columns import REMOVE, Columns
from phistack.ensemble.batch.formats.line_format import LineFormat
from phistack.ensemble.batch.formats.rows import NO_PATIENT, Frame, Part, Row, patient_name, printable_id, sha256
from phistack.ensemble.tools.progress import meter

_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()
_LINES_BETWEEN_SHOWS = 10_000


@dataclass(frozen=True, slots=True)
class _Member:
    """A name and its value, and how they stand in the line: what is before the value, the value, what is after."""

    value: Any = field(repr=False)
    before: str = field(repr=False)
    spelled: str = field(repr=False)
    after: str = field(repr=False)

    @property
    def text(self) -> str | None:
        """The value as a text: a string, or a number as it is spelled; None for what is neither."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return self.value if isinstance(self.value, str) else self.spelled if is_number else None


@dataclass(frozen=True, slots=True)
class _Object:
    """A line with one JSON object: what is before its members, the members by name, what is after them."""

    before: str = field(repr=False)
    members: dict[str, _Member] = field(repr=False)
    after: str = field(repr=False)

    def value(self, name: str | None) -> Any:
        """The value of a name, None if it is not there."""
        member = None if name is None else self.members.get(name)
        return None if member is None else member.value


class JsonLines(LineFormat):
    """JSON lines."""

    name = "jsonl"

    def find_columns(self, labels: Collection[str] = ()) -> Columns:
        """What becomes of each name of all objects; :raises CorpusError: if that is not clear."""
        names = self._names()
        self.columns = self.columns.found(self.path, names, labels) if names else self.columns
        return self.columns

    def _names(self) -> list[str]:
        """Every name of all objects, as they are first seen; lines that cannot be read have none."""
        found: dict[str, None] = {}
        number = 0
        with meter("looking at the columns") as show:
            for number, line in enumerate(self.lines(), 1):
                with suppress(ValueError, RecursionError):
                    record = json.loads((line or b"").decode("utf-8").removeprefix("\ufeff"))
                    found.update(dict.fromkeys(record) if isinstance(record, dict) else ())
                if number % _LINES_BETWEEN_SHOWS == 0:
                    show(number, self.fraction(), 0)
            show(number, 1.0, 0)
        return list(found)

    def rows(self) -> Iterator[Row]:
        """A row for each line."""
        for number, line in enumerate(self.lines(), 1):
            yield self._row(f"line {number}", line)

    def _row(self, place: str, line: bytes | None) -> Row:
        if line is None:
            return Row(place, None, b"", place, place, problem="longer than the limit")
        digest = sha256(line)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            return Row(place, None, digest, place, place, problem=f"not UTF-8 at byte {error.start} of the line")
        if not text.removeprefix("\ufeff").strip(" \t\r\n"):
            return Row(place, Frame((text,)), digest)
        try:
            record = _parsed(text)
        except (ValueError, RecursionError):
            return Row(
                place, None, digest, place, place, problem="not one valid JSON object, or an object with one name twice"
            )
        return self._note(place, digest, record)

    def _note(self, place: str, digest: bytes, record: _Object) -> Row:
        id = printable_id(record.value(self.columns.id))
        named = id or place
        patient = patient_name(record.value(self.columns.patient), named)
        problem = "" if id else f"{self.columns.id} is missing or not a valid id"
        if not patient or (self.columns.is_patient_named and self.columns.patient not in record.members):
            problem = problem or NO_PATIENT.format(self.columns.patient)
        problem = problem or self._problem(record)
        if problem:
            return Row(place, None, digest, named, patient, problem=problem)
        parts = tuple(
            Part(member.text, label)
            for name, member in record.members.items()
            if (label := self.columns.label(name)) is not None and member.text is not None
        )
        there = ((name, record.members[name]) for name in self.columns.kept if name in record.members)
        kept = tuple((name, member.text or member.spelled) for name, member in there if member.value is not None)
        return Row(place, Frame.of(self._pieces(record)), digest, named, patient, parts, kept)

    def _problem(self, record: _Object) -> str:
        """Why the values cannot be treated as is asked; empty if they can."""
        texts = [record.value(name) for name in self.columns.texts]
        if not record.members.keys() & {*self.columns.texts} or not all(isinstance(text, str | None) for text in texts):
            return f"{' or '.join(self.columns.texts)} is missing or is not a string"
        if self.columns.unnamed([*record.members]):
            return "it has a column that no option names"
        for name, member in record.members.items():
            if self.columns.label(name) is not None and member.value is not None and member.text is None:
                return f"{name} is neither a string nor a number"
        return ""

    def _pieces(self, record: _Object) -> Iterator[tuple[str, bool]]:
        """What is written of an object, each with whether it is a gap."""
        yield record.before, False
        between = ""
        for name, member in record.members.items():
            if self.columns.treatment(name) != REMOVE:
                yield between + member.before, False
                yield member.spelled, self.columns.label(name) is not None and member.text is not None
                yield member.after, False
                between = ","
        yield record.after, False

    def spelled(self, spelled: str, old: str, new: str) -> str:
        """The new value; one that was written in ASCII stays so."""
        if new == old:
            return spelled
        # JSON can say a lone surrogate only by an escape.
        return json.dumps(new, ensure_ascii=spelled.isascii() or bool(_SURROGATE.search(new)))


def _parsed(line: str) -> _Object:
    """The object of a line; :raises ValueError: if that is not one JSON object with distinct names."""
    at = _expect(line, _skip(line, 1 if line.startswith("\ufeff") else 0), "{")
    before, members = line[:at], dict[str, _Member]()
    begin = at
    at = _skip(line, at)
    while line[at : at + 1] != "}":
        if members:
            begin = _expect(line, at, ",")
            at = _skip(line, begin)
        _expect(line, at, '"')
        name, at = _DECODER.raw_decode(line, at)
        start = _skip(line, _expect(line, _skip(line, at), ":"))
        value, end = _DECODER.raw_decode(line, start)
        if name in members:
            raise ValueError
        at = _skip(line, end)
        members[name] = _Member(value, line[begin:start], line[start:end], line[end:at])
    if _skip(line, at + 1) != len(line):
        raise ValueError
    return _Object(before if members else line[:at], members, line[at:])


def _skip(line: str, at: int) -> int:
    match = _BLANK.match(line, at)
    return match.end() if match else at


def _expect(line: str, at: int, mark: str) -> int:
    if line[at : at + 1] != mark:
        raise ValueError
    return at + 1
