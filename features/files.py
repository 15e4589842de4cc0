"""Text in, text out: strict UTF-8.

    read_text(Path("110-01.txt"))    the text, code point for code point
    read_text(STANDARD_INPUT)        what is piped in, which may be asked for more than once

A byte order mark stays in the text as U+FEFF, and line ends stay as they are.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from functools import cache
from pathlib import Path

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.regular_files import LONGEST_FILE, read_at_most, read_regular
from phistack.features.shown import shown_id

_UNSAFE_NAME = re.compile(r"^\.|[/\\\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


STANDARD_INPUT = Path("/dev/stdin")
"""Its one note, where it has no name of its own, is named `stdin`."""


@cache
def _standard_input() -> bytes:
    content = read_at_most(sys.stdin.buffer, LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise CorpusError(f"standard input has more than {LONGEST_FILE} bytes; split it into parts")
    return content


def read_bytes(path: Path) -> bytes:
    """The content of a regular file, unpacked if its name ends in `.gz`.

    :raises CorpusError: if that cannot be had, or is longer than any corpus.
    """
    try:
        content = _standard_input() if path == STANDARD_INPUT else read_regular(path)
        return _unpacked(content, path) if path.suffix.lower() == ".gz" else content
    except gzip.BadGzipFile:
        raise CorpusError(f"{path} is not a gzip file, although its name says so; rename it") from None
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}") from None
    except (EOFError, zlib.error):
        raise CorpusError(f"{path} is a damaged gzip file; get a complete copy of it") from None


def _unpacked(content: bytes, path: Path) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = read_at_most(file, LONGEST_FILE + 1)
    if len(unpacked) > LONGEST_FILE:
        raise CorpusError(f"{path} is longer than {LONGEST_FILE} bytes when unpacked; split it into parts")
    return unpacked


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, unpacked if its name ends in `.gz`, with its byte order mark and line ends.

    :raises CorpusError: if the file cannot be read or unpacked, or is not UTF-8.
    """
    return decoded(read_bytes(path), path)


def decoded(content: bytes, path: Path) -> str:
    """The content of a file as UTF-8; :raises CorpusError: if it is not, naming the file."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 at byte {error.start}; convert the file to UTF-8") from None


def encode_text(document: Document) -> bytes:
    """The text of a note as UTF-8; :raises CorpusError: if it holds a lone surrogate, which UTF-8 cannot say."""
    surrogate = _SURROGATE.search(document.text)
    if surrogate:
        raise CorpusError(
            f"document {shown_id(document.id)}: the character at {surrogate.start()} is a lone "
            "surrogate, which UTF-8 cannot "
            "hold; write the corpus as jsonl"
        )
    return document.text.encode("utf-8")


def encode_all(content: str) -> bytes:
    """All of a file as UTF-8; :raises CorpusError: if an id or a patient holds a lone surrogate."""
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise CorpusError(
            "the name of a document or patient has a lone surrogate, which UTF-8 cannot hold; write the corpus as jsonl"
        ) from None


def file_name(document_id: str, suffix: str) -> str:
    """The name of a note's file; :raises CorpusError: if the id holds what a file name should not."""
    if not document_id or _UNSAFE_NAME.search(document_id):
        raise CorpusError(
            f"the document id {shown_id(document_id)!r} cannot be a file name, as it is empty, begins "
            "with a dot or holds a "
            "slash or a control character; rename the document or write the corpus as jsonl"
        )
    return document_id + suffix
