"""Which form an input has, by looking, and opening it.

form = open_format(Path("notes.csv.gz"), Path("out.csv.gz"), FormatSettings())
form.name      "csv"
"""

from __future__ import annotations

import codecs
import os
from functools import partial
from pathlib import Path
from typing import Protocol

from phistack.ensemble.batch.formats.csv_rows import CsvRows
from phistack.ensemble.batch.formats.json_lines import JsonLines
from phistack.ensemble.batch.formats.note_files import NoteFiles
from phistack.ensemble.batch.formats.parquet import ParquetRows
from phistack.ensemble.batch.formats.rows import TABLES, FormatSettings, InputFormat
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats.xml import root_of
from phistack.features.regular_files import open_regular
from phistack.features.sheets import spreadsheet_advice
from phistack.features.suggestions import no_such


class _Opener(Protocol):
    def __call__(self, path: Path, target: Path, settings: FormatSettings) -> InputFormat: ...


_FORMATS: dict[str, _Opener] = {
    "jsonl": JsonLines,
    "csv": CsvRows,
    "parquet": ParquetRows,
    **{name: partial(NoteFiles, name=name) for name in ("text", "brat", "i2b2", "ngrid", "meddocan")},
}
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".txt": "text"}
FORMAT_NAMES = tuple(_FORMATS)


def open_format(path: Path, target: Path, settings: FormatSettings, name: str = "") -> InputFormat:
    """Open an input.

    :param path: a file or folder.
    :param target: the output; a name that ends in .gz has it gzipped.
    :param name: one of `FORMAT_NAMES`; otherwise it is recognised.
    :raises CorpusError: if nothing is there or it is of no known form.
    :raises SettingsError: for a name or encoding that does not exist.
    """
    if not os.path.exists(path):
        raise CorpusError(f"there is no file or folder {path}")
    if name and name not in _FORMATS:
        raise SettingsError(f"--from: {no_such('format of input', name, FORMAT_NAMES)}")
    _check_encoding(settings.encoding)
    if not path.is_dir():
        _check_regular(path)
    return _FORMATS[name or _recognised(path)](path, target, settings)


def refuse_other_ending(form: InputFormat, target: Path) -> None:
    """Refuse an output with the file ending of another table format, as it would not be read as what it is.

    :raises SettingsError: with the form that it would have.
    """
    named = _of_ending(target)
    if named in TABLES and named != form.name:
        ways = f"give it the file ending of {form.name}" if form.name in TABLES else "give it another"
        raise SettingsError(f"{target} would be written as {form.name}, the format of the input, not {named}; {ways}")


def _of_ending(path: Path) -> str | None:
    return _ENDINGS.get(os.path.splitext(path.name.lower().removesuffix(".gz"))[1])


def _check_regular(path: Path) -> None:
    try:
        open_regular(path).close()
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}") from None


def _check_encoding(encoding: str) -> None:
    """Refuse what is neither UTF-8 nor one byte a character with ASCII as its first half."""
    try:
        single = len("\u00e9\u20ac".encode().decode(encoding, "replace")) == 5
        ascii_first = bytes(range(128)).decode(encoding) == bytes(range(128)).decode("ascii")
        known = codecs.lookup(encoding).name == "utf-8" or (single and ascii_first)
    except (LookupError, UnicodeError):
        known = False
    if not known:
        ways = "give --encoding utf-8 or a single-byte one such as cp1252"
        raise SettingsError(f"the encoding {encoding} is unknown; {ways}")


def _recognised(path: Path) -> str:
    if path.is_dir():
        return _of_folder(path)
    found = _of_ending(path)
    if found is None and path.name.lower().removesuffix(".gz").endswith(".xml"):
        found = _of_xml(path)
    if found is None and (advice := spreadsheet_advice(path)):
        raise CorpusError(f"{path} {advice}")
    if found is None:
        raise CorpusError(f"{path} is not in a known format; name its format with --from: {', '.join(FORMAT_NAMES)}")
    return "brat" if found == "text" and path.with_suffix(".ann").exists() else found


def _of_folder(folder: Path) -> str:
    """By the first folder, in the order of names, that holds notes; an `.ann` makes text files brat."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        by_ending = {os.path.splitext(name.lower())[1]: name for name in sorted(names, reverse=True)}
        if ".xml" in by_ending:
            return _of_xml(Path(parent) / by_ending[".xml"])
        if ".txt" in by_ending:
            return "brat" if ".ann" in by_ending else "text"
    raise CorpusError(f"the folder {folder} holds no notes as .txt or .xml files; a table must be given as a file")


def _of_xml(path: Path) -> str:
    try:
        return "meddocan" if root_of(path) == "MEDDOCAN" else "i2b2"
    except CorpusError:
        return "i2b2"
