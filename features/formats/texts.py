"""Plain text and brat standoff: a note in each `.txt` file, with brat its spans in the `.ann` file beside it.

    T1<TAB>DOCTOR 12 16<TAB>Ames
    T2<TAB>STREET 20 29;30 37<TAB>12 Harbor Terrace      two pieces, read as the hull 20-37

Only lines that begin with `T` are spans; relations, events, attributes and notes are passed over. A `.txt` without
`.ann` has no spans. The format is described at https://brat.nlplab.org/standoff.html.
"""

from __future__ import annotations

from collections.abc import Iterable

from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError
from phistack.features.formats.format import Format, NoteFile, Notes, Pieces
from phistack.features.formats.records import checked_span, encode_text, file_name, parse_offset
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

_PASSED_OVER = ("R", "E", "A", "M", "N", "#", "*")
_JOINED = "discontinuous spans joined"
_BLANKS = str.maketrans("\n\r\t", "   ")


def read(file: NoteFile) -> Notes:
    """The note of a `.txt` file, or of an `.ann` file and the `.txt` file beside it, with its spans.

    :raises CorpusError: for an `.ann` without `.txt`, a malformed line, or spans that do not fit the text.
    """
    text = file.beside(".txt").text() if file.path.suffix == ".ann" else file.text()
    annotation = file.beside(".ann")
    lines = annotation.text_lines() if file.how.annotated and annotation.path.exists() else ()
    spans = []
    for number, line in enumerate(lines, 1):
        if line.startswith("T"):
            spans.append(_read_span(file, f"line {number} of the .ann", text, line))
        elif line.strip() and not line.startswith(_PASSED_OVER):
            raise CorpusError(f"{annotation.name}, line {number}, is not brat standoff; correct or remove it")
    yield Document(file.id, text, tuple(spans), file.patient)


def _read_span(file: NoteFile, place: str, text: str, line: str) -> Span:
    _, _, fields = line.partition("\t")
    described, _, quoted = fields.partition("\t")
    label, blank, places = described.partition(" ")
    if not blank:
        raise CorpusError(f"document {shown_id(file.id)}, {place}: a span is `T1 TAB label start end TAB text`")
    ends = (piece.strip().partition(" ") for piece in places.split(";"))
    pieces = [(parse_offset(file.id, place, start), parse_offset(file.id, place, end)) for start, _, end in ends]
    if len(pieces) > 1:
        file.how.warnings[_JOINED] += 1
    joined = " ".join(text[start:end] for start, end in pieces)
    hull = min(start for start, _ in pieces), max(end for _, end in pieces)
    return checked_span(file.id, text, *hull, label, quoted=quoted if "\t" in fields else None, pieces=joined)


def read_plain(file: NoteFile) -> Notes:
    """The note of a `.txt` file, without spans."""
    yield Document(file.id, file.text(), (), file.patient)


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """A `.txt` and an `.ann` for each note; line ends and tabs in the quoted text become blanks.

    :raises CorpusError: if a text holds a lone surrogate.
    """
    for document in documents:
        yield file_name(document.id, ".txt"), encode_text(document)
        lines = [
            f"T{number}\t{span.label} {span.start} {span.end}\t"
            f"{document.text[span.start : span.end].translate(_BLANKS)}\n"
            for number, span in enumerate(document.spans, 1)
        ]
        yield file_name(document.id, ".ann"), "".join(lines).encode("utf-8")


def render_plain(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """One file per note; :raises CorpusError: if a note has spans, which plain text would lose."""
    for document in documents:
        if document.spans:
            raise CorpusError(
                f"document {shown_id(document.id)} has {len(document.spans)} spans, which plain text cannot hold; "
                "write the corpus as jsonl, brat or i2b2"
            )
        yield file_name(document.id, ".txt"), encode_text(document)


BRAT = Format("brat", "a folder of .txt files with an .ann file beside each", (".ann", ".txt"), read, render)
TEXT = Format("text", "a folder of .txt files", (".txt",), read_plain, render_plain)
