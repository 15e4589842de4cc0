"""Notes written by hand for measuring, independently of the templates of the synthetic notes.

    handwritten("de", label_set)          {"looked at": Corpus, "kept back": Corpus, ...}; empty if there are none

Errors on the notes in `handwritten_notes/LANGUAGE.txt` may be read while templates are written. The notes in
`LANGUAGE-kept.txt`, and in `LANGUAGE-structured.txt` (HL7, JSON, XML and the like), are only scored. Lines of equals
signs separate the notes, and their PHI is marked:

    Frau [[PATIENT|Ilse Brandl]], geb. [[DATE|12.03.1948]], wurde am [[DATE|3. Mai]] aufgenommen.
    ======
    Der nächste Brief ...
"""

from __future__ import annotations

import re
from pathlib import Path

from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError
from phistack.features.labels import LabelSet

_FOLDER = Path(__file__).with_name("handwritten_notes")
_PARTS = {"looked at": "", "kept back": "-kept", "structured text": "-structured"}
_BETWEEN_NOTES = re.compile(r"^=+\n", re.M)
_MARKED = re.compile(r"\[\[(?P<label>[A-Za-z_-]+)\|(?P<text>[^\[\]]+)\]\]")


def handwritten(language: str, label_set: LabelSet) -> dict[str, Corpus]:
    """The handwritten notes of a language by part; for errors see `marked_notes`."""
    files = {part: _FOLDER / f"{language}{suffix}.txt" for part, suffix in _PARTS.items()}
    return {part: marked_notes(file, label_set) for part, file in files.items() if file.exists()}


def marked_notes(file: Path, label_set: LabelSet) -> Corpus:
    """The notes of a file, each as its own patient.

    :raises CorpusError: for a mark that is not closed, or whose label is not in the label set.
    """
    texts = _BETWEEN_NOTES.split(file.read_text(encoding="utf-8"))
    notes = [_note(f"{file.stem}-{number}", text) for number, text in enumerate(texts, start=1)]
    for note in notes:
        if "[[" in note.text or "]]" in note.text or any(span.label not in label_set for span in note.spans):
            raise CorpusError(f"{note.id}: a mark is not [[LABEL|text]] with a label of {label_set.name}")
    return Corpus(tuple(notes), label_set)


def _note(name: str, marked: str) -> Document:
    text, spans, at = "", [], 0
    for mark in _MARKED.finditer(marked):
        text += marked[at : mark.start()]
        spans.append(Span(len(text), len(text) + len(mark["text"]), mark["label"]))
        text, at = text + mark["text"], mark.end()
    return Document(name, text + marked[at:], tuple(spans))
