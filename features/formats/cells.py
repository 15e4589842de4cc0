"""The rows of a roster, one at a time: JSON lines, Parquet or another table by the file's ending, otherwise CSV.

    with rows_of(Path("roster.csv")) as rows:
        for place, row in rows: ...              "line 2", {"patient": ["110"], "name": ["Ann Hill"]}

A cell may hold several values: a list, or a text with semicolons, vertical bars or line ends between them. No message
quotes anything of the file but names of columns.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

from phistack.features.formats.columns import one_name
from phistack.features.formats.csv_table import CsvTable
from phistack.features.formats.note_file import NoteFile
from phistack.features.formats.recognise import FORMATS, refuse_foreign
from phistack.features.shown import shown_label

Cells = dict[str, list[str]]
"""The values of each column of a row that holds any."""

_SEVERAL = re.compile(r"[;|\r\n]+")


def rows_of(path: Path) -> closing[Generator[tuple[str, Cells]]]:
    """The place and the values of each row.

    :raises CorpusError, ValueError: while the rows are read, if the file is no table, saying why.
    """
    return closing(_rows(path))


def _rows(path: Path) -> Generator[tuple[str, Cells]]:
    refuse_foreign(path)
    kind = next((form.table for form in FORMATS.values() if form.table and form.is_of(path)), CsvTable)
    table = kind(NoteFile(path, name="it"))
    names = [name.strip() for name in table.names()] if kind.has_header else []
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"it has two columns {shown_label(doubled)}; rename one")
    for record in table.records():
        if record.problem:
            raise ValueError(f"its {record.place} cannot be read: {record.problem}")
        if record.values is not None:
            found = {name.strip(): _values(name, cell) for name, cell in record.values.items()}
            yield record.place, {name: values for name, values in found.items() if values}


def _values(column: str, cell: Any) -> list[str]:
    if isinstance(cell, list):
        return [value for part in cell for value in _values(column, part)]
    day = cell.date() if isinstance(cell, datetime) else cell
    text = day.isoformat() if isinstance(day, date) else one_name(cell)
    if not text and cell not in (None, ""):
        raise ValueError(f"its column {shown_label(column)} holds something that is neither text nor number nor date")
    return separated(text)


def separated(cell: str) -> list[str]:
    """The values of a cell."""
    values = _SEVERAL.split(cell) if _SEVERAL.search(cell) else (cell,)
    return [value.strip() for value in values if value.strip()]
