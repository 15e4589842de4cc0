"""Tables: rows of named columns, read one at a time and written again with other values in some columns.

    table = CsvTable(NoteFile(Path("notes.csv")))
    table.header()                                          ["id", "text", "ward"]
    for record in table.records(): ...                      Record("line 2", {"id": "110-01", "text": ...})
    table.rewrites(is_removed, is_replaced)                 from now on records can be written again
    table.encode([(record, {"text": "Dr. [DOCTOR]"})])      bytes for `assemble`

Corpora, rosters and batch runs read the same records. What becomes of a column is decided by whoever reads them.
"""

from __future__ import annotations

import gzip
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.formats.columns import SPANS, read_record
from phistack.features.formats.note_file import NoteFile

TOO_LONG = "longer than the limit"


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table.

    :param place: where it is: `line 17` or `row 17`.
    :param values: column -> value, of a type that the format has; None for a line that is no row, and a damaged one.
    :param texts: column -> the value as text: a string, or a number or date as it is written; without empty values.
    :param raw: what the table needs to write the row again.
    :param digest: SHA-256 of what was read.
    :param problem: why the row cannot be read, without text; empty if it can.
    """

    place: str
    values: Mapping[str, Any] | None = field(default=None, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    raw: Any = field(default=None, repr=False)
    digest: bytes = field(default=b"", repr=False)
    problem: str = ""


Rewritten = tuple[Record, Mapping[str, str]]
"""A record, and the new text of each column that is replaced."""


class Table(ABC):
    """A table in a file.

    :param file: to read.
    :param wanted: columns that the table should have, by which the dialect of CSV is recognised.
    :cvar has_header: whether all records have the same columns.
    """

    has_header: ClassVar[bool] = True

    def __init__(self, file: NoteFile, wanted: Collection[str] = ()) -> None:
        self.file, self.wanted = file, wanted
        self.is_removed: Callable[[str], bool] = lambda name: False

    @abstractmethod
    def header(self) -> list[str]:
        """The names of the columns; none if each record has names of its own."""

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        """The names of all columns, for which records without a header are all read.

        :param looked: is called with the number of records, now and then.
        """
        return self.header()

    @abstractmethod
    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """Each row, in order.

        :param wanted: whose values are needed; None for all.
        :raises CorpusError: if the file cannot be read.
        """

    def rewrites(self, is_removed: Callable[[str], bool], is_replaced: Callable[[str], bool]) -> None:
        """Prepare to write records again.

        :param is_removed: whether a column is left out.
        :param is_replaced: whether a column gets another text.
        :raises CorpusError: if a column cannot hold text.
        """
        self.is_removed = is_removed

    @abstractmethod
    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """Rows as bytes for `assemble`.

        :param packed: whether the output is compressed by its name.
        :raises UnicodeEncodeError: if the encoding lacks a character.
        """

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write encoded rows to a new file."""
        with target.open("xb") as file:
            file.writelines(chunks)


class LineTable(Table):
    """A table whose rows are lines of text, of which only what is treated changes."""

    encoding = "utf-8"

    @abstractmethod
    def rewritten(self, record: Record, new: Mapping[str, str]) -> str:
        """A row with other texts."""

    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """Lines, as a gzip member without name and time if they are packed; members may follow each other."""
        content = b"".join(self.rewritten(record, new).encode(self.encoding) for record, new in rows)
        return gzip.compress(content, compresslevel=6, mtime=0) if packed and content else content


def read_table(kind: type[Table], file: NoteFile) -> Iterator[Document | CorpusError]:
    """The rows of a table as notes.

    :raises CorpusError: for a missing column, and a file that cannot be read.
    """
    columns = file.columns
    table = kind(file, (columns.id, columns.text))
    header = table.header()
    names = dict.fromkeys(header)
    if table.has_header:
        columns.check(file.name, header)
    n_notes = 0
    for record in table.records((columns.id, columns.text, columns.patient, SPANS)):
        place = f"{file.name}, {record.place}"
        if record.problem:
            is_encoding = record.problem.lower().startswith("not utf-8")
            ways = "convert it to UTF-8" if is_encoding else "correct or remove it"
            yield CorpusError(f"{place}: {record.problem}; {ways}")
        elif record.values is not None:
            if not table.has_header:
                columns.check_record(place, [*record.values])
                names.update(dict.fromkeys(record.values))
            n_notes += 1
            yield read_record(place, record.values, columns, annotated=file.annotated)
    if n_notes:
        columns.check(file.name, [*names])
    file.warnings.update(columns.remarks(names, n_notes if table.has_header else 0))


def sha256(content: bytes) -> bytes:
    """The SHA-256 of bytes, as 32 bytes."""
    return hashlib.sha256(content).digest()
