"""Parquet: one note per row, the spans as a list of structures.

    id: string, group: string, text: string, spans: list<struct<start: int64, end: int64, label: string>>

Files of any schema that have the columns of id and text are read; spans may also be strings that hold a JSON list. A
rewritten table has the input's schema without what is removed, its metadata and its compression; its row groups hold at
most 8,192 rows or 64 MiB. Numbers and dates of a replaced column become strings. Needs pyarrow:
`pip install '.[parquet]'`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from phistack.features.documents import Document
from phistack.features.errors import CorpusError, need
from phistack.features.files import STANDARD_INPUT
from phistack.features.formats.format import Format, NoteFile, Pieces, Record, Rewritten, Table, read_table, sha256
from phistack.features.formats.records import SPANS, encode_all, encode_text, record_of
from phistack.features.labels import LabelSet

_ROWS_AT_ONCE = 256
_ROWS_OF_A_GROUP = 8192
_BYTES_OF_A_GROUP = 64 * 2**20
_ONLY_ZEROS = r"(?: 00:00:00)?(?:\.0+)?Z?$"


def arrow() -> Any:
    """pyarrow with its part for Parquet; :raises MissingResourceError: if it is not installed."""
    need("pyarrow", "parquet", "Parquet")
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    return pyarrow


class ParquetTable(Table):
    """Parquet; :raises MissingResourceError, CorpusError: if pyarrow is not installed, or the file is not Parquet."""

    def __init__(self, file: NoteFile, wanted: Collection[str] = ()) -> None:
        super().__init__(file, wanted)
        self._arrow = arrow()
        self._unreadable = self._arrow.ArrowException, OSError, UnicodeDecodeError
        file.head()
        source = io.BytesIO(file.content()) if file.path == STANDARD_INPUT else file.path
        try:
            self._file = self._arrow.parquet.ParquetFile(source, pre_buffer=False, buffer_size=2**20)
            self._schema = self._file.schema_arrow
        except self._unreadable:
            raise CorpusError(f"{file.name} is not a Parquet file, or is damaged; get a complete copy of it") from None
        self._replaced: dict[int, str] = {}
        self._is_rewritten = False

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        return list(self._file.schema_arrow.names)

    def rewrites(self, is_removed: Callable[[str], bool], is_replaced: Callable[[str], bool]) -> None:
        """Find the schema of the output; :raises CorpusError: if values that are replaced cannot become strings."""
        old = self._file.schema_arrow
        there = (field for field in old if not is_removed(field.name))
        new = self._arrow.schema([self._as_text(f) if is_replaced(f.name) else f for f in there], old.metadata)
        # What pandas noted about the columns is no longer true, and is not needed to read them.
        noted = {key: value for key, value in (old.metadata or {}).items() if key != b"pandas"}
        self._schema = new if new.equals(old) else new.with_metadata(noted)
        self._replaced = {at: name for at, name in enumerate(self._schema.names) if is_replaced(name)}
        self._is_rewritten = True

    def _as_text(self, field: Any) -> Any:
        """A text column in place of a column of numbers or dates."""
        if _holds_strings(field.type):
            return field
        column = f"the column {field.name} of {self.file.name}"
        if field.name in self.wanted:
            strings = [other.name for other in self._file.schema_arrow if _holds_strings(other.type)]
            others = f"name one that does with --text-column: {', '.join(strings) or 'there is none'}"
            raise CorpusError(f"{column} does not hold strings; {others}")
        if not _can_be_text(field.type):
            ways = f"give --column {field.name}=remove or {field.name}=keep"
            raise CorpusError(f"{column} holds {field.type}, which cannot be de-identified; {ways}")
        return field.with_type(self._arrow.string())

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """Each row; those of a row group that cannot be read have a problem."""
        read = None if self._is_rewritten or wanted is None else [name for name in wanted if name in self.names()]
        number, total = 0, max(1, self._file.metadata.num_rows)
        for group in range(self._file.num_row_groups):
            end = number + self._file.metadata.row_group(group).num_rows
            try:
                for batch in self._file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=read):
                    self.file.fraction = number / total
                    digest = sha256(self._stream(batch)) if self._is_rewritten else b""
                    yield from self._records(batch, number, digest, wanted)
                    number += batch.num_rows
            except self._unreadable:
                for missing in range(number, end):
                    yield Record(f"row {missing + 1}", problem="the row group cannot be read")
            number = end

    def _records(self, batch: Any, first: int, digest: bytes, wanted: Collection[str] | None) -> Iterator[Record]:
        names = [name for name in batch.schema.names if wanted is None or name in wanted]
        try:
            values = {name: batch.column(name).to_pylist() for name in names}
            treated = self._treated(batch) if self._is_rewritten else batch.select([])
            texts = {name: _texts(treated.column(name)) for name in treated.schema.names}
        except self._unreadable:
            if batch.num_rows == 1:
                yield Record(f"row {first + 1}", digest=digest, problem="not UTF-8")
                return
            for at in range(batch.num_rows):
                yield from self._records(batch.slice(at, 1), first + at, digest, wanted)
            return
        for at in range(batch.num_rows):
            shown = {name: text for name, column in texts.items() if (text := column[at]) is not None}
            row = {name: column[at] for name, column in values.items()}
            yield Record(f"row {first + at + 1}", row, shown, treated.slice(at, 1), digest)

    def _treated(self, batch: Any) -> Any:
        pairs = ((batch.column(field.name), field.type) for field in self._schema)
        arrays = [array if array.type == kind else _in_words(array) for array, kind in pairs]
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _stream(self, rows: Any) -> bytes:
        sink = io.BytesIO()
        with self._arrow.ipc.new_stream(sink, rows.schema) as writer:
            writer.write(rows)
        return sink.getvalue()

    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """The rows as an Arrow stream, which is never packed."""
        if not rows:
            return b""
        table = self._arrow.Table.from_batches([record.raw for record, _ in rows], schema=self._schema)
        for at, name in self._replaced.items():
            field = self._schema.field(at)
            table = table.set_column(at, field, self._arrow.array([new.get(name) for _, new in rows], field.type))
        return self._stream(table.combine_chunks())

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        metadata = self._file.metadata
        known = metadata.num_row_groups and metadata.num_columns
        compression = str(metadata.row_group(0).column(0).compression) if known else "SNAPPY"
        compression = "NONE" if compression == "UNCOMPRESSED" else compression
        pending: list[Any] = []
        with self._arrow.parquet.ParquetWriter(target, self._schema, compression=compression) as writer:
            for chunk in filter(None, chunks):
                pending.append(self._arrow.ipc.open_stream(chunk).read_all())
                n_bytes = sum(table.nbytes for table in pending)
                if n_bytes > _BYTES_OF_A_GROUP or sum(map(len, pending)) >= _ROWS_OF_A_GROUP:
                    writer.write_table(self._arrow.concat_tables(pending).combine_chunks())
                    pending = []
            if pending:
                writer.write_table(self._arrow.concat_tables(pending).combine_chunks())


def _texts(array: Any) -> list[str | None]:
    if _holds_strings(array.type):
        return list(array.to_pylist())
    # Nanoseconds cannot be turned into Python's.
    if _can_be_text(array.type):
        return list(_in_words(array).to_pylist())
    return [str(value) if value.is_valid else None for value in array]


def _in_words(array: Any) -> Any:
    """Numbers and dates as strings; a time of midnight as the date alone."""
    import pyarrow

    strings = array.cast(pyarrow.string())
    is_time = pyarrow.types.is_timestamp(array.type)
    return pyarrow.compute.replace_substring_regex(strings, _ONLY_ZEROS, "") if is_time else strings


def _holds_strings(kind: Any) -> bool:
    from pyarrow import types

    of = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(of) or types.is_large_string(of))


def _can_be_text(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_date, types.is_timestamp, types.is_null)
    return any(test(kind) for test in tests)


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """A row for each note.

    :raises CorpusError: if a text or a name holds a lone surrogate.
    :raises MissingResourceError: if pyarrow is not installed.
    """
    pyarrow = arrow()
    text, number = pyarrow.string(), pyarrow.int64()
    spans = pyarrow.list_(pyarrow.struct([("start", number), ("end", number), ("label", text)]))
    schema = pyarrow.schema([("id", text), ("group", text), ("text", text), (SPANS, spans)])
    file, left = io.BytesIO(), iter(documents)
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        while rows := [_row(document) for document in islice(left, _ROWS_OF_A_GROUP)]:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            yield "corpus.parquet", file.getvalue()
            # The writer counts what it has written by itself.
            file.seek(0)
            file.truncate()
    yield "corpus.parquet", file.getvalue()


def _row(document: Document) -> dict[str, Any]:
    encode_text(document)
    encode_all(document.id + document.group)
    return record_of(document)


PARQUET = Format(
    "parquet", "a table, a note a row, its spans as a list of structures", (".parquet",),
    partial(read_table, ParquetTable), render, single_file=True, is_utf8=True, table=ParquetTable,
)  # fmt: skip
