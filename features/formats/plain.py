"""Plain text: each `.txt` file of a folder is a note without annotation.

notes/110-01.txt      the document 110-01 of patient 110
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from phistack.features.documents import Corpus, Document, patient_of
from phistack.features.errors import CorpusError
from phistack.features.files import encode_text, file_name, read_text
from phistack.features.formats.format import Format, ReadNotes
from phistack.features.shown import shown_id


def read(paths: Sequence[Path]) -> ReadNotes:
    """Read one note from each file; :raises CorpusError: if a file is not UTF-8."""
    return ReadNotes(tuple(Document(path.stem, read_text(path), (), patient_of(path.stem)) for path in paths))


def render(corpus: Corpus) -> Iterator[tuple[str, bytes]]:
    """One file a note; :raises CorpusError: if a note has spans, which plain text would lose."""
    for document in corpus.documents:
        if document.spans:
            raise CorpusError(
                f"document {shown_id(document.id)} has {len(document.spans)} spans, which plain text "
                "cannot hold; write the "
                "corpus as jsonl, brat or i2b2"
            )
        yield file_name(document.id, ".txt"), encode_text(document)


TEXT = Format("text", "a folder of .txt files", (".txt",), read, render)
