"""What a format is: how notes, or the rows of a table, are read from a file and written.

    Format("brat", "...", (".ann", ".txt"), read, render)      a name, what it looks like, a reader and a writer

    file = NoteFile(Path("notes.conll"), Reading(encoding="cp1252"))
    for line in file.text_lines(): ...

    table = CsvTable(NoteFile(Path("notes.csv")))
    for record in table.records(): ...                      Record("line 2", {"id": "110-01", "text": ...})
    table.encode([(record, {"text": "Dr. [DOCTOR]"})])      the same rows with other values

A format is a value made of functions, not a class to inherit from; each module declares its own. Readers get one file
at a time and writers one note at a time, so no corpus needs to fit into memory. Whatever cannot be read is a
`CorpusError` that names the file. Corpora, rosters and batch runs read the same records of a table; whoever reads them
decides what becomes of a column.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from phistack.features.documents import Document, patient_of
from phistack.features.errors import CorpusError
from phistack.features.files import decoded, lines_of, opened, read_at_most
from phistack.features.formats.records import SPANS, USUAL_NAMES, ColumnNames, read_record
from phistack.features.labels import LabelSet

_HEAD, _PIECE = 2**16, 2**20


@dataclass(slots=True)
class Reading:
    """How files are read, and what was noted on the way.

    :param encoding: of formats that need not be UTF-8.
    :param longest: bytes of a line, or of a file that is read whole; what is longer is not a note.
    :param annotated: whether spans are wanted; otherwise nothing of them is read.
    :param is_run: whether a batch run reads them: ids are relative to the given folder, reasons do not name the file,
        and no link is followed out of the folder.
    :ivar warnings: oddities that were mended, and how often.
    :ivar categories: label -> category, in formats that have categories.
    """

    columns: ColumnNames = USUAL_NAMES
    encoding: str = "utf-8"
    longest: int = 64 * 2**20
    annotated: bool = True
    is_run: bool = False
    warnings: Counter[str] = field(default_factory=Counter)
    categories: dict[str, str] = field(default_factory=dict)


class NoteFile:
    """A file, and how to read it.

    :param id: of the note in it, if the file holds one note without an id; otherwise its name without the ending.
    :param name: how messages name the file; otherwise by its path.
    :ivar digest: SHA-256 of what was read so far.
    :ivar fraction: the share that was read so far.
    """

    def __init__(
        self, path: Path, how: Reading | None = None, *, id: str = "", name: str = "", seed: bytes = b""
    ) -> None:
        self.path, self.how, self.id, self.name = path, how or Reading(), id or path.stem, name or str(path)
        self.digest = hashlib.sha256(seed)
        self.fraction = 0.0

    @property
    def patient(self) -> str:
        """The patient, by the name of the file without its folder."""
        return patient_of(self.id.rpartition("/")[2])

    def beside(self, suffix: str) -> NoteFile:
        """The file of the same name with another ending, read for the same note."""
        name = os.path.splitext(self.name)[0] + suffix
        return NoteFile(self.path.with_suffix(suffix), self.how, id=self.id, name=name)

    def head(self) -> bytes:
        """The first bytes; :raises CorpusError: if the file cannot be read."""
        with opened(self.path, self.name) as (file, _):
            return read_at_most(file, _HEAD)

    def content(self) -> bytes:
        """All bytes; :raises CorpusError: if they cannot be read or are too many."""
        with opened(self.path, self.name) as (file, _):
            content = read_at_most(file, self.how.longest + 1)
        if len(content) > self.how.longest:
            raise CorpusError(f"{self.name} is longer than the limit of {self.how.longest:,} bytes; split it")
        self.digest.update(content)
        return content

    def text(self, encoding: str = "") -> str:
        """The whole text, with its byte order mark and line ends; :raises CorpusError: as `content` does."""
        return decoded(self.content(), self.name, encoding or self.how.encoding)

    def lines(self) -> Iterator[bytes | None]:
        """Each line with its end, None for one that is too long; :raises CorpusError: if the file cannot be read."""
        with opened(self.path, self.name) as (file, share):
            for line in lines_of(file, self.how.longest):
                self.digest.update(line or b"")
                self.fraction = share()
                yield line

    def pieces(self) -> Iterator[str]:
        """The text in pieces that end with a quotation mark, or with the file; :raises CorpusError: as `text` does."""
        at, rest = 0, b""
        with opened(self.path, self.name) as (file, share):
            while piece := file.read(_PIECE):
                self.digest.update(piece)
                self.fraction = share()
                rest += piece
                cut = rest.rfind(b'"') + 1
                yield decoded(rest[:cut], self.name, at=at)
                at, rest = at + cut, rest[cut:]
                if len(rest) > self.how.longest:
                    raise CorpusError(
                        f"{self.name} has no quotation mark in {self.how.longest:,} bytes; it is not JSON"
                    )
        yield decoded(rest, self.name, at=at)

    def text_lines(self) -> Iterator[str]:
        """Each line without its end and the byte order mark; :raises CorpusError: if it cannot be read."""
        at = 0
        for number, line in enumerate(self.lines(), 1):
            if line is None:
                raise CorpusError(f"{self.name}, line {number}, is longer than the limit of {self.how.longest:,} bytes")
            text = decoded(line, self.name, self.how.encoding, at)
            at += len(line)
            yield (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\n").removesuffix("\r")


Notes = Iterator[Document | CorpusError]
"""The notes of a file, in order; in place of one that cannot be read, the reason."""
Pieces = Iterator[tuple[str, bytes]]
"""File names and contents; pieces of one file, which follow each other, have the same name."""
Edit = tuple[int, int, str]
"""Start and end of a stretch of a text, and what takes its place."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table.

    :param place: where it is: `line 17` or `row 17`.
    :param values: column -> value, of a type that the format has; None for what is not a row.
    :param texts: column -> the value as text: a string, or a number or date as it is written; without empty values.
    :param raw: what the table needs to write the row again.
    :param digest: SHA-256 of what was read.
    :param problem: why the row cannot be read, without text; empty if it can.
    :param edits: the edits that make the new text of a note, if its layout is to be kept.
    """

    place: str
    values: Mapping[str, Any] | None = field(default=None, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    raw: Any = field(default=None, repr=False)
    digest: bytes = field(default=b"", repr=False)
    problem: str = ""
    edits: Sequence[Edit] = field(default=(), repr=False)


Rewritten = tuple[Record, Mapping[str, str]]
"""A record, and the new text of each column that is replaced."""
Parsed = tuple[Mapping[str, Any] | None, Mapping[str, str], Any]
"""The values, texts and raw form of a `Record`."""


class Table(ABC):
    """Rows of named columns, read one at a time, and written again with other values in some columns.

    :param wanted: text columns that the table should have; the dialect of CSV is recognised by them.
    :cvar has_header: whether all records have the same columns.
    :ivar is_removed: which columns are not written.
    """

    has_header: ClassVar[bool] = True
    is_removed: Callable[[str], bool] = staticmethod(lambda name: False)

    def __init__(self, file: NoteFile, wanted: Collection[str] = ()) -> None:
        self.file, self.wanted = file, wanted

    @abstractmethod
    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        """The names of all columns; without a header all records are read; `looked` gets their count now and then."""

    @abstractmethod
    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """Each row, in order, with the values of these columns, or of all; blank lines are records without values.

        :raises CorpusError: if the file cannot be read.
        """

    def rewrites(self, is_removed: Callable[[str], bool], is_replaced: Callable[[str], bool]) -> None:
        """Prepare to write other texts, and fewer columns; :raises CorpusError: if a column cannot hold text."""
        self.is_removed = is_removed

    @abstractmethod
    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """Rows as bytes for `assemble`, packed if the output is compressed by its name.

        :raises UnicodeEncodeError: if the encoding lacks a character.
        :raises CorpusError: if the format cannot hold a text.
        """

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write encoded rows to a new file."""
        with target.open("xb") as file:
            file.writelines(chunks)

    def refuse_taken(self) -> None:  # noqa: B027
        """Refuse to begin if the place of an output that is not a file is taken; :raises SettingsError: if so."""

    def publish(self, *, replace: bool) -> None:  # noqa: B027
        """Put what `assemble` wrote in its place, if that is not a file; a second call changes nothing.

        :param replace: whether an earlier result of the same run is there.
        """


