"""The rows of a run's input, whatever its format, and the output in the same form.

    form = open_format(Path("notes.csv.gz"), Path("out.csv.gz"), FormatSettings())
    for row in form.rows(): ...
    Row("line 17", raw, digest, "110-01", "110", (Part("Dr. Ames"),))       a note
    Row("line 18", raw, digest, problem="not valid JSON")                   a note that cannot be read
    Row("line 19", raw, digest)                                             no note: passes as it is

Rows are read one at a time, the rows of a chunk are written as bytes, and the chunks of a run are joined into the
output, of which the same rows can be read again. Annotation in the input is never read or copied, as it quotes PHI.
"""

from __future__ import annotations

import codecs
import hashlib
import hmac
import json
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.columns import KEEP, PSEUDONYM, REMOVE, Columns
from phistack.ensemble.tools.progress import meter
from phistack.features.documents import Document
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats.columns import id_in, patient_in
from phistack.features.formats.format import Pieces
from phistack.features.formats.note_file import LONGEST_NOTE, NoteFile
from phistack.features.formats.recognise import BESIDE, FORMATS, NOTE, Found, format_named, format_told_by, recognise
from phistack.features.formats.tables import Record, Table, sha256
from phistack.features.labels import LabelSet

TABLES = tuple(format.name for format in FORMATS.values() if format.table)
"""The formats that have columns."""

NO_LIMIT = 2**62
"""As the greatest length of a note in bytes."""

FILE_NAMES, NOTE_IDS = "the names of files", "the ids of notes"
"""What the search for identifiers calls what passes as it is, besides columns."""

_NO_PATIENT = "{} is missing or not a valid name of a patient"
_NO_LABELS = LabelSet("none", {})
_FIRST_ROWS, _MANY_WRONG = 1000, 5
_OTHER_ENCODING = re.compile(r"not \S+ at byte")


def text_digest(text: str, key: bytes | None) -> str:
    """SHA-256 of a text as UTF-8, or HMAC-SHA256 under a key, as what is short could be guessed from a plain hash."""
    content = text.encode("utf-8", "surrogatepass")
    if key is None:
        return sha256(content).hex()
    # The beginning keeps these apart from all else that the key signs: a note must not be able to say `patient:110`
    # and so have the secret of that patient's surrogates written into the audit log.
    return hmac.digest(key, b"text:" + content, "sha256").hex()


