"""Sheets for a person to read or fill in: CSV with a header, which any spreadsheet opens.

    text = sheet(("document", "start"), [("110-01", 4)])       "document,start\n110-01,4\n"
    rows = read_sheet(path, "the sheet of causes", ("document", "start"))

Programs write what they like: the fields of a sheet that comes back may be separated by commas, semicolons or tabs, and
columns that were added are let be.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from phistack.features.errors import SettingsError
from phistack.features.regular_files import read_regular
from phistack.features.user_files import file_named


def sheet(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a sheet."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


def read_sheet(path: Path, what: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a sheet, each with its columns, without blanks around what stands in them.

    :param what: the sheet is, for messages.
    :param columns: that it must have.
    :raises SettingsError: if it cannot be read as a table with these columns, saying which is missing.
    """
    with file_named(what, path):
        text = read_regular(path).decode("utf-8-sig")
        head = text.split("\n", 1)[0]
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
        missing = [column for column in columns if column not in (rows.fieldnames or ())]
        if missing:
            raise SettingsError(f"it has no column {missing[0]}; its columns must be {', '.join(columns)}")
        return [{column: (row[column] or "").strip() for column in columns} for row in rows]