class LineTable(Table):
    """A table of lines; all but the columns that are replaced or removed stay the same, byte for byte."""

    encoding = "UTF-8"
    too_long: ClassVar[str] = "longer than the limit"

    @abstractmethod
    def parsed(self, text: str) -> Parsed:
        """A record; :raises ValueError: if it cannot be read, saying why without any of its text."""

    @abstractmethod
    def rewritten(self, raw: Any, old: Mapping[str, str], new: Mapping[str, str]) -> str:
        """A record with new texts in place of the old; what did not change is spelled as it was."""

    def record(self, place: str, content: bytes | None) -> Record:
        """The record at a place; it has a problem if `content` is None, as it was too long."""
        if content is None:
            return Record(place, problem=self.too_long)
        digest = sha256(content)
        try:
            values, texts, raw = self.parsed(content.decode(self.encoding))
        except UnicodeDecodeError as error:
            problem = f"not {self.encoding} at byte {error.start} of the record"
        except ValueError as error:
            problem = str(error)
        else:
            return Record(place, values, texts, raw, digest)
        return Record(place, digest=digest, problem=problem)

    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """Lines, as a gzip member without name and time if they are packed; members may follow each other."""
        lines = (self.rewritten(record.raw, record.texts, new) for record, new in rows)
        content = b"".join(line.encode(self.encoding) for line in lines)
        return gzip.compress(content, compresslevel=6, mtime=0) if packed and content else content


