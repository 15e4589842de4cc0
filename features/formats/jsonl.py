"""JSON lines, also gzipped: one note per line.

    {"id": "110-01", "group": "110", "text": "Dr. Ames", "spans": [{"start": 4, "end": 8, "label": "DOCTOR"}]}

`group`, the patient, may be left out, and so may `spans`. This format holds every document that phistack can hold. A
line that is written again keeps spelling, order and blanks of everything else; a removed member goes with its comma.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.formats.format import Format, LineTable, Parsed, Pieces, Record, read_table
from phistack.features.formats.records import record_of
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_DECODER = json.JSONDecoder()
_LINES_BETWEEN_CALLS = 10_000

_Object = tuple[str, dict[str, tuple[str, str, str]], str]
"""How a line is written: what is before the members of its object, each with what is before and after, and the rest."""


class JsonTable(LineTable):
    """JSON lines."""

    has_header = False

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        """Every name in all objects, in the order found; lines that cannot be read have none."""
        found: dict[str, None] = {}
        number = 0
        for number, line in enumerate(self.file.lines(), 1):
            with suppress(ValueError, RecursionError):
                record = json.loads((line or b"").decode("utf-8").removeprefix("\ufeff"))
                found.update(dict.fromkeys(record) if isinstance(record, dict) else ())
            if number % _LINES_BETWEEN_CALLS == 0:
                looked(number)
        looked(number)
        return list(found)

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        return (self.record(f"line {number}", line) for number, line in enumerate(self.file.lines(), 1))

    def parsed(self, text: str) -> Parsed:
        """The object of a line; a blank line is not a row."""
        if not text.removeprefix("\ufeff").strip(" \t\r\n"):
            return None, {}, (text, {}, "")
        try:
            values, written = _parsed(text)
        except (json.JSONDecodeError, RecursionError):
            raise ValueError("not valid JSON") from None
        spelled = {name: value if isinstance(value, str) else written[1][name][1] for name, value in values.items()}
        return values, {name: text for name, text in spelled.items() if values[name] is not None}, written

    def rewritten(self, raw: _Object, old: Mapping[str, str], new: Mapping[str, str]) -> str:
        """The line; a value that was written in ASCII stays so."""
        pieces = [raw[0]]
        for name, (before, spelled, after) in raw[1].items():
            if self.is_removed(name):
                continue
            if name in new and new[name] != old[name]:
                # JSON can express a lone surrogate only by an escape.
                in_ascii = spelled.isascii() or _SURROGATE.search(new[name])
                spelled = json.dumps(new[name], ensure_ascii=bool(in_ascii))
            pieces += ("," if len(pieces) > 1 else "", before, spelled, after)
        return "".join((*pieces, raw[2]))


def _parsed(line: str) -> tuple[dict[str, Any], _Object]:
    """The values of a line by name, and how they are written.

    :raises ValueError: if it is not one JSON object with each name once.
    """
    at = _expect(line, _skip(line, 1 if line.startswith("\ufeff") else 0), "{")
    before, values, members = line[:at], dict[str, Any](), dict[str, tuple[str, str, str]]()
    begin = at
    at = _skip(line, at)
    while line[at : at + 1] != "}":
        if members:
            begin = _expect(line, at, ",")
            at = _skip(line, begin)
        _expect(line, at, '"')
        name, at = _DECODER.raw_decode(line, at)
        start = _skip(line, _expect(line, _skip(line, at), ":"))
        values[name], end = _DECODER.raw_decode(line, start)
        if name in members:
            raise ValueError("an object with one name twice")
        at = _skip(line, end)
        members[name] = line[begin:start], line[start:end], line[end:at]
    if _skip(line, at + 1) != len(line):
        raise ValueError("more than one JSON value")
    return values, (before if members else line[:at], members, line[at:])


def _skip(line: str, at: int) -> int:
    match = _BLANK.match(line, at)
    return match.end() if match else at


def _expect(line: str, at: int, mark: str) -> int:
    if line[at : at + 1] != mark:
        raise ValueError("not a JSON object" if mark == "{" else "not valid JSON")
    return at + 1


def json_of(document: Document, record: Mapping[str, Any]) -> bytes:
    """A note's line of JSON.

    :raises CorpusError: if the text holds a high surrogate before a low one, which JSON reads as one character.
    """
    pair = _SURROGATE_PAIR.search(document.text)
    if pair:
        place = f"document {shown_id(document.id)}: the characters from {pair.start()}"
        raise CorpusError(f"{place} are a surrogate pair, which JSON joins")
    line = json.dumps(record, ensure_ascii=False)
    return (json.dumps(record) if _SURROGATE.search(line) else line).encode("utf-8")


def render(record: Callable[[Document], Mapping[str, Any]], documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """A line for each note.

    :param record: from a note to the object of its line.
    :raises CorpusError: as `json_of` does.
    """
    for document in documents:
        yield "corpus.jsonl", json_of(document, record(document)) + b"\n"


JSONL = Format(
    "jsonl", "a file with one JSON object a line", (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
    partial(read_table, JsonTable), partial(render, record_of), single_file=True, is_utf8=True, table=JsonTable,
)  # fmt: skip