def texts_digest(texts: Sequence[str], key: bytes | None) -> str:
    """`text_digest` of the only text, or of several as a JSON list."""
    return text_digest(texts[0] if len(texts) == 1 else json.dumps(texts), key)


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """How to read an input.

    :param columns: of tables.
    :param encoding: of text, brat, CoNLL and CSV files; XML, JSON and Parquet are UTF-8 by definition.
    :param max_bytes: what is longer is not read but goes to quarantine.
    """

    columns: Columns = field(default_factory=Columns)
    encoding: str = "utf-8"
    max_bytes: int = LONGEST_NOTE


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a row that is to be de-identified.

    :param label: of the identifier that the whole text is; empty if the detector must look for some.
    :param is_coded: whether a code of the whole text takes its place, whatever the policy.
    """

    text: str = field(repr=False)
    label: str = ""
    is_coded: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the input.

    :param place: where it is: `line 17`, or the path of a file within its folder.
    :param raw: what its form needs to write it again.
    :param digest: SHA-256 of what was read, 32 bytes.
    :param id: names the note in reports.
    :param patient: whose note it is.
    :param parts: the texts of the note, in order; none if the row is no note or cannot be read.
    :param kept: column and value of what passes as it is.
    :param problem: why the row cannot be read, without text; empty if it can.
    """

    place: str
    raw: Any = field(repr=False)
    digest: bytes = field(repr=False)
    id: str = ""
    patient: str = field(default="", repr=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)
    kept: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    problem: str = ""

    @property
    def is_note(self) -> bool:
        """Whether the row is a note, readable or not."""
        return bool(self.parts or self.problem)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each part."""
        return tuple(part.text for part in self.parts)


class InputFormat(ABC):
    """An input and its output.

    :param found: the input.
    :param target: the output, gzipped if its name ends in .gz and the format allows it.
    :param settings: how to read it.
    :ivar columns: what becomes of each, after `find_columns`.
    :ivar passed_over: what was not read as notes, and how many files of it there are; known when `rows` has begun.
    """

    def __init__(self, found: Found, target: Path, settings: FormatSettings) -> None:
        self.found, self.target, self.settings, self.columns = found, target, settings, settings.columns
        self.name = found.format.name
        self.passed_over: dict[str, int] = {}

    def state(self) -> str:
        """What changes when somebody changes the input, without reading it: SHA-256 over size and time of its files."""
        path = self.found.path
        names = (name for name, kind in self.found.files() if kind == NOTE)
        # A link counts as itself.
        files = ((n, os.lstat(path / n)) for n in names) if self.found.is_folder else [("", path.stat())]
        digest = hashlib.sha256()
        for name, of in files:
            digest.update(f"{len(os.fsencode(name))}:{of.st_size}:{of.st_mtime_ns}:".encode() + os.fsencode(name))
        return digest.hexdigest()

    def refuse_other_encoding(self) -> None:
        """Refuse an input whose first rows are all in another encoding, before the work begins.

        :raises CorpusError: saying what to do.
        """
        rows = [row for row in islice(self.rows(), _FIRST_ROWS) if row.is_note]
        wrong = [row for row in rows if _OTHER_ENCODING.search(row.problem)]
        if len(wrong) >= _MANY_WRONG and all(text.isascii() for row in rows for text in row.texts):
            is_given = self.found.format.table is None or self.name == "csv"
            ways = "name it with --encoding, such as cp1252" if is_given else "convert the file to UTF-8"
            raise CorpusError(
                f"{self.found.path} seems to be in another encoding than {self.settings.encoding}: {len(wrong)} of its "
                f"first {len(rows)} notes cannot be read; {ways}"
            )

    @abstractmethod
    def find_columns(self, *, keyed: bool) -> Columns | None:
        """What becomes of each column that is there; None for a format without columns.

        :param keyed: whether the run has a key.
        :raises CorpusError: if a column is missing, doubled or has no treatment, or a value cannot be treated as asked.
        :raises SettingsError: if columns are named that the format cannot have, or a pseudonym lacks a key.
        """

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Every row, in order, one at a time in memory; :raises CorpusError: if nothing of the input can be read."""

    @abstractmethod
    def fraction(self) -> float:
        """How much of the input `rows` has read, in [0, 1]."""

    @abstractmethod
    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """Rows with a new text for each part, as bytes for `assemble`.

        :raises UnicodeEncodeError: if the encoding of the output lacks a character.
        :raises CorpusError: if the format cannot hold a text.
        """

    @abstractmethod
    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the output from encoded chunks; the target does not exist."""


class TableInput(InputFormat):
    """A table, of which only what the columns' treatments ask for changes."""

    def __init__(self, found: Found, target: Path, settings: FormatSettings, kind: type[Table]) -> None:
        super().__init__(found, target, settings)
        file = NoteFile(found.path, encoding=settings.encoding, longest=settings.max_bytes)
        self._table = kind(file, settings.columns.texts)

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return self._table.file.fraction

    def find_columns(self, *, keyed: bool) -> Columns:
        """The columns of the header, or of all lines."""
        if self._table.has_header:
            names = self._table.header()
        else:
            with meter("looking at the columns") as show:
                names = self._table.names(lambda n: show(n, self.fraction(), 0))
        if names or self._table.has_header:
            self.columns = self.settings.columns.found(str(self.found.path), names, keyed=keyed)
        return self.columns

    def rows(self) -> Iterator[Row]:
        """A row for each record, and for what is between them."""
        if self._table.has_header:
            self.find_columns(keyed=True)
        columns = self.columns
        self._table.rewrites(lambda n: columns.treatment(n) == REMOVE, lambda n: columns.label(n) is not None)
        for record in self._table.records((columns.id or "", columns.patient or "")):
            yield self._row(record)

    def _row(self, record: Record) -> Row:
        columns, place, values = self.columns, record.place, record.values
        if values is None:
            named = place if record.problem else ""
            raw = None if record.problem else record
            return Row(place, raw, record.digest, named, named, problem=record.problem)
        id = place if columns.id is None else id_in(values.get(columns.id))
        patient = patient_in(values.get(columns.patient or ""), id or place)
        problem = "" if id else f"{columns.id} is missing or not a valid id"
        if not patient or (columns.is_patient_named and columns.patient not in values):
            problem = problem or _NO_PATIENT.format(columns.patient)
        problem = problem or ("" if self._table.has_header else self._problem(record))
        if problem:
            return Row(place, None, record.digest, id or place, patient, problem=problem)
        parts = tuple(
            Part(text, label, columns.treatment(name) == PSEUDONYM)
            for name, text in record.texts.items()
            if (label := columns.label(name)) is not None
        )
        kept = tuple((name, record.texts[name]) for name in columns.having(KEEP) if name in record.texts)
        return Row(place, record, record.digest, id, patient, parts, kept)

    def _problem(self, record: Record) -> str:
        """Why values of their own names and types cannot be treated as is asked; empty if they can."""
        columns, values = self.columns, record.values or {}
        if not values.keys() & {*columns.texts} or not all(
            isinstance(values.get(n), str | None) for n in columns.texts
        ):
            return f"{' or '.join(columns.texts)} is missing or is not a string"
        if not all(map(columns.treatment, values)):
            return "it has a column that no option names"
        treated = ((name, value) for name, value in values.items() if columns.label(name) is not None)
        wrong = (name for name, value in treated if isinstance(value, bool | list | dict))
        return next((f"{name} is neither a string nor a number" for name in wrong), "")

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """Records with other texts."""
        rewritten = []
        for row, texts in rows:
            names = (name for name in row.raw.texts if self.columns.label(name) is not None)
            rewritten.append((row.raw, dict(zip(names, texts, strict=True))))
        return self._table.encode(rewritten, packed=self.target.suffix == ".gz")

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the records of all chunks."""
        self._table.assemble(chunks, target)


class NotesInput(InputFormat):
    """Files with a note each, in a folder or alone, or one file with many notes; the output has no spans."""

    _read = 0.0

    def fraction(self) -> float:
        """How many of the files were read, in [0, 1]."""
        return self._read

    def find_columns(self, *, keyed: bool) -> None:
        """There are none; :raises SettingsError: if an option names one."""
        if self.columns.others:
            raise SettingsError(f"notes in the format {self.name} have no columns; leave out --column")

    def rows(self) -> Iterator[Row]:
        """A row for each note, the files sorted by name within each folder."""
        found = Counter(kind for _, kind in self.found.files())
        total = max(1, found.pop(NOTE, 1))
        found.pop(BESIDE, None)
        self.passed_over = dict(found)
        is_single = self.found.format.single_file
        for number, name in enumerate(name for name, kind in self.found.files() if kind == NOTE):
            file = NoteFile(
                self.found.path / name if self.found.is_folder else self.found.path, os.path.splitext(name)[0],
                name="" if is_single else "the file", encoding=self.settings.encoding,
                longest=self.settings.max_bytes, annotated=False, seed=os.fsencode(name) + b"\0",
            )  # fmt: skip
            if is_single:
                for at, note in enumerate(self.found.format.read(file), 1):
                    self._read = file.fraction
                    yield self._row(name, note, file, f"note {at}")
            else:
                self._read = number / total
                yield self._row_of(file, name, f"file {number + 1}")
        self._read = 1.0

    def _row_of(self, file: NoteFile, name: str, shown: str) -> Row:
        """The row of a file with one note."""
        file.id = name if file.path.is_dir() else file.id
        if not id_in(file.id):
            return Row(shown, None, sha256(os.fsencode(name)), shown, shown, problem="its name is not a valid id")
        problem = _wrong_link(file.path, self.found.path) if self.found.is_folder else ""
        try:
            return self._row(name, CorpusError(problem) if problem else next(self.found.format.read(file)), file, name)
        except CorpusError as error:
            return self._row(name, error, file, name)

    def _row(self, name: str, note: Document | CorpusError, file: NoteFile, place: str) -> Row:
        digest, is_single = file.digest.digest(), self.found.format.single_file
        if isinstance(note, CorpusError):
            id, patient = (place, place) if is_single else (file.id, file.patient)
            return Row(place, None, digest, id, patient, problem=str(note))
        kept = ((NOTE_IDS, note.id),) if is_single else ((FILE_NAMES, note.id),) if self.found.is_folder else ()
        raw = name, replace(note, text="", spans=())
        return Row(place, raw, digest, id_in(note.id) or place, note.group, (Part(note.text),), kept)

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """Files, one after the other, after a line with their names and lengths; or notes, of one file, as JSON."""
        files = [file for row, texts in rows for text in texts for file in self._files(row.raw, text)]
        index = json.dumps([[name, len(content)] for name, content in files])
        return b"".join([index.encode(), b"\n", *(content for _, content in files)])

    def _files(self, raw: tuple[str, Document], text: str) -> Pieces:
        name, note = raw[0], replace(raw[1], text=text)
        if self.found.format.single_file:
            # Refuses here, note by note, what the format cannot hold.
            list(self._rendered([note]))
            yield "", json.dumps([note.id, note.text, note.group]).encode()
            return
        stem, ending = os.path.splitext(name)
        for number, (written, content) in enumerate(self._rendered([replace(note, id="note")])):
            suffix = written.removeprefix("note")
            if self.found.is_folder or number == 0:
                yield stem + (ending if ending.lower() == suffix else suffix), content

    def _rendered(self, notes: Iterable[Document]) -> Pieces:
        format, encoding = self.found.format, self.settings.encoding
        for name, content in format.render(notes, _NO_LABELS):
            yield name, content if format.is_utf8 else content.decode("utf-8").encode(encoding)

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the files, or the file, of all notes."""
        files = (file for chunk in chunks for file in _unpacked(chunk))
        if self.found.format.single_file:
            notes = (Document(id, text, (), group) for id, text, group in (json.loads(c) for _, c in files))
            with target.open("xb") as out:
                out.writelines(content for _, content in self._rendered(notes))
            return
        if self.found.is_folder:
            target.mkdir()
        for name, content in files:
            file = target / name if self.found.is_folder else target
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _unpacked(chunk: bytes) -> Pieces:
    index, _, contents = chunk.partition(b"\n")
    at = 0
    for name, length in json.loads(index):
        yield name, contents[at : at + length]
        at += length


