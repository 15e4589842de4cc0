"""The roster that records bring along: what `Patient` resources and segments PID say of a patient.

with with_own_roster(settings, form, labels) as settings:
    settings.known        a roster with the rows of the records, and behind them those of the user's roster
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from phistack.ensemble.batch.rows import InputFormat
from phistack.ensemble.batch.settings import RunSettings
from phistack.ensemble.stacking.known.roster import PARTS, PATIENT, label_of, role_of
from phistack.features.errors import SettingsError
from phistack.features.files import file_named
from phistack.features.formats.fields import FieldTable
from phistack.features.formats.recognise import rows_of
from phistack.features.labels import LabelSet


@contextmanager
def with_own_roster(settings: RunSettings, form: InputFormat, labels: LabelSet | None) -> Iterator[RunSettings]:
    """The settings with the roster of the input, which is a file for as long as the block runs.

    :param labels: of the engine; what it has no label for is left out.
    :raises SettingsError: if the user's roster cannot be read.
    """
    if not isinstance(form.table, FieldTable):
        yield settings
        return
    with tempfile.TemporaryDirectory() as folder:
        path, n_rows = Path(folder) / "identifiers.jsonl", 0
        with path.open("x", encoding="utf-8") as file:
            for row in form.table.identifiers():
                fitting = {column: values for column, values in row.items() if _suits(column, labels)}
                file.write(json.dumps(fitting) + "\n")
                n_rows += 1
            if n_rows and settings.known is not None:
                with file_named("the roster", settings.known), rows_of(settings.known) as rows:
                    file.writelines(json.dumps(row) + "\n" for _, row in rows)
        yield replace(settings, known=path) if n_rows else settings


def _suits(column: str, labels: LabelSet | None) -> bool:
    role = role_of(column)
    try:
        return labels is None or role == PATIENT or bool(label_of("name" if role in PARTS else role, labels))
    except SettingsError:
        return False
