"""The rows of a run's input, whatever its format, and the output in the same form.

    form = open_format(Path("notes.csv.gz"), Path("out.csv.gz"), FormatSettings())
    for row in form.rows(): ...
    Row("line 17", record, digest, "110-01", "110", (Part("Dr. Ames"),))       a note
    Row("line 18", record, digest, problem="not valid JSON")                   a note that cannot be read
    Row("line 19", record, digest)                                             no note: passes as it is

Rows are read one at a time, the rows of a chunk are written as bytes, and the chunks of a run are joined into the
output, from which the same rows can be read again. Annotation in the input is never read or copied: it quotes PHI.
"""

from __future__ import annotations

import codecs
import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from phistack.ensemble.batch.columns import KEEP, PSEUDONYM, REMOVE, Columns, engine_label
from phistack.ensemble.engine.steps import LONGEST_PIECE
from phistack.ensemble.tools.progress import meter
from phistack.features.documents import Document
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats.database_table import DATABASE
from phistack.features.formats.fields import FieldTable
from phistack.features.formats.format import NoteFile, Reading, Record, Table, sha256
from phistack.features.formats.found import NOTE, Found, NoteTable
from phistack.features.formats.recognise import FORMATS, RECORDS, format_by_ending, format_named, recognise
from phistack.features.formats.records import id_in, patient_in
from phistack.features.labels import LabelSet

TABLES = (*(format.name for format in (FORMATS | RECORDS).values() if format.table), DATABASE.name)
"""The formats that have columns."""

NO_LIMIT = 2**62
"""A limit in bytes that no note exceeds."""

_FIRST_ROWS, _MANY_WRONG = 1000, 5
_OTHER_ENCODING = re.compile(r"not \S+ at byte")


def text_digest(text: str, key: bytes | None) -> str:
    """SHA-256 of a text as UTF-8, or HMAC-SHA256 under a key, as short texts could be guessed from a plain hash."""
    content = text.encode("utf-8", "surrogatepass")
    if key is None:
        return sha256(content).hex()
    # The prefix keeps these apart from all else that the key signs: a note with the text `patient:110` must not write
    # the secret of that patient's surrogates into the audit log.
    return hmac.digest(key, b"text:" + content, "sha256").hex()


def texts_digest(texts: Sequence[str], key: bytes | None) -> str:
    """`text_digest` of the only text, or of several as a JSON list."""
    return text_digest(texts[0] if len(texts) == 1 else json.dumps(texts), key)


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """How to read an input.

    :param encoding: the encoding of text, brat, CoNLL and CSV files; XML, JSON and Parquet are UTF-8 by definition.
    :param max_bytes: a longer note is not read but goes to quarantine.
    :param write: `docx` to write Word documents as Word documents; empty to write them as text.
    """

    columns: Columns = field(default_factory=Columns)
    encoding: str = "utf-8"
    max_bytes: int = Reading().longest
    write: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a row that is to be de-identified.

    :param label: the label of the whole text, if it is one identifier; empty if the detector must read it.
    :param is_coded: whether a code replaces the whole text, whatever the policy.
    """

    text: str = field(repr=False)
    label: str = ""
    is_coded: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the input.

    :param place: where it is: `line 17`, or the path of a file within its folder.
    :param raw: the record, if it can be read; workers need none.
    :param digest: SHA-256 of what was read, 32 bytes.
    :param parts: the texts of the note, in order; none if the row is not a note or cannot be read.
    :param kept: column and value of what passes unchanged.
    :param problem: why the row cannot be read, without text; empty if it can.
    """

    place: str
    raw: Record | None = field(repr=False)
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

    @property
    def documents(self) -> tuple[Document, ...]:
        """Each part for the engine."""
        return tuple(Document(self.id, part.text, (), self.patient) for part in self.parts)

    @property
    def units(self) -> int:
        """By how much the time limit is multiplied."""
        return 1 + sum(len(part.text) for part in self.parts) // LONGEST_PIECE

    def labelled(self, labels: LabelSet) -> Row:
        """The same note, with the engine's labels in place of those of the columns."""
        return replace(self, parts=tuple(replace(p, label=engine_label(p.label, labels)) for p in self.parts))


