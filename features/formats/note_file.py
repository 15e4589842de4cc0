"""A file of notes as a reader gets it: its text or its lines, and what is noted on the way.

    file = NoteFile(Path("notes.conll"), Reading(encoding="cp1252"))
    for line in file.text_lines(): ...
    file.how.warnings["discontinuous spans joined"] += 1

Lines are read in blocks, so memory does not grow with the file. Whatever cannot be read is a `CorpusError` that names
the file.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from phistack.features.documents import patient_of
from phistack.features.errors import CorpusError
from phistack.features.files import decoded, lines_of, opened, read_at_most
from phistack.features.formats.columns import USUAL_NAMES, ColumnNames

_HEAD = 2**16


@dataclass(slots=True)
class Reading:
    """How files are read, and what was noted on the way.

    :param columns: the names of the columns, of formats that have columns.
    :param encoding: of formats that need not be UTF-8.
    :param longest: bytes of a line, or of a file that is read whole; what is longer is no note.
    :param annotated: whether spans are wanted; otherwise nothing of them is read.
    :param is_run: whether a batch run reads them: ids count from the given folder on, reasons do not name the file,
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
    :param seed: what the digest begins with.
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
        """Whose note it is by the name of the file, in whatever folder."""
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
        """The whole text, with its byte order mark and line ends; :raises CorpusError: as `content` does.

        :param encoding: that the format prescribes.
        """
        return decoded(self.content(), self.name, encoding or self.how.encoding)

    def lines(self) -> Iterator[bytes | None]:
        """Each line with its end, None for one that is too long; :raises CorpusError: if the file cannot be read."""
        with opened(self.path, self.name) as (file, share):
            for line in lines_of(file, self.how.longest):
                self.digest.update(line or b"")
                self.fraction = share()
                yield line

    def text_lines(self) -> Iterator[str]:
        """Each line without its end and the byte order mark; :raises CorpusError: if it cannot be read."""
        at = 0
        for number, line in enumerate(self.lines(), 1):
            if line is None:
                raise CorpusError(f"{self.name}, line {number}, is longer than the limit of {self.how.longest:,} bytes")
            text = decoded(line, self.name, self.how.encoding, at)
            at += len(line)
            yield (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\n").removesuffix("\r")
