"""JSON lines, also gzipped: one note a line.

    {"id": "110-01", "group": "110", "text": "Dr. Ames", "spans": [{"start": 4, "end": 8, "label": "DOCTOR"}]}

`group`, the patient, may be left out, and so may `spans`. This format holds every document that phistack can hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from phistack.features.documents import Corpus, Document
from phistack.features.errors import CorpusError
from phistack.features.files import read_text
from phistack.features.formats.columns import USUAL_NAMES, ColumnNames, read_record, record_of
from phistack.features.formats.format import Format, ReadNotes
from phistack.features.shown import shown_id

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def read(paths: Sequence[Path], columns: ColumnNames = USUAL_NAMES) -> ReadNotes:
    """Read the notes of each file, in order; :raises CorpusError: for malformed JSON or spans that do not fit."""
    names: dict[str, None] = {}
    documents = []
    for path in paths:
        for place, record in _records(path):
            names.update(dict.fromkeys(record))
            columns.check_record(place, [*record])
            documents.append(read_record(place, record, columns))
    if documents:
        columns.check(str(paths[0].parent if len(paths) > 1 else paths[0]), [*names])
    return ReadNotes(tuple(documents), warnings=columns.left_out(names))


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(read_text(path).removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            place = f"{path}, line {number}"
            yield place, _record(place, line)


def _record(place: str, line: str) -> dict[str, Any]:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise CorpusError(f"{place}, is not valid JSON; each line must be one JSON object") from None
    if not isinstance(record, dict):
        raise CorpusError(f"{place}, is not a JSON object with id, text and spans")
    return record


def render(corpus: Corpus) -> Iterator[tuple[str, bytes]]:
    """All notes as one file.

    :raises CorpusError: if a text holds a high surrogate before a low one, which JSON takes for one character.
    """
    yield "corpus.jsonl", "".join(_line(document) + "\n" for document in corpus.documents).encode("utf-8")


def _line(document: Document) -> str:
    pair = _SURROGATE_PAIR.search(document.text)
    if pair:
        raise CorpusError(
            f"document {shown_id(document.id)}: the characters from {pair.start()} are a surrogate "
            "pair, which JSON joins"
        )
    record = record_of(document)
    line = json.dumps(record, ensure_ascii=False)
    return json.dumps(record) if _SURROGATE.search(line) else line


JSONL = Format(
    "jsonl",
    "a file with one JSON object a line",
    (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
    read,
    render,
    read_columns=read,
    single_file=True,
)
