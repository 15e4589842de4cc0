"""Parquet: the rows of a file in order, with the text column changed and every other column as it was.

    rows = list(ParquetRows(path, target, settings).rows())

The output has the schema, the metadata and the compression of the input; its row groups hold at most 8,192 rows or
64 MiB of text. A row group that cannot be read goes to quarantine, row by row. Needs pyarrow: `pip install
phistack[parquet]`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ensemble.batch.rows import NO_PATIENT, FormSettings, Part, Row, check_columns, patient_name, printable_id, sha256
from features.errors import CorpusError, MissingResourceError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ParquetRows"]

_ROWS_READ_AT_ONCE = 256
_ROWS_OF_A_GROUP = 8192
_BYTES_OF_A_GROUP = 64 * 2**20


class ParquetRows:
    """Parquet.

    :param path: of the input.
    :param target: of the output; not used.
    :param settings: the names of the columns.
    :raises MissingResourceError: if pyarrow is not installed.
    :raises CorpusError: if the file is not Parquet or lacks a column.
    """

    name = "parquet"

    def __init__(self, path: Path, target: Path, settings: FormSettings) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise MissingResourceError(
                "Parquet needs pyarrow; install it with: pip install phistack[parquet]"
            ) from None
        self.path = path
        self.settings = settings
        try:
            self._file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**20)
        except pyarrow.ArrowException:
            raise CorpusError(f"{path} is not a Parquet file, or is damaged; get a whole copy of it") from None
        self.schema: pyarrow.Schema = self._file.schema_arrow
        self._check_columns()
        self._read = 0

    def _check_columns(self) -> None:
        import pyarrow

        columns = self.settings.columns
        check_columns(self.path, self.schema.names, columns)
        kind = self.schema.field(columns.text).type
        if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
            raise CorpusError(f"the column {columns.text} of {self.path} does not hold strings")

    def fraction(self) -> float:
        """How many of the rows were read, in [0, 1]."""
        return min(1.0, self._read / max(1, int(self._file.metadata.num_rows)))

    def rows(self) -> Iterator[Row]:
        """A row for each row."""
        import pyarrow

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
        digest = sha256(_stream(batch))
        for i in range(batch.num_rows):
            self._read += 1
            yield self._row(f"row {first + i + 1}", batch.slice(i, 1), digest)

    def _row(self, place: str, row: pyarrow.RecordBatch, digest: bytes) -> Row:
        import pyarrow

        columns = self.settings.columns
        try:
            id = printable_id(row.column(columns.id)[0].as_py())
            text = row.column(columns.text)[0].as_py()
            patient = row.column(columns.patient)[0].as_py() if columns.patient in row.schema.names else None
        except (UnicodeDecodeError, pyarrow.ArrowException):
            return Row(place, None, digest, place, place, problem="not UTF-8")
        if not id:
            return Row(place, None, digest, place, place, problem=f"{columns.id} is missing or is no name")
        named = patient_name(patient, id)
        if not named:
            return Row(place, None, digest, id, id, problem=NO_PATIENT.format(columns.patient))
        return Row(place, row, digest, id, named, () if text is None else (Part(text),))

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """The rows as an Arrow stream; :raises UnicodeEncodeError: for a lone surrogate."""
        import pyarrow

        if not rows:
            return b""
        table = pyarrow.Table.from_batches([row.raw for row, _ in rows], schema=self.schema)
        at = self.schema.get_field_index(self.settings.columns.text)
        texts = pyarrow.array([next(iter(new), None) for _, new in rows], type=self.schema.field(at).type)
        return _stream(table.set_column(at, self.schema.field(at), texts).combine_chunks())

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


def _stream(table: pyarrow.Table | pyarrow.RecordBatch) -> bytes:
    import pyarrow

    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return sink.getvalue()
