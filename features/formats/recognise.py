"""Which format a file or folder has, by looking at it.

    recognise(Path("corpus/train"))           (MEDDOCAN, [corpus/train/xml/a.xml, ...])
    recognise(Path("notes"), format="text")   (TEXT, [notes/a.txt, ...])

File names show most; the root element distinguishes the XML formats, and an `.ann` brat from plain text. Hidden
files and those of other kinds, such as a licence, are passed over, and counted by `passed_over`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from phistack.features.errors import CorpusError
from phistack.features.files import STANDARD_INPUT, read_bytes, read_text
from phistack.features.formats.brat import BRAT
from phistack.features.formats.columns import USUAL_NAMES, ColumnNames
from phistack.features.formats.conll import CONLL
from phistack.features.formats.csv_table import CSV, header_of
from phistack.features.formats.format import Format
from phistack.features.formats.jsonl import JSONL
from phistack.features.formats.parquet_table import PARQUET
from phistack.features.formats.plain import TEXT
from phistack.features.formats.xml import I2B2, MEDDOCAN, NGRID, root_of
from phistack.features.shown import shown_id
from phistack.features.suggestions import no_such

HIDDEN = "hidden files were skipped, as their names or folders begin with a dot; rename those that are notes"
OTHER = "files of another kind were skipped; rename those that are notes"

FORMATS: dict[str, Format] = {
    format.name: format for format in (I2B2, NGRID, MEDDOCAN, BRAT, CONLL, JSONL, CSV, PARQUET, TEXT)
}
_TABLES = (CSV, PARQUET)
# The root element distinguishes these from i2b2, whose files have the same ending; text is what is left.
_BY_NAME = [format for format in FORMATS.values() if format not in (NGRID, MEDDOCAN, TEXT)]
# By the first characters of a file with another ending.
_OPENINGS = (("<", I2B2), ("{", JSONL), ("-DOCSTART-", CONLL))


def format_named(name: str) -> Format:
    """The format of that name; :raises CorpusError: if there is none."""
    try:
        return FORMATS[name]
    except KeyError:
        raise CorpusError(no_such("format", name, FORMATS)) from None


def format_told_by(path: Path) -> str:
    """The name of the format by the ending of a file to write, such as `out.csv.gz`; empty if there is none."""
    return next((format.name for format in FORMATS.values() if format.single_file and format.is_of(path)), "")


def recognise(path: Path, format: str | None = None, columns: ColumnNames = USUAL_NAMES) -> tuple[Format, list[Path]]:
    """The format of a corpus and the files to read, in order of their names.

    A folder without notes of its own stands for its only sub-folder with notes, or for the one named `xml`.

    :param format: the name of the format, where the user gives it.
    :param columns: the names of the columns, by which a table that ends in `.tsv` is distinguished from CoNLL.
    :raises CorpusError: if nothing is there, nothing is recognised, or the choice is not clear.
    """
    wanted = None if format is None else format_named(format)
    if path == STANDARD_INPUT:
        if wanted is BRAT:
            raise CorpusError("brat has two files for each note, and standard input can hold only one; give the folder")
        return wanted or _of_stream(columns), [path]
    # Where pathlib raises, as for a name that is too long, os.path says no.
    if os.path.isfile(path):
        return wanted or _of_file(path, columns), [path]
    if not os.path.isdir(path):
        remark = "; standard input is taken by annotate, convert and explain" if str(path) == "-" else ""
        raise CorpusError(f"there is no file or folder {path}{remark}")
    found = _in_folder(path, wanted)
    if found:
        return found
    inside = {entry.name: _in_folder(entry, wanted) for entry in _entries(path) if entry.is_dir()}
    choices = {name: found for name, found in inside.items() if found}
    chosen = next(iter(choices.values())) if len(choices) == 1 else choices.get("xml")
    if chosen:
        return chosen
    kind = f"the format {format}" if format else "a known format"
    if choices:
        raise CorpusError(
            f"the folder {path} has notes in several sub-folders, {', '.join(map(shown_id, choices))}; give one of them"
        )
    raise CorpusError(f"the folder {path} holds no notes of {kind}; give the folder that holds the files themselves")


def passed_over(path: Path, files: Sequence[Path]) -> Counter[str]:
    """What stands beside the files that are read of a corpus, and how many files that are.

    :param path: of the corpus; beside a single file everything may stand.
    :param files: as `recognise` gives them.
    """
    if not os.path.isdir(path):
        return Counter()
    read = {file.name for file in files}
    with os.scandir(files[0].parent) as entries:
        beside = [entry.name for entry in entries if entry.name not in read and not entry.is_dir()]
    hidden = sum(name.startswith(".") for name in beside)
    return +Counter({HIDDEN: hidden, OTHER: len(beside) - hidden})


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise CorpusError(f"the folder {folder} cannot be read: {error.strerror}") from None


def _in_folder(folder: Path, wanted: Format | None) -> tuple[Format, list[Path]] | None:
    """The format of the notes right in a folder, and their files; nothing if there are none."""
    files = [entry for entry in _entries(folder) if entry.is_file()]
    if wanted:
        matching = [file for file in files if wanted.is_of(file)]
        return (wanted, matching) if matching else None
    found = [format for format in _BY_NAME if _any_of(files, format)]
    # A table beside notes of another format is about them.
    found = [format for format in found if format not in _TABLES] or found
    # A text file beside notes of another format is a read-me; beside `.ann` files it is a note.
    if BRAT in found and not any(file.suffix == ".ann" for file in files):
        found = [format for format in found if format is not BRAT] or [TEXT]
    if len(found) > 1:
        names = ", ".join(format.name for format in found)
        raise CorpusError(f"the folder {folder} holds notes in several formats, {names}; choose one with --from")
    if not found:
        return None
    matching = [file for file in files if found[0].is_of(file)]
    return (_xml_format(matching) if found[0] is I2B2 else found[0]), matching


def _any_of(files: Sequence[Path], format: Format) -> bool:
    return any(map(format.is_of, files))


def _of_stream(columns: ColumnNames) -> Format:
    """The format of what is piped in: where its beginning shows nothing else, it is one note."""
    if read_bytes(STANDARD_INPUT).startswith(b"PAR1"):
        return PARQUET
    named = _opening(STANDARD_INPUT)
    if named is None:
        table = columns.are_in(header_of(read_text(STANDARD_INPUT), columns)[1])
        return CSV if table else TEXT
    return _xml_format([STANDARD_INPUT]) if named is I2B2 else named


def _xml_format(files: Sequence[Path]) -> Format:
    return MEDDOCAN if any(root_of(file) == "MEDDOCAN" for file in files) else I2B2


def _of_file(path: Path, columns: ColumnNames) -> Format:
    """The format of one file, by its ending or else by its first characters."""
    if path.suffix == ".txt":
        return BRAT if path.with_suffix(".ann").exists() else _opening(path) or TEXT
    named = next((format for format in _BY_NAME if format.is_of(path)), None) or _opening(path)
    if named is None:
        raise CorpusError(f"{path} is not in a known format; name its format with --from: {', '.join(FORMATS)}")
    if named is CONLL and CSV.is_of(path) and columns.are_in(header_of(read_text(path), columns)[1]):
        return CSV
    return _xml_format([path]) if named is I2B2 else named


def _opening(path: Path) -> Format | None:
    start = read_text(path).lstrip("\ufeff \t\r\n")
    found = next((format for opening, format in _OPENINGS if start.startswith(opening)), None)
    # A note may well begin with `<` or a brace.
    return found if path.suffix != ".txt" or found is CONLL else None
