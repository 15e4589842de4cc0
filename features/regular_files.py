"""Reading regular files only: a folder of strangers can contain pipes, devices and endless files.

    read_regular(Path("110-01.txt"))                     the bytes
    with open_regular(Path("notes.jsonl")) as file: ...  the same, piece by piece

A pipe without a writer would block the reader for ever, and a link to `/dev/zero` would fill its memory. Refusals are
`OSError`, like those of the system; `strerror` says what is wrong.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Protocol

LONGEST_FILE = 2**31
"""The most bytes of a file that is read whole; a longer one is no corpus of notes."""

_PIECE = 2**16


class SupportsRead(Protocol):
    """A file that can be read in pieces."""

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

    :param follow_links: otherwise links are refused too, where the system can tell.
    :raises OSError: if it cannot be opened, or is anything else.
    """
    # Opening a pipe can block for ever; for a regular file O_NONBLOCK makes no difference.
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

    :param longest: the most bytes allowed, counted while reading, as the stated size of a file may be wrong.
    :raises OSError: if it cannot be read, is anything else, or is longer.
    """
    with open_regular(path, follow_links=follow_links) as file:
        content = read_at_most(file, longest + 1)
    if len(content) > longest:
        raise OSError(errno.EFBIG, f"longer than the limit of {longest} bytes", str(path))
    return content


def read_at_most(file: SupportsRead, longest: int) -> bytes:
    """At most so many bytes of an open file; memory is allocated as they are read."""
    pieces: list[bytes] = []
    while longest > 0 and (piece := file.read(min(longest, _PIECE))):
        pieces.append(piece)
        longest -= len(piece)
    return b"".join(pieces)


def _refusal(kind: str, path: Path) -> OSError:
    return OSError(errno.EINVAL, f"{kind}, not a regular file", str(path))
