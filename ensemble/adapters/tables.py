"""Columns of pandas, polars, Hugging Face `datasets` and DuckDB.

    frame[["note", "error"]] = redact_series(frame["note"], frame["mrn"], model="english")
    dataset.map(redact_examples(text="note", patient="mrn", model="english"), batched=True)
    redact_duckdb(connection, model="english")      SELECT redact(note, mrn).text, redact(note, mrn).error FROM notes

Consecutive notes of a patient share what is known within one call: a series, a batch of `map`, 2,048 rows of DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from phistack.ensemble.adapters.arrow import ERROR, check_columns
from phistack.ensemble.adapters.core import Settings, job_of, redact_texts
from phistack.ensemble.batch.workers.job import Job
from phistack.features.errors import SettingsError
from phistack.features.formats.parquet_table import arrow

Columns = tuple[list[str | None], list[str | None]]
"""Texts and errors."""


def redact_series(series: Any, patients: Any = None, **settings: Unpack[Settings]) -> Any:
    """De-identify a series of pandas or polars.

    :param series: a series of texts; missing values stay missing.
    :param patients: a series of the same length that says whose note it is; without one each text is its own patient.
    :returns: a frame with the columns `text` and `error`, of the same library, with the same index.
    :raises SettingsError: if a value cannot work, or there are more or fewer patients than texts; never for a note.
    """
    if patients is not None and len(patients) != len(series):
        raise SettingsError(
            f"there are {len(series):,} texts and {len(patients):,} patients; give a patient for each text"
        )
    names, job = ("text", "error"), job_of(**settings)
    if type(series).__module__.startswith("polars."):
        import polars

        found = _columns(series, patients, job)
        return polars.DataFrame(dict(zip(names, found, strict=True)), dict.fromkeys(names, polars.String))
    import pandas

    if not isinstance(series, pandas.Series):
        raise SettingsError("redact_series takes a series of pandas or polars, such as a column of a frame")

    def plain(given: Any) -> Any:
        return given.astype(object).where(given.notna(), None)

    found = _columns(plain(series), None if patients is None else plain(patients), job)
    return pandas.DataFrame(dict(zip(names, found, strict=True)), series.index, dtype=object)


def redact_examples(
    *, text: str = "text", patient: str | None = None, error: str = ERROR, **settings: Unpack[Settings]
) -> Callable[[Mapping[str, Sequence[Any]]], dict[str, list[str | None]]]:
    """A function for `Dataset.map(..., batched=True)` of Hugging Face `datasets`.

    :param patient: the column that says whose note it is.
    :raises SettingsError: if a value cannot work; never for a note.
    """
    job = job_of(**settings)

    def redact(examples: Mapping[str, Sequence[Any]]) -> dict[str, list[str | None]]:
        check_columns([*examples], text, patient, error)
        found = _columns(examples[text], examples[patient] if patient else None, job)
        return dict(zip((text, error), found, strict=True))

    return redact


def redact_duckdb(connection: Any, name: str = "redact", **settings: Unpack[Settings]) -> None:
    """Add a function of SQL that takes a text and its patient (or NULL) and returns `STRUCT(text, error)`.

    :raises SettingsError: if a value cannot work; never for a note.
    """
    pyarrow, job = arrow(), job_of(**settings)

    def redact(texts: Any, patients: Any) -> Any:
        found = _columns(texts.to_pylist(), patients.to_pylist(), job)
        return pyarrow.StructArray.from_arrays([pyarrow.array(f, pyarrow.string()) for f in found], ["text", "error"])

    kinds, returned = ["VARCHAR", "VARCHAR"], connection.struct_type({"text": "VARCHAR", "error": "VARCHAR"})
    connection.create_function(name, redact, kinds, returned, type="arrow", null_handling="special")


def _columns(texts: Sequence[Any], patients: Iterable[Any] | None, job: Job) -> Columns:
    of = [None] * len(texts) if patients is None else patients
    found = [*redact_texts(zip(texts, of, strict=True), job)]
    return [result.text for result in found], [result.error for result in found]
