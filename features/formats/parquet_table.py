"""Parquet: one note a row, the spans as a list of structures.

    id: string, group: string, text: string, spans: list<struct<start: int64, end: int64, label: string>>

Read are files of any schema that have the columns of id and text; spans may also be strings that hold a JSON list.
Needs pyarrow: `pip install '.[parquet]'`.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phistack.features.documents import Corpus
from phistack.features.errors import CorpusError
from phistack.features.extras import need
from phistack.features.files import encode_all, encode_text, read_bytes
from phistack.features.formats.columns import SPANS, USUAL_NAMES, ColumnNames, read_record, record_of, spans_in
from phistack.features.formats.format import Format, ReadNotes

if TYPE_CHECKING:
    import pyarrow


def read(paths: Sequence[Path], columns: ColumnNames = USUAL_NAMES) -> ReadNotes:
    """Read the notes of each file, in order.

    :raises CorpusError: if a file is no Parquet file, lacks a column, or has spans that do not fit.
    :raises MissingResourceError: if pyarrow is not installed.
    """
    documents = []
    names: list[str] = []
    warnings: Counter[str] = Counter()
    for path in paths:
        header, rows = _table(path, columns)
        documents += [read_record(place, row, columns) for place, row in _records(path, rows)]
        names += header
        warnings += columns.without_patient(header, len(rows))
    return ReadNotes(tuple(documents), warnings=warnings + columns.left_out(names))


def _table(path: Path, columns: ColumnNames) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of all columns, and the rows of those that are wanted."""
    parquet = parquet_module()
    import pyarrow

    content = io.BytesIO(read_bytes(path))
    try:
        file = parquet.ParquetFile(content)
        header: list[str] = file.schema_arrow.names
        columns.check(str(path), header)
        wanted = [name for name in (columns.id, columns.patient, columns.text, SPANS) if name in header]
        return header, file.read(columns=wanted, use_threads=False).to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
        raise CorpusError(f"{path} is not a Parquet file, or is damaged; get a complete copy of it") from None


def _records(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, row in enumerate(rows, 1):
        place = f"{path}, row {number}"
        yield place, row | {SPANS: spans_in(place, row.get(SPANS))}


def parquet_module() -> Any:
    """The Parquet part of pyarrow; :raises MissingResourceError: if it is not installed."""
    need("pyarrow", "parquet", "Parquet")
    from pyarrow import parquet

    return parquet


def render(corpus: Corpus) -> Iterator[tuple[str, bytes]]:
    """All notes as one file.

    :raises CorpusError: if a text or a name holds a lone surrogate.
    :raises MissingResourceError: if pyarrow is not installed.
    """
    parquet = parquet_module()
    import pyarrow

    for document in corpus.documents:
        encode_text(document)
        encode_all(document.id + document.group)
    table = pyarrow.Table.from_pylist([record_of(document) for document in corpus.documents], schema=_schema())
    content = io.BytesIO()
    parquet.write_table(table, content)
    yield "corpus.parquet", content.getvalue()


def _schema() -> pyarrow.Schema:
    import pyarrow

    span = [("start", pyarrow.int64()), ("end", pyarrow.int64()), ("label", pyarrow.string())]
    spans = pyarrow.list_(pyarrow.struct(span))
    return pyarrow.schema(
        [("id", pyarrow.string()), ("group", pyarrow.string()), ("text", pyarrow.string()), (SPANS, spans)]
    )


PARQUET = Format(
    "parquet",
    "a table, a note a row, its spans as a list of structures",
    (".parquet",),
    read,
    render,
    read_columns=read,
    single_file=True,
)