class InputFormat:
    """An input and its output.

    :param target: the output; a table is gzipped if its name ends in .gz.
    :ivar table: reads and writes it; `table.file.fraction` is how much of it was read, in [0, 1].
    :ivar columns: the treatment of each, after `find_columns`; notes without columns have those of their files.
    """

    def __init__(self, found: Found, target: Path, settings: FormatSettings) -> None:
        self.found, self.target, self.settings, self.name = found, target, settings, found.format.name
        self.written = (found.format.written or found.format).name
        kind, self.columns = found.format.table, settings.columns
        if kind and issubclass(kind, FieldTable):
            self.table: Table = kind(found, self.columns.others)
        elif kind:
            self.table = kind(NoteFile(found.path, found.how), self.columns.texts)
        else:
            self.table = NoteTable(found)
            self.columns = Columns(others=dict.fromkeys(self.table.names()[1:], KEEP))

    def state(self) -> str:
        """SHA-256 over the size and time of the input's files, which shows changes without reading them."""
        path = self.found.path
        names = (name for name, kind in self.found.files() if kind == NOTE)
        # A link counts as itself.
        files = ((n, os.lstat(path / n)) for n in names) if self.found.is_folder else [("", path.stat())]
        digest = hashlib.sha256()
        for name, of in files:
            digest.update(f"{len(os.fsencode(name))}:{of.st_size}:{of.st_mtime_ns}:".encode() + os.fsencode(name))
        return digest.hexdigest()

    def find_columns(self, *, keyed: bool) -> Columns | None:
        """The treatment of each column in the input; None for a format without columns.

        :raises CorpusError: if a column is missing, doubled or has no treatment, or a value cannot be treated as asked.
        :raises SettingsError: if columns are named that the format cannot have, or a pseudonym lacks a key.
        """
        if self.name not in TABLES:
            if self.settings.columns.others:
                raise SettingsError(f"notes in the format {self.name} have no columns; leave out --column")
            return None
        if isinstance(self.table, FieldTable):
            self.columns = self.settings.columns.of_rules(self.name, self.table.rules, keyed=keyed)
            return self.columns
        if self.table.has_header:
            names = self.table.names()
        else:
            with meter("looking at the columns") as show:
                names = self.table.names(lambda n: show(n, self.table.file.fraction, 0))
        if names or self.table.has_header:
            self.columns = self.settings.columns.found(str(self.found.path), names, keyed=keyed)
        return self.columns

    def refuse_other_encoding(self, least: int = _MANY_WRONG) -> None:
        """Refuse an input whose first rows are all in another encoding, before the work begins.

        :raises CorpusError: saying what to do.
        """
        rows = [row for row in islice(self.rows(), _FIRST_ROWS) if row.is_note]
        wrong = [row for row in rows if _OTHER_ENCODING.search(row.problem)]
        if len(wrong) >= least and all(text.isascii() for row in rows for text in row.texts):
            other = "cp1252" if self.settings.encoding == "utf-8" else "utf-8"
            ways = "convert it to UTF-8" + ("" if self.found.format.is_utf8 else f", or give --encoding {other}")
            raise CorpusError(
                f"{self.found.path} seems to be in another encoding than {self.settings.encoding}: {len(wrong)} of its "
                f"first {len(rows)} notes cannot be read; {ways}"
            )

    def rows(self) -> Iterator[Row]:
        """A row for each note, and for what is between notes of a table, one at a time in memory.

        :raises CorpusError: if nothing of the input can be read.
        """
        if self.name in TABLES and self.table.has_header:
            self.find_columns(keyed=True)
        columns = self.columns
        self.table.rewrites(lambda n: columns.treatment(n) == REMOVE, lambda n: columns.label(n) is not None)
        return map(self._row, self.table.records((columns.id or "", columns.patient or "")))

    def _row(self, record: Record) -> Row:
        columns, place, values = self.columns, record.place, record.values or {}
        if record.values is None and not record.problem:
            return Row(place, record, record.digest)
        id = place if columns.id is None else id_in(values.get(columns.id))
        patient = patient_in(values.get(columns.patient or ""), id or place)
        problem = record.problem or ("" if id else f"{columns.id} is missing or not a valid id")
        if not patient or (columns.is_patient_named and columns.patient not in values):
            problem = problem or f"{columns.patient} is missing or not a valid name of a patient"
        problem = problem or ("" if self.table.has_header else self._problem(record))
        if problem:
            return Row(place, None, record.digest, id or place, patient, problem=problem)
        labels = {name: columns.label(name) for name in record.texts}
        parts = tuple(
            Part(record.texts[name], label, columns.treatment(name) == PSEUDONYM)
            for name, label in labels.items()
            if label is not None
        )
        passed = (name for name in record.texts if columns.treatment(name) == KEEP)
        kept = tuple((columns.plain(name), record.texts[name]) for name in passed)
        return Row(place, record, record.digest, id, patient, parts, kept)

    def _problem(self, record: Record) -> str:
        """Why the values of a JSON line cannot be treated as asked; empty if they can."""
        columns, values = self.columns, record.values or {}
        texts = [values[name] for name in columns.texts if name in values]
        if not texts or not all(isinstance(text, str | None) for text in texts):
            return f"{' or '.join(columns.texts)} is missing or is not a string"
        if not all(map(columns.treatment, values)):
            return "it has a column that no option names"
        treated = (name for name, value in values.items() if isinstance(value, bool | list | dict))
        wrong = (name for name in treated if columns.label(name) is not None)
        return next((f"{name} is neither a string nor a number" for name in wrong), "")

    def encode(self, rows: Iterable[tuple[Row, Sequence[str]]]) -> bytes:
        """Rows with a new text for each part, as bytes for the `assemble` of the table.

        :raises UnicodeEncodeError: if the encoding of the output lacks a character.
        :raises CorpusError: if the format cannot hold a text.
        """
        rewritten = []
        for row, texts in rows:
            if row.raw is not None:
                names = (name for name in row.raw.texts if self.columns.label(name) is not None)
                rewritten.append((row.raw, dict(zip(names, texts, strict=True))))
        return self.table.encode(rewritten, packed=self.target.suffix == ".gz")