def _wrong_link(file: Path, root: Path) -> str:
    """Why a link in a folder of notes is not followed; nothing if it may be, or is none."""
    if not file.is_symlink():
        return ""
    if file.is_dir():
        return "a link to a folder, which is not followed; put the folder itself in its place"
    inside = Path(os.path.realpath(root)) in Path(os.path.realpath(file)).parents
    return "" if inside else "a link to a file outside the input; put the file itself in its place"


def open_format(path: Path, target: Path, settings: FormatSettings, name: str = "") -> InputFormat:
    """Open an input.

    :param path: a file or folder.
    :param target: the output; a name that ends in .gz has a table gzipped.
    :param name: of the format; otherwise it is recognised.
    :raises CorpusError: if nothing is there, it is of no known format, or it is a table in a folder.
    :raises SettingsError: for an encoding that does not exist.
    """
    _check_encoding(settings.encoding)
    # The output of a run in which no note came out is an empty folder.
    found = Found(format_named(name), path, path) if name and path.is_dir() else recognise(path, name)
    if found.is_folder and found.format.single_file:
        raise CorpusError(f"{path} is a folder; notes in the format {found.format.name} must be given as a file")
    if not found.is_folder:
        NoteFile(path).check()
    table = found.format.table
    return TableInput(found, target, settings, table) if table else NotesInput(found, target, settings)


def refuse_other_ending(form: InputFormat, target: Path) -> None:
    """Refuse an output with the file ending of another table format, as it would not be read as what it is.

    :raises SettingsError: with the format that it would have.
    """
    named = format_told_by(target)
    if named in TABLES and named != form.name:
        ways = f"give it the file ending of {form.name}" if form.name in TABLES else "give it another"
        raise SettingsError(f"{target} would be written as {form.name}, the format of the input, not {named}; {ways}")


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
