"""Notes of any format as rows that can be written again: what a run over files without columns reads and writes.

    table = NoteTable(recognise(Path("notes"), "", Reading(annotated=False, is_run=True)))
    for record in table.records(): ...                   Record("ward/110-01.txt", {"id": "ward/110-01", ...})
    table.encode([(record, {"text": "Dr. [DOCTOR]"})])   files with the new texts and no spans

In a folder each file is a row, and the output is a folder with the same names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.formats.columns import id_in
from phistack.features.formats.format import Pieces, Record, Rewritten, Table, sha256
from phistack.features.formats.found import NOTE, Found
from phistack.features.formats.note_file import NoteFile
from phistack.features.labels import LabelSet

FILE_NAMES, NOTE_IDS = "the names of files", "the ids of notes"
"""The columns of what passes as it is."""

_NO_LABELS = LabelSet("none", {})


class NoteTable(Table):
    """Notes.

    :param found: the file or folder.
    """

    def __init__(self, found: Found) -> None:
        super().__init__(NoteFile(found.path, found.how))
        self.found = found

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        """The text, and the name of what passes as it is."""
        is_single = self.found.format.single_file
        return ["text", *([NOTE_IDS] if is_single else [FILE_NAMES] if self.found.is_folder else [])]

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """A record for each note, the files sorted by name within each folder."""
        total = sum(kind == NOTE for _, kind in self.found.files())
        is_single = self.found.format.single_file
        kept = self.names()[1:]
        for number, (name, file, note) in enumerate(self.found.notes()):
            self.file.fraction = file.fraction if is_single else number / total
            place, digest, problem = f"note {number + 1}" if is_single else name, file.digest.digest(), ""
            if isinstance(note, CorpusError):
                note, problem = Document(place if is_single else file.id, "", (), file.patient), str(note)
            id = (id_in(note.id) or place) if is_single else id_in(file.id)
            if not id:
                place, digest, problem = f"file {number + 1}", sha256(os.fsencode(name)), "its name is not a valid id"
            texts = {"text": note.text, **dict.fromkeys(kept, id)}
            raw = name, replace(note, text="", spans=())
            yield Record(place, {"id": id, "group": note.group if id else place}, texts, raw, digest, problem)
        self.file.fraction = 1.0

    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """Files, one after the other, after a line with their names and lengths; or the notes of one file, as JSON."""
        files = [file for record, new in rows for file in self._files(record.raw, new["text"])]
        index = json.dumps([[name, len(content)] for name, content in files])
        return b"".join([index.encode(), b"\n", *(content for _, content in files)])

    def _files(self, raw: tuple[str, Document], text: str) -> Pieces:
        name, note = raw
        if self.found.format.single_file:
            # Refuses here, note by note, what the format cannot hold.
            list(self._rendered([replace(note, text=text)]))
            yield "", json.dumps([note.id, text, note.group]).encode()
            return
        stem, ending = os.path.splitext(name)
        for number, (written, content) in enumerate(self._rendered([replace(note, id="note", text=text)])):
            suffix = written.removeprefix("note")
            if self.found.is_folder or number == 0:
                yield stem + (ending if ending.lower() == suffix else suffix), content

    def _rendered(self, notes: Iterable[Document]) -> Pieces:
        format, encoding = self.found.format, self.found.how.encoding
        for name, content in format.render(notes, _NO_LABELS):
            yield name, content if format.is_utf8 else content.decode("utf-8").encode(encoding)

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the files, or the file, of all notes."""
        files = (file for chunk in chunks for file in _unpacked(chunk))
        if self.found.format.single_file:
            notes = (Document(id, text, (), group) for id, text, group in (json.loads(note) for _, note in files))
            super().assemble((content for _, content in self._rendered(notes)), target)
        elif self.found.is_folder:
            write_files(files, target)
        else:
            write_files(((target.name, content) for _, content in files), target.parent)


def _unpacked(chunk: bytes) -> Pieces:
    index, _, contents = chunk.partition(b"\n")
    at = 0
    for name, length in json.loads(index):
        yield name, contents[at : at + length]
        at += length


def write_files(files: Pieces, folder: Path) -> None:
    """Write files, with folders in their names, into a folder, which is made if it is not there."""
    folder.mkdir(exist_ok=True)
    for name, content in files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
