r"""HL7 v2: messages of segments, in files of one or many, with or without the envelope of a batch or of MLLP.

    MSH|^~\&|LAB|H|||20210305||ORU^R01|17|P|2.5
    PID|1||M-4711^^^H^MR||Hill^Ann||19500403|F
    OBX|1|TX|11506-3^Note^LN||Seen by Dr. Ames
    OBX|2|TX|11506-3^Note^LN||on 03/05/2021.

`hl7apy` knows the data type of each field of each version, and `hl7.toml` has the rules. The lines of a report, in
segments that follow each other, are one note; if a replacement spans a line end, the last of them become empty. An
envelope (FHS, BHS, BTS, FTS) is left out. Segments that the standard does not define, such as ZPD, are emptied.
"""

from __future__ import annotations

import operator
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import groupby
from typing import Any, NamedTuple

from phistack.features.errors import need
from phistack.features.formats.fields import Field, FieldTable, is_years, of_day, record_format
from phistack.features.formats.format import NoteFile
from phistack.features.registry import packaged_table

_TABLE = packaged_table("phistack.features.formats", "hl7.toml")
_HEAD = re.compile(r"MSH([^\w\s])([^\w\s]{4})")
_END = re.compile(r"\r\n|\r|\n")
_SEGMENT = re.compile(rb"[^\r\n]*[\r\n]+|[^\r\n]+")
_NULL = '""'
"""What the standard writes for a deleted value."""
_NAMES = "FSRET"
_DAYS = ("DT", "DTM", "TS")
_ENVELOPE = (b"FHS", b"BHS", b"BTS", b"FTS")
_CODE, _NUMBER = re.compile(r"[\w.:+/<>=-]{1,20}"), re.compile(r"[<>=]{0,2}[+-]?\d{1,7}(\.\d*)?")
"""A value is kept only if it looks like this; a longer number may identify somebody, or be a date."""
_ESCAPE = re.compile(r"\\(?:X((?:[0-9A-Fa-f]{2})+)|([FSTRE])|(\.[A-Za-z]+[+-]?\d*)|[HN])\\")
_LINE, _REPEATED = "\u2028", "\u2029"
"""What `\\.br\\` and a repetition sign become in a note."""


class _Types(NamedTuple):
    """Fields and components of one version of the standard."""

    fields: Mapping[str, Any]
    components: Mapping[str, Any]

    @staticmethod
    def of(table: Mapping[str, Any], name: str) -> str:
        return str(table[name][2]) if name in table else ""


@cache
def _types(version: str) -> _Types:
    need("hl7apy", "hl7", "HL7")
    import hl7apy

    if version not in hl7apy.SUPPORTED_LIBRARIES:
        raise ValueError("a message of no version of HL7 from 2.1 to 2.8.2")
    fields, types = (import_module(f"{hl7apy.SUPPORTED_LIBRARIES[version]}.{part}") for part in ("fields", "datatypes"))
    return _Types(fields.FIELDS, types.DATATYPES)


@dataclass
class _Message:
    """A message.

    :param segments: name and fields of each; a field is a list of repetitions, of components, of sub-components.
    :param signs: of fields, components, repetitions, escapes and sub-components.
    """

    segments: list[list[Any]]
    signs: str
    end: str

    def value(self, segment: str, field: int) -> str:
        """The first component of the first such field; empty if there is none."""
        found = next((of for of in self.segments if of[0] == segment and len(of) > field), None)
        return str(found[field][0][0][0]) if found else ""

    def plain(self, raw: str) -> str:
        """A value without escapes."""
        named = dict(zip(_NAMES, self.signs, strict=True))
        return _ESCAPE.sub(
            lambda m: _of_hexadecimal(m[1]) if m[1] else named.get(m[2], _LINE if m[3] else ""),
            raw.replace(self.signs[3], "\\"),
        )

    def escaped(self, text: str) -> str:
        sign = self.signs[3]
        named = {sign: name for name, sign in zip(_NAMES, self.signs, strict=True)} | {_LINE: ".br"}
        return "".join(f"{sign}{named[c]}{sign}" if c in named else c for c in text)


def _of_hexadecimal(digits: str) -> str:
    """The text of an escape; a line end in it is a line end of the note."""
    try:
        text = bytes.fromhex(digits).decode("utf-8")
    except UnicodeDecodeError:
        text = bytes.fromhex(digits).decode("latin-1")
    return _END.sub(_LINE, text)


