"""Reading and writing text in strict UTF-8.

    with opened(Path("notes.jsonl.gz")) as (file, share):      unpacked; or standard input
        for line in lines_of(file, 2**26): ...                 bytes with the line end; None for a line that is too long
    read_text(Path("110-01.txt"))                              the text, code point for code point

A byte order mark is kept as U+FEFF, and line ends are unchanged.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.regular_files import LONGEST_FILE, SupportsRead, open_regular, read_at_most
from phistack.features.shown import shown_id

STANDARD_INPUT = Path("/dev/stdin")
"""The path that means standard input; a note in it without an id is named `stdin`."""

_UNSAFE_PART = re.compile(r"^\.|^$|[\\\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_RETURN_ALONE = re.compile(rb"[^\r\n]*\r[^\n]")
_BLOCK = 2**16


@cache
def standard_input() -> bytes:
    """All of standard input, kept for further calls; :raises CorpusError: if it is too long."""
    content = read_at_most(sys.stdin.buffer, LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise CorpusError(f"standard input has more than {LONGEST_FILE} bytes; split it into parts")
    return content


@contextmanager
def opened(path: Path, name: str = "") -> Iterator[tuple[SupportsRead, Callable[[], float]]]:
    """A regular file or standard input, unpacked if its name ends in `.gz`, and a function for the share read so far.

    :param name: of the file, for messages.
    :raises CorpusError: if it cannot be read, at the beginning or in the block.
    """
    name = name or str(path)
    try:
        with io.BytesIO(standard_input()) if path == STANDARD_INPUT else open_regular(path) as file:
            size = max(1, file.seek(0, os.SEEK_END))
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file, lambda: file.tell() / size
    except gzip.BadGzipFile:
        raise CorpusError(f"{name} is not a gzip file, although its name says so; rename it") from None
    except (EOFError, zlib.error):
        raise CorpusError(f"{name} is a damaged gzip file; get a complete copy of it") from None
    except OSError as error:
        raise CorpusError(f"{name} cannot be read: {error.strerror}") from None


def lines_of(file: SupportsRead, longest: int) -> Iterator[bytes | None]:
    """Each line with its end; None for a line that is too long, which is not kept in memory.

    All lines end as the first one does: with a newline, or with a carriage return alone (old Macs).
    """
    end, begun, length = b"", list[bytes](), 0
    while block := file.read(_BLOCK):
        end = end or (b"\r" if _RETURN_ALONE.match(block) else b"\n")
        *whole, rest = block.split(end)
        for piece in whole:
            yield b"".join((*begun, piece, end)) if length + len(piece) < longest else None
            begun, length = [], 0
        length += len(rest)
        begun = [*begun, rest] if length <= longest else []
    if length:
        yield b"".join(begun) if length <= longest else None


def read_text(path: Path) -> str:
    """The text of a UTF-8 file; :raises CorpusError: if it cannot be read or is not UTF-8."""
    with opened(path) as (file, _):
        content = read_at_most(file, LONGEST_FILE)
    return decoded(content, str(path))


def decoded(content: bytes, name: str, encoding: str = "utf-8", at: int = 0) -> str:
    """Bytes as text; :raises CorpusError: if they are in another encoding.

    :param name: of the file, for messages.
    :param at: the offset of the bytes in the file.
    """
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"at byte {at + error.start}"
        raise CorpusError(f"{name} is not {encoding} {where}; convert it to UTF-8") from None


def encode_text(document: Document) -> bytes:
    """The text of a note as UTF-8; :raises CorpusError: for a lone surrogate, which UTF-8 cannot express."""
    surrogate = _SURROGATE.search(document.text)
    if surrogate:
        raise CorpusError(
            f"document {shown_id(document.id)}: the character at {surrogate.start()} is a lone surrogate, which UTF-8 "
            "cannot hold; write the corpus as jsonl"
        )
    return document.text.encode("utf-8")


def encode_all(content: str) -> bytes:
    """A piece of a file as UTF-8; :raises CorpusError: for a lone surrogate in an id or a patient."""
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise CorpusError(
            "the name of a document or patient has a lone surrogate, which UTF-8 cannot hold; write the corpus as jsonl"
        ) from None


def file_name(document_id: str, suffix: str) -> str:
    """The path of a note's file within a folder; an id with slashes has folders in it.

    :raises CorpusError: if the id, or a part between slashes, holds what a file name should not.
    """
    if any(map(_UNSAFE_PART.search, document_id.split("/"))):
        raise CorpusError(
            f"the document id {shown_id(document_id)!r} cannot be a file name, as it, or a part of it between slashes, "
            "is empty, begins with a dot or holds a backslash or a control character; rename the document or write the "
            "corpus as jsonl"
        )
    return document_id + suffix
