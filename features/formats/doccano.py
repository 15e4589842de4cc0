"""JSON lines of doccano, from a project of sequence labelling: one note per line.

    {"id": "110-01", "group": "110", "text": "Dr. Ames", "label": [[4, 8, "DOCTOR"]]}
    {"id": 7, "text": "Dr. Ames", "entities": [{"id": 3, "label": "DOCTOR", "start_offset": 4, "end_offset": 8}]}

A project with relations exports the second form. Offsets are code points, unless the project counts grapheme clusters
as one character. doccano keeps other members of a line, such as `id` and `group`, and exports them again.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from phistack.features.documents import Document
from phistack.features.formats.format import Format, Parsed, read_table
from phistack.features.formats.jsonl import JsonTable, render
from phistack.features.formats.records import PATIENT_COLUMN, SPANS

_NAMES = ("label", "labels", "entities")
_BEGUN = re.compile(rf'"(?:{"|".join(_NAMES)})"\s*:\s*\[\s*(?:\]|\[|\{{)')


def is_doccano(head: str) -> bool:
    """Whether JSON lines that begin so have spans as doccano writes them."""
    first = head.partition("\n")[0]
    return f'"{SPANS}"' not in first and _BEGUN.search(first) is not None


class DoccanoTable(JsonTable):
    """JSON lines of doccano, read as if they were ours."""

    def parsed(self, text: str) -> Parsed:
        """The object of a line, its spans in the column of spans; other span columns and empty lists are dropped."""
        values, texts, raw = super().parsed(text)
        if values is None:
            return values, texts, raw
        lists = [values[name] for name in _NAMES if name in values] if self.file.how.annotated else []
        if not all(isinstance(spans, list) for spans in lists):
            raise ValueError(f"{' or '.join(_NAMES)} is not a list of spans")
        kept = {name: value for name, value in values.items() if name not in _NAMES and value != []}
        return {**kept, SPANS: [_span(written) for spans in lists for written in spans]}, texts, raw


def _span(written: Any) -> dict[str, Any]:
    match written:
        case [start, end, label] | {"start_offset": start, "end_offset": end, "label": label}:
            return {"start": start, "end": end, "label": label}
    raise ValueError("a span is neither [start, end, label] nor an object with start_offset, end_offset and label")


def _record(document: Document) -> dict[str, Any]:
    spans = [[span.start, span.end, span.label] for span in document.spans]
    return {"id": document.id, PATIENT_COLUMN: document.group, "text": document.text, "label": spans}


DOCCANO = Format(
    "doccano", "a file with one JSON object of doccano a line", (".jsonl", ".jsonl.gz"),
    partial(read_table, DoccanoTable), partial(render, _record), single_file=True, is_utf8=True,
)  # fmt: skip
