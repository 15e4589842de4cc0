"""Columns of pandas, polars, Hugging Face `datasets` and DuckDB.

    frame[["note", "error"]] = redact_series(frame["note"], frame["mrn"], model="english")
    dataset.map(redact_examples(text="note", patient="mrn", model="english"), batched=True)
    redact_duckdb(connection, model="english")      SELECT redact(note, mrn).text, redact(note, mrn).error FROM notes

Notes of a patient share what is known of the patient where they follow each other in one call: in a whole series, in a
batch of `map`, in the 2,048 rows that DuckDB hands over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from phistack.ensemble.adapters.arrow import ERROR, check_columns
from phistack.ensemble.adapters.core import Redacted, Settings, job_of, redact_texts
from phistack.features.formats.parquet_table import arrow


def redact_series(series: Any, patients: Any = None, **settings: Unpack[Settings]) -> Any:
    """De-identify a series of pandas or polars.

    :param series: of texts; missing values stay missing.
    :param patients: a series as long that says whose note it is; without one each text is a patient of its own.
    :returns: a frame with the columns `text` and `error`, of the same library, with the same index.
    :raises SettingsError: if a value cannot work; never for a note.
    """
    pairs = zip(_values(series), [None] * len(series) if patients is None else _values(patients), strict=True)
    found = [*redact_texts(pairs, job_of(**settings))]
    texts, errors = [result.text for result in found], [result.error for result in found]
    if _is_polars(series):
        import polars

        return polars.DataFrame({"text": texts, "error": errors}, dict.fromkeys(("text", "error"), polars.String))
    import pandas

    return pandas.DataFrame({"text": texts, "error": errors}, series.index, dtype=object)


def _values(series: Any) -> list[Any]:
    if _is_polars(series):
        return list(series.to_list())
    return [value if there else None for value, there in zip(series.to_list(), series.notna(), strict=True)]


def _is_polars(series: Any) -> bool:
    return type(series).__module__.startswith("polars.")


def redact_examples(
    *, text: str = "text", patient: str | None = None, error: str = ERROR, **settings: Unpack[Settings]
) -> Callable[[Mapping[str, Sequence[Any]]], dict[str, list[str | None]]]:
    """A function for `Dataset.map(..., batched=True)` of Hugging Face `datasets`.

    :param text: the column of the notes.
    :param patient: the column that says whose note it is.
    :param error: the column to be added.
    :raises SettingsError: if a value cannot work; never for a note.
    """
    job = job_of(**settings)

    def redact(examples: Mapping[str, Sequence[Any]]) -> dict[str, list[str | None]]:
        check_columns([*examples], text, patient, error)
        patients = examples[patient] if patient else [None] * len(examples[text])
        found = [*redact_texts(zip(examples[text], patients, strict=True), job)]
        return {text: [result.text for result in found], error: [result.error for result in found]}

    return redact


def redact_duckdb(connection: Any, name: str = "redact", **settings: Unpack[Settings]) -> None:
    """Add a function of SQL that takes a text and its patient (or NULL) and returns `STRUCT(text, error)`.

    :param connection: of DuckDB.
    :param name: of the function.
    :raises SettingsError: if a value cannot work; never for a note.
    """
    pyarrow, job = arrow(), job_of(**settings)

    def redact(texts: Any, patients: Any) -> Any:
        found: Iterable[Redacted] = redact_texts(zip(texts.to_pylist(), patients.to_pylist(), strict=True), job)
        struct = pyarrow.struct({"text": pyarrow.string(), "error": pyarrow.string()})
        return pyarrow.array([{"text": result.text, "error": result.error} for result in found], struct)

    kinds = ["VARCHAR", "VARCHAR"]
    returned = connection.struct_type({"text": "VARCHAR", "error": "VARCHAR"})
    connection.create_function(name, redact, kinds, returned, type="arrow", null_handling="special")