def open_format(path: Path, target: Path, settings: FormatSettings, name: str = "") -> InputFormat:
    """Open an input.

    :param name: the name of the format; empty to recognise it.
    :raises CorpusError: if nothing is there, it is of no known format, or it is a table in a folder.
    :raises SettingsError: for an encoding that does not exist.
    """
    _check_encoding(settings.encoding)
    how = Reading(encoding=settings.encoding, longest=settings.max_bytes, annotated=False, is_run=True)
    # The output of a run in which no note came out is an empty folder.
    found = Found(format_named(name), path, path, how) if name and path.is_dir() else recognise(path, name, how)
    if settings.write:
        if found.format.rewritten is None or found.format.name != settings.write:
            raise SettingsError(
                f"--write takes docx, for notes in this format; those in {path} are {found.format.name}"
            )
        found = replace(found, format=replace(found.format, written=None))
    if found.is_folder and found.format.single_file and found.format.name not in RECORDS:
        raise CorpusError(f"{path} is a folder; notes in the format {found.format.name} must be given as a file")
    if not found.is_folder:
        NoteFile(path).head()
    return InputFormat(found, target, settings)


def laid_out(source: Path, layout: str, settings: FormatSettings) -> FormatSettings:
    """The settings with the columns of a table of a known layout; :raises CorpusError: if the input is not a table."""
    opened = open_format(source, source, settings)
    if opened.name not in TABLES:
        raise CorpusError(f"{source} is {opened.name} and no table; {layout} names columns of {', '.join(TABLES)}")
    return replace(settings, columns=settings.columns.of_layout(layout, opened.table.names()))


def refuse_other_ending(form: InputFormat, target: Path) -> None:
    """Refuse an output with the file ending of another table format.

    :raises SettingsError: with the format that it would have.
    """
    named = format_by_ending(target)
    if form.found.format.written and not form.found.is_folder and form.found.format.is_of(target):
        raise SettingsError(f"{target} would be written as {form.written}; give it the ending .txt")
    if named in TABLES and named != form.name and not form.found.format.is_of(target):
        ways = f"give it the file ending of {form.name}" if form.name in TABLES else "give it another"
        raise SettingsError(f"{target} would be written as {form.name}, the format of the input, not {named}; {ways}")


def _check_encoding(encoding: str) -> None:
    """Refuse what is neither UTF-8 nor a single-byte encoding that begins with ASCII."""
    try:
        single = len("\u00e9\u20ac".encode().decode(encoding, "replace")) == 5
        ascii_first = bytes(range(128)).decode(encoding) == bytes(range(128)).decode("ascii")
        known = codecs.lookup(encoding).name == "utf-8" or (single and ascii_first)
    except (LookupError, UnicodeError):
        known = False
    if not known:
        raise SettingsError(f"the encoding {encoding} is unknown; give utf-8 or a single-byte one such as cp1252")
