"""Text in, text out, in strict UTF-8, and standard input.

    read_text(Path("110-01.txt"))    the text, code point for code point
    standard_input()                 what is piped in, which may be asked for more than once

A byte order mark stays in the text as U+FEFF, and line ends stay as they are. Readers of notes use `NoteFile` of
`features/formats/note_file.py`, which reads long files piece by piece.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.regular_files import LONGEST_FILE, read_at_most, read_regular
from phistack.features.shown import shown_id

STANDARD_INPUT = Path("/dev/stdin")
"""Its one note, if it has no name of its own, is named `stdin`."""

_UNSAFE_PART = re.compile(r"^\.|^$|[\\\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@cache
def standard_input() -> bytes:
    """All that is piped in; :raises CorpusError: if it is longer than any corpus."""
    content = read_at_most(sys.stdin.buffer, LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise CorpusError(f"standard input has more than {LONGEST_FILE} bytes; split it into parts")
    return content


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with its byte order mark; :raises CorpusError: if it cannot be read or is not UTF-8."""
    try:
        return read_regular(path).decode("utf-8")
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 at byte {error.start}; convert it to UTF-8") from None


def encode_text(document: Document) -> bytes:
    """The text of a note as UTF-8; :raises CorpusError: if it holds a lone surrogate, which UTF-8 cannot express."""
    surrogate = _SURROGATE.search(document.text)
    if surrogate:
        raise CorpusError(
            f"document {shown_id(document.id)}: the character at {surrogate.start()} is a lone surrogate, which UTF-8 "
            "cannot hold; write the corpus as jsonl"
        )
    return document.text.encode("utf-8")


def encode_all(content: str) -> bytes:
    """A piece of a file as UTF-8; :raises CorpusError: if an id or a patient holds a lone surrogate."""
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
