"""The rows of a roster, one at a time: CSV (commas, semicolons or tabs), JSON lines or Parquet, by the file's ending.

    with rows_of(Path("roster.csv")) as rows:
        for place, row in rows: ...              "row 1", {"patient": "110", "name": ["Ann Hill"]}

A cell may hold several values: a list, or a text with semicolons, vertical bars or line ends between them. Whatever is
wrong with the file is a `ValueError` or an `OSError` with a reason that quotes nothing of it but names of columns.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

from phistack.features.formats.parquet_table import parquet_module
from phistack.features.regular_files import open_regular
from phistack.features.sheets import spreadsheet_advice
from phistack.features.shown import shown_label

Cells = dict[str, list[str]]
"""The values of each column of a row that holds any."""
_Rows = Iterator[tuple[str, Cells]]

_SEVERAL = re.compile(r"[;|\r\n]+")
_AT_ONCE = 4096


@contextmanager
def rows_of(path: Path) -> Iterator[_Rows]:
    """The place and the values of each row.

    :raises OSError, ValueError: if the file cannot be read, saying why; also while the rows are read.
    """
    if advice := spreadsheet_advice(path):
        raise ValueError(f"it {advice}")
    with open_regular(path) as file:
        if path.suffix == ".parquet":
            yield _parquet(file)
            return
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield _of_text(_json_lines(text) if path.suffix in (".jsonl", ".ndjson") else _csv(text))


def _of_text(rows: _Rows) -> _Rows:
    try:
        yield from rows
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8; save it as UTF-8") from None
    except csv.Error:
        raise ValueError(
            "it is not CSV with a header and one record a row; give it as CSV, .jsonl or .parquet"
        ) from None


def _csv(text: io.TextIOWrapper) -> _Rows:
    head = text.readline()
    text.seek(0)
    # Quotes that nobody closes would make names of a patient part of another column.
    reader = csv.reader(text, delimiter=max(",;\t", key=head.count), strict=True)
    columns = [name.strip() for name in next(reader, [])]
    _refuse_doubles(columns)
    for number, cells in enumerate(filter(None, reader), 1):
        if len(cells) != len(columns):
            raise ValueError(f"its row {number} has {len(cells)} fields, and its header {len(columns)}")
        yield f"row {number}", _row(zip(columns, cells, strict=True))


def _json_lines(text: Iterable[str]) -> _Rows:
    for number, line in enumerate(text, 1):
        if line.strip():
            try:
                record = json.loads(line, object_pairs_hook=_object)
            except RecursionError:
                raise ValueError(f"its line {number} is nested too deep") from None
            except json.JSONDecodeError:
                raise ValueError(f"its line {number} is not valid JSON; each line must be one JSON object") from None
            if not isinstance(record, dict):
                raise ValueError(f"its line {number} is not a JSON object")
            yield f"line {number}", _row(record.items())


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_doubles([name for name, _ in pairs])
    return dict(pairs)


def _parquet(file: Any) -> _Rows:
    parquet = parquet_module()
    import pyarrow

    try:
        table = parquet.ParquetFile(file, pre_buffer=False)
        _refuse_doubles(table.schema_arrow.names)
        number = 0
        for batch in table.iter_batches(_AT_ONCE, use_threads=False):
            for record in batch.to_pylist():
                number += 1
                yield f"row {number}", _row(record.items())
    except (pyarrow.ArrowException, UnicodeDecodeError):
        raise ValueError("it is not a Parquet file, or is damaged; get a complete copy of it") from None


def _refuse_doubles(columns: Sequence[str]) -> None:
    doubles = [name for name in columns if columns.count(name) > 1]
    if doubles:
        raise ValueError(f"it has two columns {shown_label(doubles[0])}; give each a name of its own")


def _row(cells: Iterable[tuple[str, Any]]) -> Cells:
    found = {name: list(_values(name, cell)) for name, cell in cells}
    return {name: values for name, values in found.items() if values}


def _values(column: str, cell: Any) -> Iterator[str]:
    if isinstance(cell, str) and not _SEVERAL.search(cell):
        if value := cell.strip():
            yield value
    elif isinstance(cell, list):
        for value in cell:
            yield from _values(column, value)
    elif cell is not None:
        yield from separated(_text(column, cell))


def separated(cell: str) -> list[str]:
    """The values of a cell."""
    return [value.strip() for value in _SEVERAL.split(cell) if value.strip()]


def _text(column: str, value: object) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | date) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"its column {shown_label(column)} holds something that is neither text nor number nor date")
