"""CoNLL columns: one token per line, its tag last, a blank line after each sentence, `-DOCSTART-` before each note.

    -DOCSTART-
    # id = "110-01"
    # group = "110"
    # text = "Seen by Dr. Ames."

    Seen<TAB>0<TAB>4<TAB>O
    Ames<TAB>12<TAB>16<TAB>B-DOCTOR

phistack writes the comment lines and the offset columns, so a note comes back code point for code point. Other
files have neither: their text is the words joined by blanks and the sentences joined by newlines. Tags may be BIO,
IOB1, IOB2, BIOES or BILOU; an inside tag that continues nothing begins a span.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise

import numpy as np

from phistack.features.documents import Document, Span, patient_of
from phistack.features.errors import CorpusError
from phistack.features.formats.format import Format, NoteFile, Notes, Pieces
from phistack.features.formats.records import checked_span, encode_all, encode_text, is_id, parse_offset
from phistack.features.labels import LabelSet
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


def read(file: NoteFile) -> Notes:
    """The notes of a file, in order; one without an id is named after the file.

    :raises CorpusError: for a line without a tag; for wrong offsets, the error is yielded in the note's place.
    """
    notes = _split(file)
    first, second = next(notes, None), next(notes, None)
    for number, lines in enumerate(filter(None, chain((first, second), notes)), 1):
        try:
            yield _note_of(lines, f"{file.id}-{number}" if second else file.id, annotated=file.how.annotated)
        except CorpusError as error:
            yield error


def _note_of(lines: _Lines, name: str, *, annotated: bool) -> Document:
    document_id, text = lines.headers.get("id", name), lines.headers.get("text")
    located = [_located(document_id, text, s) for s in lines.sentences] if text is not None and annotated else []
    text, sentences = (text, located) if text is not None else _joined(lines)
    spans = [span for sentence in sentences for span in _spans(document_id, text, sentence) if annotated]
    return Document(document_id, text, tuple(spans), lines.headers.get("group", "") or patient_of(document_id))


def _split(file: NoteFile) -> Iterator[_Lines]:
    note: _Lines | None = None
    for number, line in enumerate(file.text_lines(), 1):
        columns = line.split("\t") if "\t" in line else line.split()
        if columns and columns[0] == _START:
            if note:
                yield note
            note = _Lines()
        elif line.strip():
            note = note or _Lines()
            _add_line(f"{file.name}, line {number}", number, line, columns, note)
        elif note:
            note.sentences.append([])
    if note:
        yield note


def _add_line(place: str, number: int, line: str, columns: list[str], note: _Lines) -> None:
    """Add a non-blank line to its part of the note."""
    header = None if any(note.sentences) else _HEADER.fullmatch(line)
    if header:
        try:
            value = str(json.loads(header[2]))
        except ValueError:
            raise CorpusError(f"{place}: the value of the comment is not a JSON string") from None
        if header[1] == "id" and not is_id(value):
            # In a damaged file it may be note text, which no message may show.
            raise CorpusError(f"{place}: a document id must be one line of 1 to 200 characters")
        note.headers[header[1]] = value
    elif len(columns) > 1 and columns[0] and is_tag(columns[-1].strip()):
        note.sentences[-1].append((number, [*columns[:-1], columns[-1].strip()]))
    elif not line.startswith("# "):
        raise CorpusError(f"{place}, is not a word with its BIO tag; correct it, or give the format with --from")


def is_tag(word: str) -> bool:
    """Whether a word is a tag such as `B-DATE` or `O`."""
    return _TAG.fullmatch(word) is not None


def _joined(lines: _Lines) -> tuple[str, list[list[_Token]]]:
    """The text that the words alone make, with blanks and newlines between them, and where its tokens are."""
    sentences = [[(columns[0], columns[-1]) for _, columns in sentence] for sentence in lines.sentences if sentence]
    lengths = (len(word) + 1 for sentence in sentences for word, _ in sentence)
    starts = accumulate(lengths, initial=0)
    tokens = [[(start := next(starts), start + len(word), tag) for word, tag in sentence] for sentence in sentences]
    return "\n".join(" ".join(word for word, _ in sentence) for sentence in sentences), tokens


def _located(document_id: str, text: str, sentence: list[tuple[int, list[str]]]) -> list[_Token]:
    tokens = []
    for number, columns in sentence:
        place = f"document {shown_id(document_id)}, line {number}"
        if len(columns) != 4:
            raise CorpusError(f"{place}: a note with `# text` has word, start, end and tag")
        start, end = (parse_offset(document_id, f"line {number}", column) for column in columns[1:3])
        if text[start:end] != columns[0]:
            raise CorpusError(f"{place}: the word is not what the text has at {start}-{end}")
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


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """All notes as one file, with BIO tags on runs of letters, runs of digits and single other characters.

    :raises CorpusError: if spans overlap, begin or end with white space, or a text holds a lone surrogate.
    """
    for number, document in enumerate(documents):
        yield "corpus.conll", encode_all("\n" * bool(number) + _note(document))


def _note(document: Document) -> str:
    encode_text(document)
    header = (("id", document.id), ("group", document.group), ("text", document.text))
    lines = [_START, *(f"# {key} = {json.dumps(value, ensure_ascii=False)}" for key, value in header)]
    previous = 0
    for start, end, tag in _tagged(document):
        new_line = any(c in "\r\n" for c in document.text[previous:start])
        lines += [""] if previous == 0 or (new_line and not tag.startswith("I-")) else []
        lines.append(f"{document.text[start:end]}\t{start}\t{end}\t{tag}")
        previous = end
    return "\n".join(lines) + "\n"


def _tagged(document: Document) -> list[_Token]:
    """The tokens, cut where spans begin and end, and their tags."""
    place = f"document {shown_id(document.id)}"
    ways = "which CoNLL cannot express; write the corpus as jsonl, brat or i2b2"
    for before, span in pairwise(document.spans):
        if before.overlaps(span):
            both = f"the spans {before.start}-{before.end} and {span.start}-{span.end} overlap"
            raise CorpusError(f"{place}: {both}, {ways}")
    borders = sorted({0, len(document.text), *(edge for span in document.spans for edge in (span.start, span.end))})
    tokens = [match.span() for start, end in pairwise(borders) for match in _TOKENS.finditer(document.text, start, end)]
    starts, ends = ([token[side] for token in tokens] for side in (0, 1))
    firsts, lasts = set(starts), set(ends)
    for span in document.spans:
        if span.start not in firsts or span.end not in lasts:
            raise CorpusError(f"{place}: the span {span.start}-{span.end} begins or ends with white space, {ways}")
    tags = encode(document.spans, (np.array(starts, dtype=np.int32), np.array(ends, dtype=np.int32)))
    return list(zip(starts, ends, tags, strict=True))


CONLL = Format(
    "conll", "a file with a token and its BIO tag a line", (".conll", ".bio", ".iob", ".iob2", ".bioes", ".tsv"), read,
    render, single_file=True,
)  # fmt: skip
