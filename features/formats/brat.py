"""Brat standoff: the text in `ID.txt`, the spans in `ID.ann`.

    T1<TAB>DOCTOR 12 16<TAB>Ames
    T2<TAB>STREET 20 29;30 37<TAB>12 Harbor Terrace      two pieces, read as the hull 20-37

Only lines that begin with `T` are spans; relations, events, attributes and notes are passed over. A `.txt` without
`.ann` has no spans. The format is described at https://brat.nlplab.org/standoff.html.
"""

from __future__ import annotations

from collections.abc import Iterable

from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError
from phistack.features.files import encode_text, file_name
from phistack.features.formats.format import Format, Notes, Pieces
from phistack.features.formats.note_file import NoteFile
from phistack.features.formats.spans import checked_span, parse_offset
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

_PASSED_OVER = ("R", "E", "A", "M", "N", "#", "*")
_JOINED = "discontinuous spans joined"
_BLANKS = str.maketrans("\n\r\t", "   ")


def read(file: NoteFile) -> Notes:
    """The note of a `.txt` file, or of an `.ann` file and the `.txt` file beside it.

    :raises CorpusError: for an `.ann` without `.txt`, a malformed line, or spans that do not fit the text.
    """
    text = file.beside(".txt").text() if file.path.suffix == ".ann" else file.text()
    annotation = file.beside(".ann")
    lines = annotation.text_lines() if file.annotated and annotation.path.exists() else ()
    spans = []
    for number, line in enumerate(lines, 1):
        if line.startswith("T"):
            spans.append(_read_line(file, number, text, line))
        elif line.strip() and not line.startswith(_PASSED_OVER):
            raise CorpusError(f"{annotation.name}, line {number}, is not brat standoff; correct or remove it")
    yield Document(file.id, text, tuple(spans), file.patient)


def _read_line(file: NoteFile, number: int, text: str, line: str) -> Span:
    fields = line.split("\t", 2)
    label, blank, places = fields[1].partition(" ") if len(fields) > 1 else ("", "", "")
    if not blank:
        raise CorpusError(
            f"document {shown_id(file.id)}, line {number} of the .ann: a span is `T1 TAB label start end TAB text`"
        )
    pieces = [_read_piece(file.id, f"line {number} of the .ann", piece) for piece in places.split(";")]
    if len(pieces) > 1:
        file.warnings[_JOINED] += 1
    start, end = min(start for start, _ in pieces), max(end for _, end in pieces)
    quoted = fields[2] if len(fields) > 2 else None
    joined = " ".join(text[start:end] for start, end in pieces)
    return checked_span(file.id, text, start, end, label, quoted=quoted, pieces=joined)


def _read_piece(document_id: str, place: str, piece: str) -> tuple[int, int]:
    start, _, end = piece.strip().partition(" ")
    return parse_offset(document_id, place, start), parse_offset(document_id, place, end)


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """A `.txt` and an `.ann` for each note; line ends and tabs in the quoted text become blanks.

    :raises CorpusError: if a text holds a lone surrogate.
    """
    for document in documents:
        yield file_name(document.id, ".txt"), encode_text(document)
        lines = [_line(document, number, span) for number, span in enumerate(document.spans, 1)]
        yield file_name(document.id, ".ann"), "".join(lines).encode("utf-8")


def _line(document: Document, number: int, span: Span) -> str:
    quoted = document.text[span.start : span.end].translate(_BLANKS)
    return f"T{number}\t{span.label} {span.start} {span.end}\t{quoted}\n"


BRAT = Format("brat", "a folder of .txt files with an .ann file beside each", (".ann", ".txt"), read, render)