def not_written(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """The `render` of a format that is only read; :raises CorpusError: always."""
    raise CorpusError("the format is read and not written; name another")


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write annotated notes to disk.

    :param name: as the user writes it, for example `i2b2`.
    :param description: what the files look like, in a few words.
    :param suffixes: how the names of its files end.
    :param read: the notes of a file; errors of the whole file are raised.
    :param render: the files of notes whose labels are in a label set; raises CorpusError for what it cannot express.
    :param single_file: whether all notes are written to one file rather than to a folder with files of each note.
    :param is_utf8: whether the format prescribes UTF-8; others may be read and written in another encoding.
    :param table: reads and writes rows, if the format has columns.
    :param beside: the names of files beside the notes that are not notes.
    :param written: the format in which notes of one that is only read are written.
    :param rewritten: if asked for in place of `written`: the file with other text in its layout, from its present text
        and the edits.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    read: Callable[[NoteFile], Notes]
    render: Callable[[Iterable[Document], LabelSet], Pieces] = not_written
    single_file: bool = False
    label_set: str | None = None
    is_utf8: bool = False
    table: type[Table] | None = None
    beside: tuple[str, ...] = ()
    written: Format | None = None
    rewritten: Callable[[NoteFile, str, Sequence[Edit]], bytes] | None = None

    def written_name(self, name: str) -> str:
        """The name of the output file for a note's file."""
        return os.path.splitext(name)[0] + self.written.suffixes[0] if self.written and self.is_of(name) else name

    def is_of(self, path: Path | str) -> bool:
        """Whether the name of a file has an ending of the format."""
        return str(path).lower().endswith(self.suffixes)


def read_table(kind: type[Table], file: NoteFile) -> Notes:
    """The rows of a table as notes; :raises CorpusError: for a missing column, and a file that cannot be read."""
    columns = file.how.columns
    table = kind(file, (columns.text,))
    names, n_notes = dict.fromkeys(table.names() if table.has_header else ()), 0
    if table.has_header:
        columns.check(file.name, table.names())
    wanted = (columns.id, columns.text, columns.patient, columns.unit, SPANS)
    for record in table.records([name for name in wanted if name]):
        place = f"{file.name}, {record.place}"
        if record.problem:
            is_encoding = record.problem.lower().startswith("not utf-8")
            ways = "convert it to UTF-8" if is_encoding else "correct or remove it"
            yield CorpusError(f"{place}: {record.problem}; {ways}")
        elif record.values is not None:
            if not table.has_header:
                columns.check_record(place, [*record.values])
                names |= dict.fromkeys(record.values)
            n_notes += 1
            yield read_record(place, record.values, columns, annotated=file.how.annotated)
    if n_notes:
        columns.check(file.name, [*names])
    file.how.warnings.update(columns.remarks(names, n_notes if table.has_header else 0))


def sha256(content: bytes) -> bytes:
    """The SHA-256 of bytes, as 32 bytes."""
    return hashlib.sha256(content).digest()
