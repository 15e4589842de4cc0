"""The roster that records bring along: what `Patient` resources and PID segments say about a patient."""

from __future__ import annotations

import json
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


def with_own_roster(settings: RunSettings, form: InputFormat, labels: LabelSet | None, path: Path) -> RunSettings:
    """The settings with the roster of the input, followed by the rows of the user's roster.

    :param labels: those of the engine; columns that fit none of them are left out.
    :param path: where the roster is written, over an older one; it is as secret as the input.
    :raises SettingsError: if the user's roster cannot be read.
    """
    if not isinstance(form.table, FieldTable):
        return settings
    n_rows = 0
    with path.open("w", encoding="utf-8") as file:
        for row in form.table.identifiers():
            fitting = {column: values for column, values in row.items() if _suits(column, labels)}
            file.write(json.dumps(fitting) + "\n")
            n_rows += 1
        if n_rows and settings.known is not None:
            with file_named("the roster", settings.known), rows_of(settings.known) as rows:
                file.writelines(json.dumps(row) + "\n" for _, row in rows)
    return replace(settings, known=path) if n_rows else settings


def _suits(column: str, labels: LabelSet | None) -> bool:
    role = role_of(column)
    try:
        return labels is None or role == PATIENT or bool(label_of("name" if role in PARTS else role, labels))
    except SettingsError:
        return False
