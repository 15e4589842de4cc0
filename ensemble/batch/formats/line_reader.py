"""Lines of a file as bytes, one at a time, however long the file is; gzip by the ending `.gz`.

reader = LineReader(path, max_bytes=2**26)
for line in reader: ...        with its line end; nothing for a line that is too long
reader.fraction()              how much of the file was read
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from features.errors import CorpusError
from features.regular_files import open_regular

__all__ = ["LineReader", "compressed", "write_chunks"]


class LineReader:
    """Reads lines.

    :param path: a file, gzipped if its name ends in `.gz`.
    :param max_bytes: a longer line is skipped.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._size = max(1, path.stat().st_size)
        self._position = 0

    def __iter__(self) -> Iterator[bytes | None]:
        """Each line with its end; None for one that is too long.

        :raises CorpusError: if the file cannot be read, or a gzip file is damaged.
        """
        try:
            with open_regular(self.path) as file:
                yield from self._lines(file)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise CorpusError(f"{self.path} is a damaged gzip file; get a complete copy of it") from None

    def _lines(self, file: IO[bytes]) -> Iterator[bytes | None]:
        lines = io.BufferedReader(gzip.GzipFile(fileobj=file)) if self.path.suffix == ".gz" else file
        while line := lines.readline(self.max_bytes + 1):
            self._position = file.tell()
            if len(line) <= self.max_bytes:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = lines.readline(2**20)
            yield None
        self._position = self._size

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return min(1.0, self._position / self._size)


def compressed(content: bytes, path: Path) -> bytes:
    """The content as a gzip member without name and time, if the path ends in `.gz`; members may follow each other."""
    return gzip.compress(content, compresslevel=6, mtime=0) if path.suffix == ".gz" and content else content


def write_chunks(chunks: Iterable[bytes], target: Path) -> None:
    """Write bytes one after the other."""
    with target.open("xb") as file:
        for chunk in chunks:
            file.write(chunk)