class Hl7Table(FieldTable):
    """Messages."""

    declared = _TABLE

    def split(self, file: NoteFile) -> Iterator[tuple[str, bytes | None]]:
        """Each message: what begins with MSH."""
        message, begin = list[bytes](), 1
        for number, line in enumerate(file.lines(), 1):
            if line is None:
                yield f"line {number}", None
            for segment in _SEGMENT.findall((line or b"").removeprefix(BOM_UTF8).translate(None, b"\x0b\x1c")):
                if segment.startswith((b"MSH", *_ENVELOPE)):
                    if message:
                        yield f"line {begin}", b"".join(message)
                    message, begin = [], number
                if segment.strip() and not segment.startswith(_ENVELOPE):
                    message.append(segment)
        if message:
            yield f"line {begin}", b"".join(message)

    def parsed(self, text: str) -> _Message:
        """The message; :raises ValueError: if its separators or a segment are malformed."""
        head, end = _HEAD.match(text), _END.search(text)
        if not head or len(set(head[1] + head[2])) < 5:
            raise ValueError("a message that does not begin with MSH and five different separators")
        signs = head[1] + head[2]
        message = _Message([], signs, end[0] if end else "\r")
        for line in filter(None, _END.split(text)):
            name, *fields = line.split(signs[0])
            if not re.fullmatch("[A-Z][A-Z0-9]{2}", name):
                raise ValueError("a line of the message is not a segment: its name or its separator is wrong")
            segment: list[Any] = [name]
            if name == "MSH":
                segment += [[[[sign]]] for sign in (signs[0], fields.pop(0))]
            for field in fields:
                is_note = len(segment) == _note_at(segment)
                in_parts = (one.split(signs[1]) for one in field.split(signs[2]))
                segment.append([[[field]]] if is_note else [[c.split(signs[4]) for c in parts] for parts in in_parts])
            message.segments.append(segment)
        _types(message.value("MSH", 12))
        return message

    def named(self, message: _Message) -> tuple[str, str]:
        return message.value("MSH", 10), message.value("PID", 3) or message.value("PID", 2)

    def fields(self, message: _Message) -> Iterator[Field]:
        """The values of each segment, and each note, which may continue in the next segments."""
        types = _types(message.value("MSH", 12))
        for (at, _), run in groupby([*message.segments], key=_note_of):
            segments = [*run]
            if at:
                yield _note(message, segments, at)
            for segment in segments:
                for field in range(3 if segment[0] == "MSH" else 1, len(segment)):
                    if field != at:
                        yield from self._values(message, segment, field, types)

    def _values(self, message: _Message, segment: list[Any], at: int, types: _Types) -> Iterator[Field]:
        field = f"{segment[0]}-{at}"
        kind = types.of(types.fields, field.replace("-", "_"))
        if kind == "varies" and segment[0] == "OBX":
            is_age = len(segment) > 6 and is_years(segment[6][0][0][0])
            kind = "age" if is_age else segment[2][0][0][0]
        for parts in segment[at]:
            for n, part in enumerate(parts, 1):
                outer = types.of(types.components, f"{kind}_{n}") or kind * (n == 1)
                for s in range(len(part)):
                    inner = types.of(types.components, f"{outer}_{s + 1}") or outer * (s == 0)
                    own = f"{field}.{n}", field, f"{kind}.{n}", kind, f"{outer}.{s + 1}", outer, inner, kind and "ST"
                    names = self.checked(own, part[s], _NUMBER if inner == "NM" else _CODE)
                    yield _leaf(message, part, s, names, is_day=inner in _DAYS)

    def spelled(self, message: _Message) -> str:
        component, repetition, inner = (message.signs[at] for at in (1, 2, 4))
        lines = []
        for segment in message.segments:
            fields = (
                repetition.join(component.join(inner.join(part) for part in parts) for parts in field)
                for field in segment[2 if segment[0] == "MSH" else 1 :]
            )
            lines.append(message.signs[0].join([segment[0], *fields]) + message.end)
        return "".join(lines)


def _note_at(segment: list[Any]) -> int:
    """The field of a segment that has a line of a note, if present; 0 for no line."""
    if segment[0] == "OBX" and len(segment) > 2:
        return 5 if segment[2][0][0][0] in _TABLE["text"] else 0
    return 3 if segment[0] == "NTE" else 0


def _note_of(segment: list[Any]) -> tuple[int, Any]:
    """What segments with lines of one note have in common."""
    at = _note_at(segment)
    return (at, (segment[0], *segment[3:4] * (at == 5))) if 0 < at < len(segment) else (0, id(segment))


def _note(message: _Message, segments: list[list[Any]], at: int) -> Field:
    def put(new: str) -> None:
        lines = new.split("\n")
        if len(lines) > len(segments):
            raise ValueError("a replacement has more lines than the segments")
        lines += [""] * (len(segments) - len(lines))
        for segment, line in zip(segments, lines, strict=True):
            segment[at] = [[[message.signs[2].join(map(message.escaped, line.split(_REPEATED)))]]]

    raw = (segment[at][0][0][0].replace(message.signs[2], _REPEATED) for segment in segments)
    return Field(("note",), "\n".join(map(message.plain, raw)).rstrip("\n"), put, partial(put, ""))


def _leaf(message: _Message, part: list[str], at: int, names: tuple[str, ...], *, is_day: bool) -> Field:
    raw = part[at].replace(_NULL, "")
    text, spelled = of_day(raw) if is_day else (message.plain(raw), str)

    def put(new: str) -> None:
        part[at] = message.escaped(spelled(new)) or _NULL

    return Field(names, text if part[at] else None, put, partial(operator.setitem, part, at, ""))


HL7 = record_format("hl7", "messages of HL7 v2", (".hl7", ".hl7.gz"), Hl7Table, is_utf8=False)
