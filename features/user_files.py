"""Files that a user writes or fills in: TOML, and sheets (CSV with a header). An error names the file.

    with file_named("the policy file", path):
        table = read_toml(path)
        ...                         raises "the policy file mine.toml cannot be used: no strategy is named hide"
    text = sheet(("document", "start"), [("110-01", 4)])                 "document,start\n110-01,4\n"
    rows = read_sheet(path, "the sheet of causes", ("document", "start"))

Spreadsheet programs differ: the fields of a sheet may be separated by commas, semicolons or tabs, and columns may have
been added.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phistack.features.errors import PhistackError, SettingsError
from phistack.features.regular_files import read_regular


@contextmanager
def file_named(what: str, path: Path, error: type[PhistackError] = SettingsError) -> Iterator[None]:
    """Name the file in whatever is raised in the block because of it.

    :param what: what the file is, for the message.
    :param error: the class to raise, both for a file that cannot be read and for what is wrong in it.
    """
    try:
        yield
    except (OSError, ValueError, PhistackError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) else wrong
        raise error(f"{what} {path} cannot be used: {reason}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a file; :raises OSError, ValueError: if it cannot be read, or is no TOML."""
    try:
        return tomllib.loads(read_regular(path).decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def sheet(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a sheet."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


def read_sheet(path: Path, what: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a sheet as column -> value, without blanks around the values.

    :param what: what the sheet is, for messages.
    :param columns: the columns that it must have.
    :raises SettingsError: if it cannot be read, or a column is missing.
    """
    with file_named(what, path):
        text = read_regular(path).decode("utf-8-sig")
        head = text.split("\n", 1)[0]
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
        missing = [column for column in columns if column not in (rows.fieldnames or ())]
        if missing:
            raise SettingsError(f"it has no column {missing[0]}; its columns must be {', '.join(columns)}")
        return [{column: (row[column] or "").strip() for column in columns} for row in rows]
