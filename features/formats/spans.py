"""Ids and spans as files give them, checked before they are used.

    checked_span("110-01", text, 12, 17, "DOCTOR", quoted=quoted)    a Span, or a CorpusError that names id and offsets

Files often quote the text of a span beside its offsets. White space in a quotation is compared loosely, as XML and brat
turn line ends into blanks.
"""

from __future__ import annotations

import re

from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError
from phistack.features.labels import is_label
from phistack.features.shown import shown_id

_UNSAFE_PART = re.compile(r"^\.|^$|[\\\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_OFFSET = re.compile(r"[0-9]{1,12}")
_ID = re.compile(r"[^\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]{1,200}")


def is_id(text: str) -> bool:
    """Whether a text can be the id of a note: one line of 1 to 200 characters, all of which can be shown."""
    return _ID.fullmatch(text) is not None


def parse_offset(document_id: str, place: str, text: str | None) -> int:
    """An offset written in digits.

    :param place: where it is written, for example `line 7`.
    :raises CorpusError: if it is anything else.
    """
    if text is None or not _OFFSET.fullmatch(text):
        raise CorpusError(f"document {shown_id(document_id)}, {place}: an offset is missing or is not a whole number")
    return int(text)


def checked_span(
    document_id: str,
    text: str,
    start: int,
    end: int,
    label: str,
    *,
    quoted: str | None = None,
    pieces: str | None = None,
) -> Span:
    """A span that lies in the text and covers what the file says it covers.

    :param quoted: the text of the span as the file has it, if it has.
    :param pieces: what `quoted` may equal besides `text[start:end]`, as the joined pieces of a discontinuous span.
    :raises CorpusError: if the offsets are empty, reversed or beyond the text, the label is no plausible name, or the
        quotation differs.
    """
    place = f"document {shown_id(document_id)}: the span {start}-{end}"
    if not 0 <= start < end:
        raise CorpusError(f"{place} is empty or reversed; a span must have 0 <= start < end")
    if end > len(text):
        raise CorpusError(
            f"{place} ends beyond the text, which has {len(text)} characters; check that offsets count Unicode "
            "characters, not bytes"
        )
    if not is_label(label):
        raise CorpusError(f"{place} has a label that is no valid name; a label starts with a letter and has no spaces")
    covered = [text[start:end], text[start:end] if pieces is None else pieces]
    if quoted is not None and quoted.split() not in map(str.split, covered):
        raise CorpusError(
            f"{place} does not cover the text that the annotation quotes; check the offsets, and that the text was "
            "not changed after it was annotated"
        )
    return Span(start, end, label)


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
