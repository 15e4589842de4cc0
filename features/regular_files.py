"""Reading regular files and nothing else: what others put into a folder can be a pipe, a device or without end.

    read_regular(Path("110-01.txt"))                     the bytes
    with open_regular(Path("notes.jsonl")) as file: ...  the same, piece by piece

A pipe nobody writes to would stop the reader for ever, and a link to `/dev/zero` would fill its memory. Refusals are
`OSError`, as those of the system are, so that who handles one handles both; `strerror` says what is wrong.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Protocol

LONGEST_FILE = 2**31
"""Bytes of a file that is read as a whole; a longer one is no corpus of notes."""

_PIECE = 2**16


class SupportsRead(Protocol):
    """What can be read in pieces."""

    def read(self, size: int, /) -> bytes: ...


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, *, follow_links: bool = True) -> BinaryIO:
    """Open a regular file, or a link to one, for reading.

    :param follow_links: otherwise a link is refused too, where the system can distinguish them.
    :raises OSError: if it cannot be opened, or is anything else.
    """
    # Without waiting, as the opening of a pipe alone may never come back; a regular file knows no difference.
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
    """The bytes of a regular file; parameters as of `open_regular`.

    :param longest: bytes that are allowed; counted as they are read, as the size that a file states need not be right.
    :raises OSError: if it cannot be read, is anything else, or is longer.
    """
    with open_regular(path, follow_links=follow_links) as file:
        content = read_at_most(file, longest + 1)
    if len(content) > longest:
        raise OSError(errno.EFBIG, f"longer than the limit of {longest} bytes", str(path))
    return content


def read_at_most(file: SupportsRead, longest: int) -> bytes:
    """So many bytes of an open file, or all where it has fewer; the memory is taken as they come."""
    pieces: list[bytes] = []
    while longest > 0 and (piece := file.read(min(longest, _PIECE))):
        pieces.append(piece)
        longest -= len(piece)
    return b"".join(pieces)


def _refusal(kind: str, path: Path) -> OSError:
    return OSError(errno.EINVAL, f"{kind}, not a regular file", str(path))
