"""Parquet: one note a row, the spans as a list of structures.

    id: string, group: string, text: string, spans: list<struct<start: int64, end: int64, label: string>>

Files of any schema that have the columns of id and text are read; spans may also be strings that hold a JSON list. A
table that is written again has the schema of the input without what is removed, its metadata and its compression; its
row groups hold at most 8,192 rows or 64 MiB. Numbers and dates of a column that is replaced become strings. Needs
pyarrow: `pip install phistack[parquet]`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.extras import need
from phistack.features.files import STANDARD_INPUT, encode_all, encode_text
from phistack.features.formats.columns import SPANS, record_of
from phistack.features.formats.format import Format, Pieces
from phistack.features.formats.note_file import NoteFile
from phistack.features.formats.tables import Record, Rewritten, Table, read_table, sha256
from phistack.features.labels import LabelSet

if TYPE_CHECKING:
    import pyarrow

_ROWS_AT_ONCE = 256
_ROWS_OF_A_GROUP = 8192
_BYTES_OF_A_GROUP = 64 * 2**20
_ONLY_ZEROS = r"(?: 00:00:00)?(?:\.0+)?Z?$"
_PANDAS = b"pandas"


def parquet_module() -> Any:
    """The Parquet part of pyarrow; :raises MissingResourceError: if it is not installed."""
    need("pyarrow", "parquet", "Parquet")
    from pyarrow import parquet

    return parquet


class ParquetTable(Table):
    """Parquet.

    :raises MissingResourceError: if pyarrow is not installed.
    :raises CorpusError: if the file is not Parquet.
    """

    def __init__(self, file: NoteFile, wanted: Collection[str] = ()) -> None:
        super().__init__(file, wanted)
        parquet = parquet_module()
        import pyarrow

        file.check()
        source = io.BytesIO(file.content()) if file.path == STANDARD_INPUT else file.path
        try:
            self._file = parquet.ParquetFile(source, pre_buffer=False, buffer_size=2**20)
            self.schema: pyarrow.Schema = self._file.schema_arrow
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
            raise CorpusError(f"{file.name} is not a Parquet file, or is damaged; get a complete copy of it") from None
        self._replaced: dict[int, str] = {}
        self._is_rewritten = False

    def header(self) -> list[str]:
        """The names of the columns."""
        return list(self._file.schema_arrow.names)

    def rewrites(self, is_removed: Callable[[str], bool], is_replaced: Callable[[str], bool]) -> None:
        """Find the schema of the output; :raises CorpusError: if values that are replaced cannot become strings."""
        import pyarrow

        old = self._file.schema_arrow
        there = (field for field in old if not is_removed(field.name))
        new = pyarrow.schema([self._text_field(f) if is_replaced(f.name) else f for f in there], old.metadata)
        # What pandas noted of the columns is no longer true; without it they are read all the same.
        noted = {key: value for key, value in (old.metadata or {}).items() if key != _PANDAS}
        self.schema = new if new.equals(old) else new.with_metadata(noted)
        self._replaced = {at: name for at, name in enumerate(self.schema.names) if is_replaced(name)}
        self._is_rewritten = True

    def _text_field(self, field: pyarrow.Field) -> pyarrow.Field:
        """A column of text in the place of one of numbers or dates."""
        import pyarrow

        if _holds_strings(field.type):
            return field
        if field.name in self.wanted:
            strings = [field.name for field in self._file.schema_arrow if _holds_strings(field.type)]
            others = f"name one that does with --text-column: {', '.join(strings) or 'there is none'}"
            raise CorpusError(f"the column {field.name} of {self.file.name} does not hold strings; {others}")
        if not _can_be_text(field.type):
            raise CorpusError(
                f"the column {field.name} of {self.file.name} holds {field.type}, which cannot be de-identified; give "
                f"--column {field.name}=remove or {field.name}=keep"
            )
        return field.with_type(pyarrow.string())

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """Each row; those of a row group that cannot be read have a problem."""
        import pyarrow

        names = self.header()
        read = None if self._is_rewritten or wanted is None else [name for name in wanted if name in names]
        number, total = 0, max(1, self._file.metadata.num_rows)
        for group in range(self._file.num_row_groups):
            end = number + self._file.metadata.row_group(group).num_rows
            try:
                for batch in self._file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=read):
                    self.file.fraction = number / total
                    digest = sha256(_stream(batch)) if self._is_rewritten else b""
                    yield from self._records(batch, number, digest, wanted)
                    number += batch.num_rows
            except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
                for missing in range(number, end):
                    yield Record(f"row {missing + 1}", problem="the row group cannot be read")
            number = end

    def _records(
        self, batch: pyarrow.RecordBatch, first: int, digest: bytes, wanted: Collection[str] | None
    ) -> Iterator[Record]:
        import pyarrow

        rows = batch.num_rows
        treated = batch.slice(0, 0)
        try:
            values = {
                name: batch.column(name).to_pylist() for name in batch.schema.names if wanted is None or name in wanted
            }
            texts = dict[str, list[str | None]]()
            if self._is_rewritten:
                treated = self._treated(batch)
                texts = {name: _texts(treated.column(name)) for name in self.schema.names}
        except (UnicodeDecodeError, pyarrow.ArrowException):
            if rows == 1:
                yield Record(f"row {first + 1}", digest=digest, problem="not UTF-8")
                return
            for at in range(rows):
                yield from self._records(batch.slice(at, 1), first + at, digest, wanted)
            return
        for at in range(rows):
            shown = {name: text for name, column in texts.items() if (text := column[at]) is not None}
            row = {name: column[at] for name, column in values.items()}
            yield Record(f"row {first + at + 1}", row, shown, treated.slice(at, 1), digest)

    def _treated(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The rows with the columns and types of the output."""
        import pyarrow

        there = (batch.column(name) for name in self.schema.names)
        arrays = [
            array if array.type == field.type else _as_text(array)
            for array, field in zip(there, self.schema, strict=True)
        ]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """The rows as an Arrow stream, which is never packed; :raises UnicodeEncodeError: for a lone surrogate."""
        import pyarrow

        if not rows:
            return b""
        table = pyarrow.Table.from_batches([record.raw for record, _ in rows], schema=self.schema)
        for at, name in self._replaced.items():
            field = self.schema.field(at)
            column = pyarrow.array([new.get(name) for _, new in rows], type=field.type)
            table = table.set_column(at, field, column)
        return _stream(table.combine_chunks())

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write all rows as one Parquet file."""
        import pyarrow
        from pyarrow import parquet

        pending: list[pyarrow.Table] = []
        with parquet.ParquetWriter(target, self.schema, compression=self._compression()) as writer:
            for chunk in chunks:
                if chunk:
                    pending.append(pyarrow.ipc.open_stream(chunk).read_all())
                n_bytes = sum(table.nbytes for table in pending)
                if n_bytes > _BYTES_OF_A_GROUP or sum(map(len, pending)) >= _ROWS_OF_A_GROUP:
                    writer.write_table(pyarrow.concat_tables(pending).combine_chunks())
                    pending = []
            if pending:
                writer.write_table(pyarrow.concat_tables(pending).combine_chunks())

    def _compression(self) -> str:
        metadata = self._file.metadata
        known = metadata.num_row_groups and metadata.num_columns
        compression = str(metadata.row_group(0).column(0).compression) if known else "SNAPPY"
        return "NONE" if compression == "UNCOMPRESSED" else compression


def _texts(array: pyarrow.Array) -> list[str | None]:
    """The values of a column as texts."""
    if _holds_strings(array.type):
        return list(array.to_pylist())
    # Nanoseconds cannot be turned into Python's.
    if _can_be_text(array.type):
        return list(_as_text(array).to_pylist())
    return [str(value) if value.is_valid else None for value in array]


def _as_text(array: pyarrow.Array) -> pyarrow.Array:
    """Numbers and dates as strings; a time of midnight as the date alone."""
    import pyarrow
    from pyarrow import compute

    strings = array.cast(pyarrow.string())
    is_time = pyarrow.types.is_timestamp(array.type)
    return compute.replace_substring_regex(strings, _ONLY_ZEROS, "") if is_time else strings


def _holds_strings(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind)) or (
        bool(types.is_dictionary(kind)) and _holds_strings(kind.value_type)
    )


def _can_be_text(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_date, types.is_timestamp, types.is_null)
    return any(test(kind) for test in tests)


def _stream(table: pyarrow.Table | pyarrow.RecordBatch) -> bytes:
    import pyarrow

    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return sink.getvalue()


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """A row for each note.

    :raises CorpusError: if a text or a name holds a lone surrogate.
    :raises MissingResourceError: if pyarrow is not installed.
    """
    parquet = parquet_module()
    import pyarrow

    span = [("start", pyarrow.int64()), ("end", pyarrow.int64()), ("label", pyarrow.string())]
    names = [("id", pyarrow.string()), ("group", pyarrow.string()), ("text", pyarrow.string())]
    schema = pyarrow.schema([*names, (SPANS, pyarrow.list_(pyarrow.struct(span)))])
    file = io.BytesIO()
    with parquet.ParquetWriter(file, schema) as writer:
        for notes in _groups(documents):
            writer.write_table(pyarrow.Table.from_pylist(notes, schema=schema))
            yield "corpus.parquet", file.getvalue()
            # The writer counts what it has written by itself.
            file.seek(0)
            file.truncate()
    yield "corpus.parquet", file.getvalue()


def _groups(documents: Iterable[Document]) -> Iterator[list[dict[str, Any]]]:
    """The notes of each row group."""
    group: list[dict[str, Any]] = []
    n_bytes = 0
    for document in documents:
        n_bytes += len(encode_text(document))
        encode_all(document.id + document.group)
        group.append(record_of(document))
        if len(group) == _ROWS_OF_A_GROUP or n_bytes > _BYTES_OF_A_GROUP:
            yield group
            group, n_bytes = [], 0
    if group:
        yield group


PARQUET = Format(
    "parquet", "a table, a note a row, its spans as a list of structures", (".parquet",),
    partial(read_table, ParquetTable), render, single_file=True, table=ParquetTable,
)  # fmt: skip
