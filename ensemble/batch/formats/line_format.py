"""What forms of one file with a record a line, or some lines, have in common; gzip by the ending `.gz`.

    for line in form.lines(): ...        bytes with the line end; nothing for a line that is too long
    form.fraction()                      how much of the file was read
    form.encode(rows)                    each record with its gaps filled

Lines are read one at a time, however long the file is.
"""

from __future__ import annotations

import gzip
import io
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from phistack.ensemble.batch.formats.rows import FormatSettings, Frame, InputFormat, Row
from phistack.features.errors import CorpusError
from phistack.features.regular_files import open_regular


class LineFormat(InputFormat):
    """A form whose rows have a `Frame`.

    :ivar encoding: of the output.
    """

    encoding = "utf-8"

    def __init__(self, path: Path, target: Path, settings: FormatSettings) -> None:
        super().__init__(path, target, settings)
        self._size = max(1, path.stat().st_size)
        self._position = 0

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return min(1.0, self._position / self._size)

    def lines(self) -> Iterator[bytes | None]:
        """Each line with its end; None for one that is too long.

        :raises CorpusError: if the file cannot be read, or a gzip file is damaged.
        """
        try:
            with open_regular(self.path) as file:
                yield from self._read(file)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise CorpusError(f"{self.path} is a damaged gzip file; get a complete copy of it") from None

    def _read(self, file: IO[bytes]) -> Iterator[bytes | None]:
        lines = io.BufferedReader(gzip.GzipFile(fileobj=file)) if self.path.suffix == ".gz" else file
        longest = self.settings.max_bytes
        while line := lines.readline(longest + 1):
            self._position = file.tell()
            if len(line) <= longest:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = lines.readline(2**20)
            yield None
        self._position = self._size

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """The records, as a gzip member without name and time if the output is to be; members may follow each other.

        :raises UnicodeEncodeError: if the encoding lacks a character.
        """
        content = b"".join(map(self._record, rows))
        return gzip.compress(content, compresslevel=6, mtime=0) if self.target.suffix == ".gz" and content else content

    def _record(self, row: tuple[Row, Sequence[str]]) -> bytes:
        old, texts = row
        frame: Frame = old.raw
        return frame.filled(map(self.spelled, frame.spelled, old.texts, texts)).encode(self.encoding)

    @abstractmethod
    def spelled(self, spelled: str, old: str, new: str) -> str:
        """How a new text is written in the place of an old one that was spelled so."""

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the records of all chunks."""
        with target.open("xb") as file:
            file.writelines(chunks)
