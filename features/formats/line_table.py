"""Tables whose rows are lines of text: JSON lines and CSV, also gzipped."""

from __future__ import annotations

import gzip
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from phistack.features.formats.format import Record, Rewritten, Table, sha256

Parsed = tuple[Mapping[str, Any] | None, Mapping[str, str], Any]
"""The values, texts and raw form of a `Record`."""


class LineTable(Table):
    """A table of lines, of which only the columns that are replaced or removed change, byte for byte."""

    encoding = "UTF-8"
    too_long: ClassVar[str] = "longer than the limit"

    @abstractmethod
    def parsed(self, text: str) -> Parsed:
        """A record; :raises ValueError: if it cannot be read, saying why without any of its text."""

    @abstractmethod
    def rewritten(self, raw: Any, old: Mapping[str, str], new: Mapping[str, str]) -> str:
        """A record with new texts in the place of the old; what did not change is spelled as it was."""

    def record(self, place: str, content: bytes | None) -> Record:
        """What was read at a place; nothing if that is too long."""
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
