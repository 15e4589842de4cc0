"""Frames of Spark, classic or over Spark Connect.

    redact_spark(notes, text="note", patient="mrn", model="english").write.parquet("clean")

Each Python worker loads the engine once, from the path or by the name, so it must exist on each machine; nothing is
broadcast. The key is part of the plan, as with any function of Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

from phistack.ensemble.adapters.arrow import ERROR, check_columns, redact_batches
from phistack.ensemble.adapters.core import Settings
from phistack.features.errors import need

if TYPE_CHECKING:
    from pyarrow import RecordBatch


def redact_spark(
    frame: Any,
    *,
    text: str = "text",
    patient: str | None = None,
    order: str | None = None,
    error: str = ERROR,
    **settings: Unpack[Settings],
) -> Any:
    """De-identify a column of a frame of Spark.

    :param patient: the column that says whose note it is; its notes go to one task, one after the other.
    :param order: the column by which the notes of a patient follow each other; default: their texts.
    :param error: the column to be added: null, or a code, a colon and the reason, where a text is held back.
    :returns: a frame with the same rows and one more column.
    :raises PhistackError: if a column is missing or already exists, or pyspark is not installed.
    """
    need("pyspark", "spark", "a frame of Spark")
    from pyspark.sql.types import StringType, StructField, StructType

    check_columns(frame.columns, text, patient, error)
    if patient:
        frame = frame.repartition(patient).sortWithinPartitions(patient, order or text)

    def redact(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        return redact_batches(batches, text=text, patient=patient, error=error, **settings)

    kept = (StructField(f.name, StringType()) if f.name == text else f for f in frame.schema.fields)
    return frame.mapInArrow(redact, StructType([*kept, StructField(error, StringType())]))
