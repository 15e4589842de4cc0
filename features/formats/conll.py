"""CoNLL columns: one token a line, its tag last, a blank line after each sentence, `-DOCSTART-` before each note.

    -DOCSTART-
    # id = "110-01"
    # group = "110"
    # text = "Seen by Dr. Ames."

    Seen<TAB>0<TAB>4<TAB>O
    Ames<TAB>12<TAB>16<TAB>B-DOCTOR

phistack writes the comment lines and the offset columns, so that a note comes back code point for code point. Files of
others have neither: their text is the words joined by blanks and the sentences joined by newlines. Tags may be BIO,
IOB1, IOB2, BIOES or BILOU; an inside tag that continues nothing begins a span.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from phistack.features.documents import Corpus, Document, Span, patient_of
from phistack.features.errors import CorpusError
from phistack.features.files import encode_text, read_text
from phistack.features.formats.format import Format, ReadNotes
from phistack.features.formats.spans import checked_id, checked_span, parse_offset
from phistack.features.shown import shown_id
from phistack.features.tags import OUTSIDE, decode, encode

_START = "-DOCSTART-"
_HEADER = re.compile(r"# (id|group|text) = (\".*\")")
_TAG = re.compile(r"O|(?P<prefix>[BIESLU])-(?P<label>\S+)")
_AS_BIOES = {"U": "S", "L": "E"}
_TOKENS = re.compile(r"[^\W\d_]+|\d+|\S")

_Token = tuple[int, int, str]


@dataclass(slots=True)
class _Lines:
    """The lines of one note: its comment lines, and its sentences as (line number, columns) of each token."""

    headers: dict[str, str] = field(default_factory=dict)
    sentences: list[list[tuple[int, list[str]]]] = field(default_factory=lambda: [[]])


def read(paths: Sequence[Path]) -> ReadNotes:
    """Read the notes of each file, in order; a note without an id is named after its file.

    :raises CorpusError: for a line without a tag, or offsets that do not fit the text.
    """
    return ReadNotes(tuple(document for path in paths for document in _read_file(path)))


def _read_file(path: Path) -> Iterator[Document]:
    notes = _split(path)
    for number, lines in enumerate(notes, 1):
        name = path.stem if len(notes) == 1 else f"{path.stem}-{number}"
        document_id = lines.headers.get("id", name)
        text = lines.headers.get("text")
        if text is None:
            text, sentences = _joined(lines)
        else:
            sentences = [_located(document_id, text, sentence) for sentence in lines.sentences]
        spans = [span for sentence in sentences for span in _spans(document_id, text, sentence)]
        yield Document(document_id, text, tuple(spans), lines.headers.get("group", "") or patient_of(document_id))


def _split(path: Path) -> list[_Lines]:
    """The lines of each note."""
    notes: list[_Lines] = []
    for number, line in enumerate(read_text(path).removeprefix("\ufeff").split("\n"), 1):
        line = line.removesuffix("\r")
        columns = line.split("\t") if "\t" in line else line.split()
        if columns and columns[0] == _START:
            notes.append(_Lines())
        elif line.strip():
            if not notes:
                notes.append(_Lines())
            _add_line(path, number, line, columns, notes[-1])
        elif notes:
            notes[-1].sentences.append([])
    return notes


def _add_line(path: Path, number: int, line: str, columns: list[str], note: _Lines) -> None:
    """Put one line, which is not blank, where it belongs."""
    header = None if any(note.sentences) else _HEADER.fullmatch(line)
    if header:
        value = _header_value(path, number, header[2])
        note.headers[header[1]] = checked_id(f"{path}, line {number}", value) if header[1] == "id" else value
    elif len(columns) > 1 and columns[0] and _TAG.fullmatch(columns[-1].strip()):
        note.sentences[-1].append((number, [*columns[:-1], columns[-1].strip()]))
    elif not line.startswith("# "):
        raise CorpusError(
            f"{path}, line {number}, is not a word with its BIO tag; correct it, or give the format with --from"
        )


def _header_value(path: Path, number: int, written: str) -> str:
    try:
        value = json.loads(written)
    except ValueError:
        raise CorpusError(f"{path}, line {number}: the value of the comment is not a JSON string") from None
    return str(value)


def _joined(lines: _Lines) -> tuple[str, list[list[_Token]]]:
    """The text that the words alone make, and where its tokens are."""
    sentences: list[list[_Token]] = []
    pieces: list[str] = []
    position = 0
    for sentence in filter(None, lines.sentences):
        tokens: list[_Token] = []
        for _, columns in sentence:
            if position:
                pieces.append(" " if tokens else "\n")
                position += 1
            pieces.append(columns[0])
            tokens.append((position, position + len(columns[0]), columns[-1]))
            position += len(columns[0])
        sentences.append(tokens)
    return "".join(pieces), sentences


def _located(document_id: str, text: str, sentence: list[tuple[int, list[str]]]) -> list[_Token]:
    """The tokens of a sentence whose lines hold offsets."""
    tokens = []
    for number, columns in sentence:
        place = f"line {number}"
        if len(columns) != 4:
            raise CorpusError(
                f"document {shown_id(document_id)}, {place}: a note with `# text` has word, start, end and tag"
            )
        start, end = (parse_offset(document_id, place, column) for column in columns[1:3])
        if text[start:end] != columns[0]:
            raise CorpusError(
                f"document {shown_id(document_id)}, {place}: the word is not what the text has at {start}-{end}"
            )
        tokens.append((start, end, columns[3]))
    return tokens


def _spans(document_id: str, text: str, sentence: list[_Token]) -> Iterator[Span]:
    tags = []
    for *_, tag in sentence:
        match = _TAG.fullmatch(tag)
        prefix = match["prefix"] if match else None
        tags.append(f"{_AS_BIOES.get(prefix, prefix)}{tag[1:]}" if prefix else OUTSIDE)
    for first, after, label in decode(tags, scheme="BIOES"):
        yield checked_span(document_id, text, sentence[first][0], sentence[after - 1][1], label)


def render(corpus: Corpus) -> Iterator[tuple[str, bytes]]:
    """All notes as one file, with BIO tags on runs of letters, runs of digits and single other characters.

    :raises CorpusError: if spans overlap, begin or end with white space, or a text holds a lone surrogate.
    """
    yield "corpus.conll", "\n".join(_note(document) for document in corpus.documents).encode("utf-8")


def _note(document: Document) -> str:
    encode_text(document)
    header = [_START]
    for key, value in (("id", document.id), ("group", document.group), ("text", document.text)):
        header.append(f"# {key} = {json.dumps(value, ensure_ascii=False)}")
    lines = ["\n".join(header)]
    previous = 0
    for start, end, tag in _tagged(document):
        new_line = any(c in "\r\n" for c in document.text[previous:start])
        if previous == 0 or (new_line and not tag.startswith("I-")):
            lines.append("")
        lines.append(f"{document.text[start:end]}\t{start}\t{end}\t{tag}")
        previous = end
    return "\n".join(lines) + "\n"


def _tagged(document: Document) -> list[_Token]:
    """The tokens, cut where spans begin and end, and their tags."""
    _refuse_overlaps(document)
    borders = sorted({0, len(document.text), *(edge for span in document.spans for edge in (span.start, span.end))})
    tokens = [match.span() for start, end in pairwise(borders) for match in _TOKENS.finditer(document.text, start, end)]
    starts, ends = ([token[side] for token in tokens] for side in (0, 1))
    firsts, lasts = set(starts), set(ends)
    for span in document.spans:
        if span.start not in firsts or span.end not in lasts:
            raise CorpusError(
                f"document {shown_id(document.id)}: the span {span.start}-{span.end} begins or ends "
                "with white space, which "
                "CoNLL cannot express; write the corpus as jsonl, brat or i2b2"
            )
    tags = encode(document.spans, (np.array(starts, dtype=np.int32), np.array(ends, dtype=np.int32)))
    return list(zip(starts, ends, tags, strict=True))


def _refuse_overlaps(document: Document) -> None:
    for before, span in pairwise(document.spans):
        if before.overlaps(span):
            raise CorpusError(
                f"document {shown_id(document.id)}: the spans {before.start}-{before.end} and "
                f"{span.start}-{span.end} overlap, "
                "which CoNLL cannot express; write the corpus as jsonl, brat or i2b2"
            )


CONLL = Format(
    "conll",
    "a file with a token and its BIO tag a line",
    (".conll", ".bio", ".iob", ".iob2", ".bioes", ".tsv"),
    read,
    render,
    single_file=True,
)
