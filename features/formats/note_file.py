"""A file of notes as a reader gets it: its content, its text or its lines, and what is noted on the way.

    file = NoteFile(Path("notes.jsonl.gz"))
    for line in file.lines(): ...       bytes with the line end, unpacked; None for a line that is too long
    file.fraction                       the share of the file that was read
    file.digest.digest()                SHA-256 of what was read

Lines are read in blocks, so memory does not grow with the file. Only regular files and standard input are read, and
whatever cannot be read is a `CorpusError` that names the file.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from phistack.features.documents import patient_of
from phistack.features.errors import CorpusError
from phistack.features.files import STANDARD_INPUT, standard_input
from phistack.features.formats.columns import USUAL_NAMES, ColumnNames
from phistack.features.regular_files import open_regular, read_at_most

LONGEST_NOTE = 64 * 2**20
"""Bytes of a line, or of a file that is read whole; what is longer is no note."""

_BLOCK = 2**16


class NoteFile:
    """A file, and how to read it.

    :param path: the file, or `STANDARD_INPUT`.
    :param id: of the note in it, if the file holds one note without an id; otherwise its name without the ending.
    :param name: how messages name the file; otherwise by its path.
    :param columns: the names of the columns, of formats that have columns.
    :param encoding: of formats that need not be UTF-8.
    :param longest: bytes of a line, or of a file that is read whole.
    :param annotated: whether spans are wanted; otherwise nothing of them is read.
    :param seed: what the digest begins with.
    :ivar warnings: oddities that were mended, and how often.
    :ivar categories: label -> category, in formats that have categories.
    """

    def __init__(
        self,
        path: Path,
        id: str = "",
        *,
        name: str = "",
        columns: ColumnNames = USUAL_NAMES,
        encoding: str = "utf-8",
        longest: int = LONGEST_NOTE,
        annotated: bool = True,
        seed: bytes = b"",
    ) -> None:
        self.path, self.name, self.id = path, name or str(path), id or path.stem
        self.columns, self.encoding, self.longest, self.annotated = columns, encoding, longest, annotated
        self.digest = hashlib.sha256(seed)
        self.fraction = 0.0
        self.warnings: Counter[str] = Counter()
        self.categories: dict[str, str] = {}

    @property
    def patient(self) -> str:
        """Whose note it is by the name of the file, in whatever folder."""
        return patient_of(self.id.rpartition("/")[2])

    def beside(self, suffix: str) -> NoteFile:
        """The file of the same name with another ending, read for the same note."""
        name = os.path.splitext(self.name)[0] + suffix
        return NoteFile(self.path.with_suffix(suffix), self.id, name=name, encoding=self.encoding, longest=self.longest)

    def check(self) -> None:
        """See that the file can be opened; :raises CorpusError: otherwise."""
        with self._opened():
            pass

    def head(self) -> bytes:
        """The first bytes; :raises CorpusError: if there are none to be had."""
        with self._opened() as file:
            return read_at_most(file, _BLOCK)

    def content(self) -> bytes:
        """All bytes; :raises CorpusError: if they cannot be read or are too many."""
        with self._opened() as file:
            content = read_at_most(file, self.longest + 1)
        if len(content) > self.longest:
            raise CorpusError(f"{self.name} is longer than the limit of {self.longest:,} bytes; split it")
        self.digest.update(content)
        self.fraction = 1.0
        return content

    def text(self, encoding: str = "") -> str:
        """The whole text, with its byte order mark and line ends; :raises CorpusError: as `content` does.

        :param encoding: of a format that prescribes one.
        """
        return self._decoded(self.content(), encoding or self.encoding)

    def text_lines(self) -> Iterator[str]:
        """Each line without its end; :raises CorpusError: if it cannot be read."""
        at = 0
        for number, line in enumerate(self.lines(), 1):
            if line is None:
                raise CorpusError(f"{self.name}, line {number}, is longer than the limit of {self.longest:,} bytes")
            text = self._decoded(line, self.encoding, at)
            at += len(line)
            yield (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\n").removesuffix("\r")

    def lines(self) -> Iterator[bytes | None]:
        """Each line with its end, None for one that is too long; :raises CorpusError: if the file cannot be read.

        Lines end as the first one does: with a newline, or with a carriage return alone, as old Macs wrote them.
        """
        with self._opened() as file:
            end, begun, length = b"", list[bytes](), 0
            while block := file.read(_BLOCK):
                self.fraction = self._raw.tell() / self._size
                end = end or (b"\r" if b"\r" in block and b"\n" not in block else b"\n")
                *whole, rest = block.split(end)
                for piece in whole:
                    is_short = length + len(piece) < self.longest
                    yield self._noted(b"".join((*begun, piece, end)) if is_short else None)
                    begun, length = [], 0
                length += len(rest)
                begun = [*begun, rest] if length <= self.longest else []
            if length:
                yield self._noted(b"".join(begun) if length <= self.longest else None)
        self.fraction = 1.0

    def _noted(self, line: bytes | None) -> bytes | None:
        self.digest.update(line or b"")
        return line

    def _decoded(self, content: bytes, encoding: str, at: int = 0) -> str:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError as error:
            where = f"at byte {at + error.start}"
            raise CorpusError(f"{self.name} is not {encoding} {where}; convert it to UTF-8") from None

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The file, unpacked if its name ends in `.gz`."""
        try:
            with io.BytesIO(standard_input()) if self.path == STANDARD_INPUT else open_regular(self.path) as file:
                self._raw, self._size = file, max(1, file.seek(0, os.SEEK_END))
                file.seek(0)
                packed = self.path.suffix.lower() == ".gz"
                yield cast(IO[bytes], gzip.GzipFile(fileobj=file)) if packed else file
        except gzip.BadGzipFile:
            raise CorpusError(f"{self.name} is not a gzip file, although its name says so; rename it") from None
        except (EOFError, zlib.error):
            raise CorpusError(f"{self.name} is a damaged gzip file; get a complete copy of it") from None
        except OSError as error:
            raise CorpusError(f"{self.name} cannot be read: {error.strerror}") from None
