"""The output read again from the disk, compared with what the workers made, and searched for identifiers.

    check_output(settings, form, store, workers)

Each text must have the checksum that its worker took of it. What is found of a patient's identifiers goes to the
journal, as counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from phistack.ensemble.batch.rows import NO_LIMIT, InputFormat, Row, open_format, texts_digest
from phistack.ensemble.batch.settings import RunSettings
from phistack.ensemble.batch.store import Store
from phistack.ensemble.batch.workers.identifier_register import LeakSearch
from phistack.ensemble.batch.workers.pool import Workers
from phistack.ensemble.tools.progress import meter
from phistack.features.errors import StorageError


def check_output(settings: RunSettings, form: InputFormat, store: Store, workers: Workers) -> None:
    """Put the output together, read it again, and search each patient's output for the patient's identifiers.

    :raises StorageError: if what is read is not what the workers made.
    """
    path = store.assemble(settings.target.name)
    # What went in under the limit may come out a little longer.
    columns = settings.form_settings.columns.of_output()
    unlimited = replace(settings.form_settings, columns=columns, max_bytes=NO_LIMIT)
    written = open_format(path, path, unlimited, form.name) if path.exists() else None
    rows = (row for row in (written.rows() if written else ()) if row.parts)

    n_notes, quarantined = store.journal.totals()
    n_read = 0

    def todo() -> Iterator[tuple[int, list[LeakSearch]]]:
        nonlocal n_read
        for number, records in store.records():
            searches = list(_searches(store, records, rows))
            n_read += len(records)
            if store.journal.searched(number) is None:
                yield number, searches

    with meter("checking the output") as show:
        for number, counts in workers.search(todo()):
            store.journal.add_search(number, [(*what, count) for what, count in counts.items()])
            show(n_read, n_read / max(1, n_notes), quarantined)
    if next(rows, None) is not None:
        raise _differs(store)


def _searches(store: Store, records: list[dict[str, Any]], rows: Iterator[Row]) -> Iterator[LeakSearch]:
    """What is to be searched; the rows are what was read from the output, which must be what the workers made."""
    fine = (record for record in records if "problem" not in record)
    for patient, of_patient in groupby(fine, key=itemgetter("patient")):
        entries = store.journal.entries(store.register.patient(patient))
        for record in of_patient:
            row = next(rows, None)
            if row is None or texts_digest(row.texts, None) != record["output"]:
                raise _differs(store)
            for text, replaced in zip(row.texts, record["replaced"], strict=True):
                yield LeakSearch(text, [(start, end) for start, end in replaced], entries)
            for column, value in row.kept:
                yield LeakSearch(value, [], entries, column)


def _differs(store: Store) -> StorageError:
    return StorageError(
        f"the output in {store.folder} does not read as it was written, so it is not published; check the disk and "
        f"start again"
    )
