"""Plain text: each `.txt` file of a folder is a note without annotation.

notes/110-01.txt      the document 110-01 of patient 110
"""

from __future__ import annotations

from collections.abc import Iterable

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.files import encode_text, file_name
from phistack.features.formats.format import Format, Notes, Pieces
from phistack.features.formats.note_file import NoteFile
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id


def read(file: NoteFile) -> Notes:
    """The note of a file."""
    yield Document(file.id, file.text(), (), file.patient)


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """One file a note; :raises CorpusError: if a note has spans, which plain text would lose."""
    for document in documents:
        if document.spans:
            raise CorpusError(
                f"document {shown_id(document.id)} has {len(document.spans)} spans, which plain text cannot hold; "
                "write the corpus as jsonl, brat or i2b2"
            )
        yield file_name(document.id, ".txt"), encode_text(document)


TEXT = Format("text", "a folder of .txt files", (".txt",), read, render)
