"""Reading files: regular ones only, with limits, text in strict UTF-8, and what a user writes (TOML, sheets).

    read_regular(Path("110-01.txt"))                        the bytes
    with opened(Path("notes.jsonl.gz")) as (file, share):   unpacked; or standard input
        for line in lines_of(file, 2**26): ...              bytes with the line end; None for a line that is too long
    with file_named("the policy file", path):               an error in the block names the file
        table = read_toml(path)
    rows = read_sheet(path, "the sheet of causes", ("document", "start"))

A stranger's folder can contain pipes, devices and endless files: a pipe without a writer would block the reader
forever, and a link to `/dev/zero` would fill its memory. Refusals are `OSError`, like those of the system; `strerror`
says what is wrong. A byte order mark is kept as U+FEFF, and line ends are unchanged.
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import re
import stat
import sys
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from phistack.features.errors import CorpusError, PhistackError, SettingsError

LONGEST_FILE = 2**31
"""The most bytes of a file that is read whole; a longer one is no corpus of notes."""

STANDARD_INPUT = Path("/dev/stdin")
"""The path that means standard input; a note in it without an id is named `stdin`."""

_PIECE = 2**16
_RETURN_ALONE = re.compile(rb"[^\r\n]*\r[^\n]")
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, *, follow_links: bool = True) -> BinaryIO:
    """Open a regular file, or a link to one, for reading.

    :param follow_links: otherwise links are refused too, where the system can tell.
    :raises OSError: if it cannot be opened, or is anything else.
    """
    # Opening a pipe can block forever; for a regular file O_NONBLOCK makes no difference.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    flags |= 0 if follow_links else getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise _refusal("a socket", path) from None
        raise
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _refusal(next((name for is_kind, name in _KINDS if is_kind(mode)), "something else"), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, longest: int = LONGEST_FILE, *, follow_links: bool = True) -> bytes:
    """The bytes of a regular file; parameters as in `open_regular`.

    :param longest: the most bytes allowed, counted while reading, as the stated size of a file may be wrong.
    :raises OSError: if it cannot be read, is anything else, or is longer.
    """
    with open_regular(path, follow_links=follow_links) as file:
        content = read_at_most(file, longest + 1)
    if len(content) > longest:
        raise OSError(errno.EFBIG, f"longer than the limit of {longest} bytes", str(path))
    return content


def read_at_most(file: BinaryIO, longest: int) -> bytes:
    """At most this many bytes of an open file; memory is allocated as they are read."""
    pieces: list[bytes] = []
    while longest > 0 and (piece := file.read(min(longest, _PIECE))):
        pieces.append(piece)
        longest -= len(piece)
    return b"".join(pieces)


def _refusal(kind: str, path: Path) -> OSError:
    return OSError(errno.EINVAL, f"{kind}, not a regular file", str(path))


@cache
def standard_input() -> bytes:
    """All of standard input, kept for further calls; :raises CorpusError: if it is too long."""
    content = read_at_most(sys.stdin.buffer, LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise CorpusError(f"standard input has more than {LONGEST_FILE} bytes; split it into parts")
    return content


@contextmanager
def opened(path: Path, name: str = "") -> Iterator[tuple[BinaryIO, Callable[[], float]]]:
    """A regular file or standard input, unpacked if its name ends in `.gz`, and a function for the share read so far.

    :param name: of the file, for messages.
    :raises CorpusError: if it cannot be read, at the beginning or in the block.
    """
    name = name or str(path)
    try:
        with io.BytesIO(standard_input()) if path == STANDARD_INPUT else open_regular(path) as file:
            size = max(1, file.seek(0, os.SEEK_END))
            file.seek(0)
            is_packed = path.suffix.lower() == ".gz"
            read = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if is_packed else file
            yield read, lambda: file.tell() / size
    except gzip.BadGzipFile:
        raise CorpusError(f"{name} is not a gzip file, although its name says so; rename it") from None
    except (EOFError, zlib.error):
        raise CorpusError(f"{name} is a damaged gzip file; get a complete copy of it") from None
    except OSError as error:
        raise CorpusError(f"{name} cannot be read: {error.strerror}") from None


def lines_of(file: BinaryIO, longest: int) -> Iterator[bytes | None]:
    """Each line with its end: a newline, or a carriage return alone (old Macs) if the first line ends so.

    A line that is too long is None, and not kept in memory.
    """
    end, begun, length = b"", list[bytes](), 0
    while block := file.read(_PIECE):
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
        raise CorpusError(f"{name} is not {encoding} at byte {at + error.start}; convert it to UTF-8") from None


@contextmanager
def file_named(what: str, path: Path, error: type[PhistackError] = SettingsError) -> Iterator[None]:
    """Name the file in whatever is raised in the block because of it.

    :param what: what the file is, for the message.
    :param error: the class to raise, both for a file that cannot be read and for what is wrong in it.
    """
    try:
        yield
    except (OSError, ValueError, PhistackError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) else wrong
        raise error(f"{what} {path} cannot be used: {reason}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a file; :raises OSError, ValueError: if it cannot be read, or is not TOML."""
    try:
        return tomllib.loads(read_regular(path).decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def sheet(columns: Sequence[str], rows: Iterable[Sequence[object]], *, between: str = ",") -> str:
    """The text of a sheet; :param between: the separator of columns."""
    out = io.StringIO()
    csv.writer(out, delimiter=between, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


def read_sheet(path: Path, what: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a sheet as column -> value, without blanks around the values.

    :param what: what the sheet is, for messages.
    :param columns: the columns that it must have.
    :raises SettingsError: if it cannot be read, or a column is missing.
    """
    with file_named(what, path):
        text = read_regular(path).decode("utf-8-sig")
        head = text.split("\n", 1)[0]
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
        missing = [column for column in columns if column not in (rows.fieldnames or ())]
        if missing:
            raise SettingsError(f"it has no column {missing[0]}; its columns must be {', '.join(columns)}")
        return [{column: (row[column] or "").strip() for column in columns} for row in rows]
