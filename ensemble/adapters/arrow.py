"""Batches of Arrow, the form in which Spark, DuckDB, pandas, polars and `datasets` hand over columns.

    for batch in redact_batches(batches, text="note", patient="mrn", model="english"): ...

The same batches come back, row for row, with new texts and one more column, which says why a text is missing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from phistack.ensemble.adapters.core import Redacted, Settings, job_of, redact_texts
from phistack.ensemble.batch.workers.job import Job
from phistack.features.errors import SettingsError, no_such
from phistack.features.formats.parquet_table import arrow

if TYPE_CHECKING:
    from pyarrow import RecordBatch

ERROR = "phistack_error"
"""The usual name of the column of errors."""


def redact_batches(
    batches: Iterable[RecordBatch],
    *,
    text: str = "text",
    patient: str | None = None,
    error: str = ERROR,
    **settings: Unpack[Settings],
) -> Iterator[RecordBatch]:
    """De-identify a column of record batches.

    Consecutive notes of a patient, in one batch or several, share what is known of the patient.

    :param text: the column of the notes; only this one is changed.
    :param patient: the column that says whose note it is; without one each text is a patient of its own.
    :param error: the column to be added: null, or a code, a colon and the reason, where a text is held back.
    :returns: the batches, with as many rows; a text that is held back is null.
    :raises PhistackError: if a column is missing or already exists, or a value cannot work; never for a note.
    """
    arrow()
    return _redacted(batches, text, patient, error, job_of(**settings))


def _redacted(
    batches: Iterable[RecordBatch], text: str, patient: str | None, error: str, job: Job
) -> Iterator[RecordBatch]:
    waiting: deque[RecordBatch] = deque()
    done: list[Redacted] = []

    def rows() -> Iterator[tuple[Any, Any]]:
        for batch in batches:
            check_columns(batch.schema.names, text, patient, error)
            waiting.append(batch)
            patients = batch[patient].to_pylist() if patient else [None] * batch.num_rows
            yield from zip(batch[text].to_pylist(), patients, strict=True)

    for result in redact_texts(rows(), job):
        done.append(result)
        while waiting and len(done) >= waiting[0].num_rows:
            batch = waiting.popleft()
            yield _with(batch, done[: batch.num_rows], text, error)
            del done[: batch.num_rows]
    yield from (_with(batch, [], text, error) for batch in waiting)


def check_columns(names: Sequence[str], text: str, patient: str | None, error: str) -> None:
    """Refuse missing columns, and a column for errors that already exists; :raises SettingsError: with its name."""
    for name in (text, *([patient] if patient else ())):
        if name not in names:
            raise SettingsError(no_such("column", name, names))
    if error in names:
        raise SettingsError(f"there is a column {error} already; name another for the errors")


def _with(batch: RecordBatch, results: Sequence[Redacted], text: str, error: str) -> RecordBatch:
    pyarrow = arrow()
    place = batch.schema.get_field_index(text)
    given = batch.schema.field(place).type
    is_text = pyarrow.types.is_string(given) or pyarrow.types.is_large_string(given)
    texts = pyarrow.array([result.text for result in results], given if is_text else pyarrow.string())
    errors = pyarrow.array([result.error for result in results], pyarrow.string())
    return batch.set_column(place, text, texts).append_column(error, errors)
