"""Parquet: the rows of a file in order, with each column treated as the settings ask for.

    rows = list(ParquetRows(path, target, settings).rows())

The output has the schema of the input without what is removed, its metadata and its compression; its row groups hold at
most 8,192 rows or 64 MiB of text. Numbers and dates of a column that is redacted become strings. A row group that
cannot be read goes to quarantine, row by row. Needs pyarrow: `pip install '.[parquet]'`.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phistack.ensemble.batch.formats.columns import REMOVE, Columns
from phistack.ensemble.batch.formats.rows import (
    NO_PATIENT,
    FormatSettings,
    InputFormat,
    Part,
    Row,
    patient_name,
    printable_id,
    sha256,
)
from phistack.features.errors import CorpusError
from phistack.features.formats.parquet_table import parquet_module

if TYPE_CHECKING:
    import pyarrow

_ROWS_READ_AT_ONCE = 256
_ROWS_OF_A_GROUP = 8192
_BYTES_OF_A_GROUP = 64 * 2**20
_ONLY_ZEROS = r"(?: 00:00:00)?(?:\.0+)?Z?$"
_PANDAS = b"pandas"


class ParquetRows(InputFormat):
    """Parquet.

    :raises MissingResourceError: if pyarrow is not installed.
    :raises CorpusError: if the file is not Parquet.
    """

    name = "parquet"

    def __init__(self, path: Path, target: Path, settings: FormatSettings) -> None:
        parquet = parquet_module()
        import pyarrow

        super().__init__(path, target, settings)
        try:
            self._file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**20)
            self.schema: pyarrow.Schema = self._file.schema_arrow
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
            raise CorpusError(f"{path} is not a Parquet file, or is damaged; get a complete copy of it") from None
        self._there: list[int] = []
        self._treated: dict[int, str] = {}
        self._read = 0

    def find_columns(self, labels: Collection[str] = ()) -> Columns:
        """What becomes of each column; :raises CorpusError: if that is not clear, or its values are not text."""
        names = self._file.schema_arrow.names
        self.columns = self.settings.columns.found(self.path, names, labels)
        self._there = [at for at, name in enumerate(names) if self.columns.treatment(name) != REMOVE]
        self.schema = self._schema()
        treated = ((at, self.columns.label(name)) for at, name in enumerate(self.schema.names))
        self._treated = {at: label for at, label in treated if label is not None}
        return self.columns

    def _schema(self) -> pyarrow.Schema:
        """The schema of the output."""
        import pyarrow

        old = self._file.schema_arrow
        new = pyarrow.schema([self._field(old.field(at)) for at in self._there], old.metadata)
        # What pandas noted of the columns is no longer true; without it they are read all the same.
        noted = {key: value for key, value in (old.metadata or {}).items() if key != _PANDAS}
        return new if new.equals(old) else new.with_metadata(noted)

    def _field(self, field: pyarrow.Field) -> pyarrow.Field:
        """A column as it comes out: as it was, but for one of numbers or dates that is redacted."""
        import pyarrow

        if self.columns.label(field.name) is None or _holds_strings(field.type):
            return field
        if field.name in self.columns.texts:
            raise CorpusError(f"the column {field.name} of {self.path} does not hold strings; {self._others()}")
        if not _can_be_text(field.type):
            ways = f"give --column {field.name}=remove or {field.name}=keep"
            raise CorpusError(
                f"the column {field.name} of {self.path} holds {field.type}, which cannot be de-identified; {ways}"
            )
        return field.with_type(pyarrow.string())

    def _others(self) -> str:
        strings = [field.name for field in self._file.schema_arrow if _holds_strings(field.type)]
        return f"name one that does with --text-column: {', '.join(strings) or 'there is none'}"

    def fraction(self) -> float:
        """How many of the rows were read, in [0, 1]."""
        return min(1.0, self._read / max(1, int(self._file.metadata.num_rows)))

    def rows(self) -> Iterator[Row]:
        """A row for each row; :raises CorpusError: as `find_columns` does."""
        import pyarrow

        self.find_columns()
        number = 0
        for group in range(self._file.num_row_groups):
            end = number + self._file.metadata.row_group(group).num_rows
            try:
                for batch in self._file.iter_batches(_ROWS_READ_AT_ONCE, row_groups=[group]):
                    yield from self._batch(batch, number)
                    number += batch.num_rows
            except (pyarrow.ArrowException, OSError):
                for missing in range(number, end):
                    self._read += 1
                    place = f"row {missing + 1}"
                    yield Row(place, None, b"", place, place, problem="the row group cannot be read")
            number = end

    def _batch(self, batch: pyarrow.RecordBatch, first: int) -> Iterator[Row]:
        import pyarrow

        digest = sha256(_stream(batch))
        there = batch.select(self._there)
        arrays = [
            array if array.type == field.type else _as_text(array)
            for array, field in zip(there.columns, self.schema, strict=True)
        ]
        treated = pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)
        for i in range(batch.num_rows):
            self._read += 1
            yield self._row(f"row {first + i + 1}", batch.slice(i, 1), treated.slice(i, 1), digest)

    def _row(self, place: str, read: pyarrow.RecordBatch, row: pyarrow.RecordBatch, digest: bytes) -> Row:
        """A row from what was read, and the same with those columns and types that are in the output."""
        import pyarrow

        columns = self.columns
        try:
            id = printable_id(row.column(columns.id)[0].as_py())
            patient = read.column(columns.patient)[0].as_py() if columns.patient is not None else None
            found = ((row.column(at)[0].as_py(), label) for at, label in self._treated.items())
            parts = tuple(Part(text, label) for text, label in found if text is not None)
            kept = tuple((name, shown) for name in columns.kept if (shown := _shown(row.column(name)[0])))
        except (UnicodeDecodeError, pyarrow.ArrowException):
            return Row(place, None, digest, place, place, problem="not UTF-8")
        if not id:
            return Row(place, None, digest, place, place, problem=f"{columns.id} is missing or not a valid id")
        named = patient_name(patient, id)
        if not named:
            return Row(place, None, digest, id, id, problem=NO_PATIENT.format(columns.patient))
        return Row(place, row, digest, id, named, parts, kept)

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """The rows as an Arrow stream; :raises UnicodeEncodeError: for a lone surrogate."""
        import pyarrow

        if not rows:
            return b""
        table = pyarrow.Table.from_batches([row.raw for row, _ in rows], schema=self.schema)
        texts: dict[int, list[str | None]] = {at: [] for at in self._treated}
        for row, new in rows:
            remaining = iter(new)
            for at, column in texts.items():
                column.append(next(remaining) if row.raw.column(at)[0].is_valid else None)
        for at, column in texts.items():
            table = table.set_column(at, self.schema.field(at), pyarrow.array(column, type=self.schema.field(at).type))
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


def _shown(value: pyarrow.Scalar) -> str:
    """A kept value as a text, empty where there is none."""
    import pyarrow

    if not value.is_valid:
        return ""
    # Nanoseconds cannot be turned into Python's.
    return str(value.cast(pyarrow.string()) if _can_be_text(value.type) else value)


def _holds_strings(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind)) or (
        bool(types.is_dictionary(kind)) and _holds_strings(kind.value_type)
    )


def _as_text(array: pyarrow.Array) -> pyarrow.Array:
    """Numbers and dates as strings; of a time that is only a date just the date."""
    import pyarrow
    from pyarrow import compute

    strings = array.cast(pyarrow.string())
    is_time = pyarrow.types.is_timestamp(array.type)
    return compute.replace_substring_regex(strings, _ONLY_ZEROS, "") if is_time else strings


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
