"""Which format a file or folder has, by looking at it, and the rows of a table of any format.

    recognise(Path("corpus/train"))           Found(MEDDOCAN, corpus/train, corpus/train/xml, ...)
    recognise(Path("notes"), "text")          Found(TEXT, notes, notes, ...)
    with rows_of(Path("roster.csv")) as rows:
        for place, row in rows: ...           "line 2", {"patient": ["110"], "name": ["Ann Hill"]}

File names show most; the root element tells XML formats apart, and an `.ann` file tells brat from plain text. A folder
without notes is read as its only folder with notes, or as the one named `xml` beside others in other formats.

A cell of a roster may hold several values: a list, or a text with semicolons, vertical bars or line ends between them.
Messages quote only names of columns from a roster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Generator
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

from phistack.features.errors import CorpusError, no_such
from phistack.features.files import STANDARD_INPUT
from phistack.features.formats.ccda import CCDA
from phistack.features.formats.conll import CONLL, is_tag
from phistack.features.formats.csv_table import CSV, CsvTable
from phistack.features.formats.database_table import DATABASE
from phistack.features.formats.doccano import DOCCANO, is_doccano
from phistack.features.formats.docx import DOCX
from phistack.features.formats.fhir import FHIR
from phistack.features.formats.format import Format, NoteFile, Reading, not_written
from phistack.features.formats.found import FOREIGN, Found, entries
from phistack.features.formats.hl7 import HL7
from phistack.features.formats.inception import INCEPTION
from phistack.features.formats.jsonl import JSONL
from phistack.features.formats.label_studio import LABEL_STUDIO
from phistack.features.formats.parquet_table import PARQUET
from phistack.features.formats.pdf import PDF
from phistack.features.formats.records import ColumnNames, one_name
from phistack.features.formats.rtf import RTF
from phistack.features.formats.texts import BRAT, TEXT
from phistack.features.formats.xml import I2B2, MEDDOCAN, NGRID, root_of
from phistack.features.shown import shown_label

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (I2B2, NGRID, MEDDOCAN, BRAT, INCEPTION, CONLL, JSONL, DOCCANO, LABEL_STUDIO, CSV, PARQUET, TEXT)
}
DOCUMENTS: dict[str, Format] = {format.name: format for format in (DOCX, PDF, RTF)}
"""The read-only formats. Their files beside notes of another format are about the notes."""
RECORDS: dict[str, Format] = {format.name: format for format in (FHIR, HL7, CCDA)}
"""Formats of records with notes in them; the user must name them, as they look like others."""

# Files of these formats beside notes of another format are about the notes.
_ABOUT = {LABEL_STUDIO, CSV, PARQUET}
# The content distinguishes these from i2b2 and jsonl, whose files have the same endings; text is what is left.
_BY_NAME = [
    format for format in (*FORMATS.values(), *DOCUMENTS.values()) if format not in (NGRID, MEDDOCAN, DOCCANO, TEXT)
]
# By the first characters of a file with another ending.
_OPENINGS = (
    ("%PDF-", PDF),
    ("{\\rtf", RTF),
    ("<", I2B2),
    ("{", JSONL),
    ("[{", LABEL_STUDIO),
    ("-DOCSTART-", CONLL),
    ("PAR1", PARQUET),
)
_ROOTS = {"MEDDOCAN": MEDDOCAN, "xmi": INCEPTION}


def format_named(name: str) -> Format:
    """The format of that name; :raises CorpusError: if there is none."""
    known = FORMATS | DOCUMENTS | RECORDS | {DATABASE.name: DATABASE}
    if name not in known:
        raise CorpusError(no_such("format", name, FORMATS | DOCUMENTS | RECORDS))
    return known[name]


def format_to_write(name: str) -> Format:
    """The format of that name; :raises CorpusError: if there is none, or it is only read."""
    known = format_named(name)
    if known.render is not_written:
        raise CorpusError(
            f"{name} is read and not written by this command; name another format with --to: {', '.join(FORMATS)}"
        )
    return known


def format_by_ending(path: Path) -> str:
    """The name of the format by the ending of a file to write, such as `out.csv.gz`; empty if there is none."""
    return next((format.name for format in FORMATS.values() if format.single_file and format.is_of(path)), "")


def refuse_foreign(path: Path) -> None:
    """Refuse a file whose ending no reader opens; :raises CorpusError: saying what it is and what to do."""
    what = FOREIGN.get(path.suffix.lower())
    if what:
        raise CorpusError(f"{path} is {what}")


def recognise(path: Path, format: str = "", how: Reading | None = None) -> Found:
    """The format of a corpus, and where its notes are.

    :param format: the name of the format, if the user gives it.
    :param how: to read the notes; the names of columns distinguish a table on standard input from a note.
    :raises CorpusError: if nothing is there, nothing is recognised, or the format is ambiguous.
    """
    wanted, how = format_named(format) if format else None, how or Reading()
    if path == STANDARD_INPUT:
        if wanted is BRAT:
            raise CorpusError("brat has two files for each note, and standard input can hold only one; give the folder")
        return Found(wanted or _of_stream(how.columns), path, path, how)
    # For a name that is too long, pathlib raises and os.path says no.
    if not os.path.exists(path):
        remark = "; standard input is taken by annotate, convert and explain" if str(path) == "-" else ""
        raise CorpusError(f"there is no file or folder {path}{remark}")
    if not os.path.isdir(path):
        return Found(wanted or _of_file(path), path, path, how)
    found = _in_folder(path, "", wanted)
    if found is None:
        kind, ways = f"the format {format}" if format else "a known format", "give a folder with notes in it"
        suffixes = {os.path.splitext(name)[1].lower() for name, *_ in entries(path)} & FOREIGN.keys()
        ways = next((f"each of its {suffix} files is {FOREIGN[suffix]}" for suffix in sorted(suffixes)), ways)
        raise CorpusError(f"the folder {path} holds no notes of {kind}; {ways}")
    return Found(found[0], path, path / found[1], how)


def _in_folder(root: Path, folder: str, wanted: Format | None) -> tuple[Format, str] | None:
    """The format of the notes in a folder, and the folder within the root that holds them; nothing without notes."""
    found = [entry for entry in entries(root, folder) if not entry[0].startswith(".")]
    own = _of_names(root / folder, [name for name, _, leads_to_folder in found if not leads_to_folder], wanted)
    inside: dict[str, tuple[Format, str]] = {}
    for name, is_folder, _ in found:
        # A loop, as a comprehension would take a second frame of the stack for each level.
        if is_folder and (notes := _in_folder(root, f"{folder}{name}/", wanted)):
            inside[name] = notes
    formats = _of_notes(own | {format for format, _ in inside.values()})
    own = {BRAT} if formats == {BRAT} and TEXT in own else own & formats
    inside = {name: notes for name, notes in inside.items() if notes[0] in formats}
    if not own and (len(inside) == 1 or ("xml" in inside and len(formats) > 1)):
        return inside.get("xml") or next(iter(inside.values()))
    if len(formats) > 1:
        names = ", ".join(format.name for format in (FORMATS | DOCUMENTS).values() if format in formats)
        raise CorpusError(
            f"the folder {root / folder} holds notes in several formats, {names}; choose one with --from, or give the "
            "folder of one"
        )
    return (formats.pop(), folder) if formats else None


def _of_names(folder: Path, names: Collection[str], wanted: Format | None) -> set[Format]:
    if wanted:
        return {wanted} if any(map(wanted.is_of, names)) else set()
    names = [name for name in names if name not in INCEPTION.beside]
    formats = {format for format in _BY_NAME if any(map(format.is_of, names))}
    if BRAT in formats and not any(name.endswith(".ann") for name in names):
        formats = formats - {BRAT} | {TEXT}
    for format in formats & {I2B2, JSONL}:
        formats = formats - {format} | {_by_content(format, folder / min(filter(format.is_of, names)))}
    return _of_notes(formats)


def _of_notes(formats: set[Format]) -> set[Format]:
    """The formats of notes: a table beside notes of another format is about them, and a text file is a read-me."""
    notes = {format for format in formats if not format.written} or formats
    notes = notes - _ABOUT or notes
    return notes - {TEXT} or notes


def _of_stream(columns: ColumnNames) -> Format:
    """The format of piped input: one note, if its beginning shows nothing else."""
    table = CsvTable(NoteFile(STANDARD_INPUT), (columns.id, columns.text))
    return _opening(STANDARD_INPUT) or (CSV if columns.are_in(table.names()) else TEXT)


def _of_file(path: Path) -> Format:
    """The format of one file, by its ending or else by its first characters."""
    if DATABASE.is_of(path):
        return DATABASE
    if TEXT.is_of(path):
        # A note may well begin with `<` or a brace.
        is_conll = _opening(path) is CONLL
        return BRAT if path.with_suffix(".ann").exists() else CONLL if is_conll else TEXT
    named = next((format for format in _BY_NAME if format.is_of(path)), None)
    if named is None:
        refuse_foreign(path)
        named = _opening(path)
    if named is None:
        known = ", ".join(FORMATS | DOCUMENTS)
        raise CorpusError(f"{path} is not in a known format; name its format with --from: {known}")
    if named is CONLL and CSV.is_of(path):
        last = _head(path).partition("\n")[0].rpartition("\t")[2].strip()
        return CONLL if is_tag(last) or _opening(path) is CONLL else CSV
    return _by_content(named, path)


def _opening(path: Path) -> Format | None:
    head = _head(path)
    named = next((format for opening, format in _OPENINGS if head.startswith(opening)), None)
    return named and _by_content(named, path)


def _by_content(named: Format, path: Path) -> Format:
    if named is I2B2:
        return _ROOTS.get(root_of(_head(path)), I2B2)
    return DOCCANO if named is JSONL and is_doccano(_head(path)) else named


def _head(path: Path) -> str:
    return NoteFile(path).head().decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


Cells = dict[str, list[str]]
"""The values of each column of a row that holds any."""

_SEVERAL = re.compile(r"[;|\r\n]+")


def rows_of(path: Path) -> closing[Generator[tuple[str, Cells]]]:
    """The place and the values of each row.

    :raises CorpusError, ValueError: while the rows are read, if the file is not a table, saying why.
    """
    return closing(_rows(path))


def _rows(path: Path) -> Generator[tuple[str, Cells]]:
    refuse_foreign(path)
    kind = next((form.table for form in FORMATS.values() if form.table and form.is_of(path)), CsvTable)
    table = kind(NoteFile(path, name="it"))
    names = [name.strip() for name in table.names()] if kind.has_header else []
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"it has two columns {shown_label(doubled)}; rename one")
    for record in table.records():
        if record.problem:
            raise ValueError(f"its {record.place} cannot be read: {record.problem}")
        if record.values is not None:
            found = {name.strip(): _values(name, cell) for name, cell in record.values.items()}
            yield record.place, {name: values for name, values in found.items() if values}


def _values(column: str, cell: Any) -> list[str]:
    if isinstance(cell, list):
        return [value for part in cell for value in _values(column, part)]
    day = cell.date() if isinstance(cell, datetime) else cell
    text = day.isoformat() if isinstance(day, date) else one_name(cell)
    if not text and cell not in (None, ""):
        raise ValueError(f"its column {shown_label(column)} holds something that is neither text nor number nor date")
    return separated(text)


def separated(cell: str) -> list[str]:
    """The values of a cell."""
    values = _SEVERAL.split(cell) if _SEVERAL.search(cell) else (cell,)
    return [value.strip() for value in values if value.strip()]
