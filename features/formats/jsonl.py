"""JSON lines, also gzipped: one note a line.

    {"id": "110-01", "group": "110", "text": "Dr. Ames", "spans": [{"start": 4, "end": 8, "label": "DOCTOR"}]}

`group`, the patient, may be left out, and so may `spans`. This format holds every document that phistack can hold. A
line that is written again keeps spelling, order and blanks of everything else; what is removed goes with its comma.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.formats.columns import record_of
from phistack.features.formats.format import Format, Pieces
from phistack.features.formats.tables import TOO_LONG, LineTable, Record, read_table, sha256
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_DECODER = json.JSONDecoder()
_LINES_BETWEEN_CALLS = 10_000


class _Member(NamedTuple):
    """How a value is written: what is before it, the value, what is after it."""

    before: str
    spelled: str
    after: str


class _Object(NamedTuple):
    """A line with one JSON object: what is before its members, the members by name, what is after them."""

    before: str
    members: dict[str, _Member]
    after: str


class JsonTable(LineTable):
    """JSON lines."""

    has_header = False

    def header(self) -> list[str]:
        """None: each line has names of its own."""
        return []

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        """Every name of all objects, as they are first met; lines that cannot be read have none."""
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
        """A record for each line."""
        for number, line in enumerate(self.file.lines(), 1):
            yield _record(f"line {number}", line)

    def rewritten(self, record: Record, new: Mapping[str, str]) -> str:
        """The line with other values; one that was written in ASCII stays so, and an unchanged one as it is."""
        line: _Object = record.raw
        pieces = [line.before]
        for name, (before, spelled, after) in line.members.items():
            if self.is_removed(name):
                continue
            if name in new and new[name] != record.texts[name]:
                # JSON can express a lone surrogate only by an escape.
                in_ascii = spelled.isascii() or _SURROGATE.search(new[name])
                spelled = json.dumps(new[name], ensure_ascii=bool(in_ascii))
            pieces += ("," if len(pieces) > 1 else "", before, spelled, after)
        return "".join((*pieces, line.after))


def _record(place: str, line: bytes | None) -> Record:
    if line is None:
        return Record(place, problem=TOO_LONG)
    digest = sha256(line)
    try:
        text = line.decode("utf-8")
        if not text.removeprefix("\ufeff").strip(" \t\r\n"):
            return Record(place, raw=_Object(text, {}, ""), digest=digest)
        values, written = _parsed(text)
    except UnicodeDecodeError as error:
        return Record(place, digest=digest, problem=f"not UTF-8 at byte {error.start} of the line")
    except (ValueError, RecursionError) as error:
        is_json = not isinstance(error, json.JSONDecodeError | RecursionError)
        return Record(place, digest=digest, problem=str(error) if is_json else "not valid JSON")
    texts = {
        name: value if isinstance(value, str) else written.members[name].spelled
        for name, value in values.items()
        if value is not None
    }
    return Record(place, values, texts, written, digest)


def _parsed(line: str) -> tuple[dict[str, Any], _Object]:
    """The values of a line by name, and how they are written.

    :raises ValueError: if it is not one JSON object with each name once.
    """
    at = _expect(line, _skip(line, 1 if line.startswith("\ufeff") else 0), "{")
    before, values, members = line[:at], dict[str, Any](), dict[str, _Member]()
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
            raise ValueError("an object with one name twice")
        at = _skip(line, end)
        values[name] = value
        members[name] = _Member(line[begin:start], line[start:end], line[end:at])
    if _skip(line, at + 1) != len(line):
        raise ValueError("more than one JSON value")
    return values, _Object(before if members else line[:at], members, line[at:])


def _skip(line: str, at: int) -> int:
    match = _BLANK.match(line, at)
    return match.end() if match else at


def _expect(line: str, at: int, mark: str) -> int:
    if line[at : at + 1] != mark:
        raise ValueError("not a JSON object" if mark == "{" else "not valid JSON")
    return at + 1


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """A line for each note.

    :raises CorpusError: if a text holds a high surrogate before a low one, which JSON takes for one character.
    """
    for document in documents:
        pair = _SURROGATE_PAIR.search(document.text)
        if pair:
            raise CorpusError(
                f"document {shown_id(document.id)}: the characters from {pair.start()} are a surrogate pair, which "
                "JSON joins"
            )
        record = record_of(document)
        line = json.dumps(record, ensure_ascii=False)
        yield "corpus.jsonl", (json.dumps(record) if _SURROGATE.search(line) else line).encode("utf-8") + b"\n"


JSONL = Format(
    "jsonl", "a file with one JSON object a line", (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
    partial(read_table, JsonTable), render, single_file=True, table=JsonTable,
)  # fmt: skip
