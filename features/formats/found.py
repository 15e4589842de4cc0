"""Notes on disk: which files of a folder hold notes, and the notes themselves.

    found = Found(MEDDOCAN, Path("corpus/train"), Path("corpus/train/xml"), Reading())
    for name, kind in found.files(): ...           ("xml/a.xml", NOTE), ("xml/licence", OTHER), ...
    for document in found: ...                     one at a time, as often as needed
    for name, file, note in found.notes(): ...     the same, with the file, or with the reason why it cannot be read

    table = NoteTable(found)                       the same as rows, which a run writes again
    for record in table.records(): ...             Record("ward/110-01.txt", {"id": "ward/110-01", ...})
    table.encode([(record, {"text": "Dr. [DOCTOR]"})])      files with the new texts and no spans

Folders in the folder are read too. Hidden files and those of other kinds are passed over, and commands count them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.formats.format import Format, NoteFile, Pieces, Reading, Record, Rewritten, Table, sha256
from phistack.features.formats.records import id_in
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

NOTE, BESIDE = "notes", "annotation beside notes"
HIDDEN = "hidden files were skipped, as their names or folders begin with a dot; rename those that are notes"
OTHER = "files of another kind were skipped; rename those that are notes"

FOREIGN: dict[str, str] = {
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), "a spreadsheet; save its sheet as CSV in UTF-8"),
    **dict.fromkeys((".doc", ".odt"), "a word processor's document; save it as .docx or plain text (.txt)"),
    ".docx": "a Word document; --from docx reads these",
    ".pdf": "a PDF; --from pdf reads these",
    ".rtf": "an RTF document; --from rtf reads these",
    ".hl7": "a file of HL7 messages; name the format with --from hl7",
}
"""Endings of files of notes that no reader opens, or only on request -> what such a file is, and what to do."""

FILE_NAMES, NOTE_IDS = "the names of files", "the ids of notes"
"""The columns of values that pass unchanged."""

_NO_LABELS = LabelSet("none", {})
_DEEPEST = 500


@dataclass(frozen=True, slots=True)
class Found:
    """Notes on disk.

    :param path: the file or folder that was given.
    :param base: the folder in it that holds the notes, to which their ids are relative; or the file.
    :param how: to read them; it notes what the last iteration met and mended.
    """

    format: Format
    path: Path
    base: Path
    how: Reading

    @property
    def is_folder(self) -> bool:
        """Whether the notes are files of a folder."""
        return os.path.isdir(self.path)

    def files(self) -> Iterator[tuple[str, str]]:
        """The path of each file within the given folder, sorted by name within each folder, and what it is.

        Links to folders are not followed, as they could lead in a circle, or anywhere. They count as notes that cannot
        be read, so nothing is left out silently.
        """
        if self.is_folder:
            yield from self._files("", "" if self.base == self.path else f"{self.base.relative_to(self.path)}/")
        else:
            yield self.path.name, NOTE

    def _files(self, folder: str, base: str) -> Iterator[tuple[str, str]]:
        # In the order of their output.
        found = sorted(entries(self.path, folder), key=lambda entry: self.format.written_name(entry[0]))
        stems = {os.path.splitext(name)[0] for name, *_ in found if name.lower().endswith(".txt")}
        for name, is_folder, leads_to_folder in found:
            stem, suffix = os.path.splitext(name)
            if is_folder:
                yield from self._files(f"{folder}{name}/", base)
            elif suffix.lower() in FOREIGN and not self.format.is_of(name):
                yield folder + name, f"{suffix.lower()} files were skipped; each is {FOREIGN[suffix.lower()]}"
            elif not folder.startswith(base):
                continue  # Beside a folder of notes, others may have the same notes in other formats.
            elif "/." in f"/{folder}{name}":
                yield folder + name, HIDDEN
            elif name in self.format.beside:
                yield folder + name, BESIDE
            elif leads_to_folder or self.format.is_of(name):
                yield folder + name, BESIDE if suffix == ".ann" and stem in stems else NOTE
            else:
                yield folder + name, OTHER

    def refuse_none(self) -> None:
        """Refuse a folder without any file of the format; :raises CorpusError: with the endings that it has."""
        if all(kind != NOTE for _, kind in self.files()):
            endings = ", ".join(self.format.suffixes)
            raise CorpusError(
                f"the folder {self.path} holds no notes of the format {self.format.name}, whose files end in "
                f"{endings}; give a folder with notes in it"
            )

    def passed_over(self) -> Counter[str]:
        """How many files are not notes, by the reason."""
        return Counter(kind for _, kind in self.files() if kind not in (NOTE, BESIDE))

    def __iter__(self) -> Iterator[Document]:
        """The notes; :raises CorpusError: for one that cannot be read."""
        self.how.warnings.clear()
        for _, _, note in self.notes():
            if isinstance(note, CorpusError):
                raise note
            yield note
        self.how.warnings.update(self.passed_over())

    def notes(self) -> Iterator[tuple[str, NoteFile, Document | CorpusError]]:
        """Each note, with the path of its file within the given folder, and the file.

        :returns: in place of a note that cannot be read, the reason.
        :raises CorpusError: for what is wrong with a whole file of several notes.
        """
        written = ""
        for name, file in self.note_files():
            before, written = written, self.format.written_name(name)
            if self.format.single_file:
                yield from ((name, file, note) for note in self.format.read(file))
                continue
            try:
                self.refuse_link(file)
                if written == before:
                    raise CorpusError(f"{file.name} would be written as the note before is; rename one of them")
                note: Document | CorpusError = next(self.format.read(file))
            except CorpusError as error:
                note = error
            yield name, file, note

    def note_files(self) -> Iterator[tuple[str, NoteFile]]:
        """Each file of notes, with its path within the given folder."""
        return ((name, self.file(name)) for name, kind in self.files() if kind == NOTE)

    def file(self, name: str) -> NoteFile:
        """A file by its path within the given folder."""
        path = self.path / name if self.is_folder else self.path
        inside = path.relative_to(self.base).as_posix() if self.is_folder and not self.how.is_run else name
        id, suffix = os.path.splitext(inside)
        shown = str(self.base / shown_id(id)) + suffix if self.is_folder else ""
        shown = "the file" if self.how.is_run and not self.format.single_file else shown
        return NoteFile(path, self.how, id=id, name=shown, seed=os.fsencode(name) + b"\0")

    def refuse_link(self, file: NoteFile) -> None:
        """Refuse a link that leads out of the input of a run, or to a folder; :raises CorpusError: if it is one."""
        if self.is_folder and file.path.is_symlink():
            if file.path.is_dir():
                ways = "which is not followed; put the folder in its place"
                raise CorpusError(f"{file.name} is a link to a folder, {ways}")
            if self.how.is_run and Path(os.path.realpath(self.path)) not in Path(os.path.realpath(file.path)).parents:
                raise CorpusError(f"{file.name} is a link out of the input; put the file itself in its place")


def entries(root: Path, folder: str = "") -> list[tuple[str, bool, bool]]:
    """The name of each entry of a folder in the root, whether it is a folder, and whether it is one or leads to one.

    :raises CorpusError: if the folder cannot be read, or is nested too deep.
    """
    if folder.count("/") > _DEEPEST:
        raise CorpusError(f"the folders in {root} go deeper than {_DEEPEST} levels; give one of them")
    try:
        with os.scandir(root / folder) as found:
            return sorted((e.name, e.is_dir(follow_symlinks=False), e.is_dir()) for e in found)
    except OSError as error:
        inner = f"{shown_id(folder[:-1])} in the folder " if folder else ""
        raise CorpusError(f"the folder {inner}{root} cannot be read: {error.strerror}") from None


class NoteTable(Table):
    """Notes as rows; in a folder each file is a row, and the output is a folder with the same names."""

    def __init__(self, found: Found) -> None:
        super().__init__(NoteFile(found.path, found.how))
        self.found = found

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        """The names of the text and of the values that pass unchanged."""
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
        return joined(file for record, new in rows for file in self._files(record, new["text"]))

    def _files(self, record: Record, text: str) -> Pieces:
        name, note = record.raw
        rewritten = self.found.format.rewritten
        if rewritten and not self.found.format.written:
            yield name, rewritten(self.found.file(name), record.texts["text"], record.edits)
            return
        if self.found.format.single_file:
            # Here it refuses, note by note, what the format cannot hold.
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
        for name, content in (format.written or format).render(notes, _NO_LABELS):
            yield name, content if format.is_utf8 else content.decode("utf-8").encode(encoding)

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        files = (file for chunk in chunks for file in taken_apart(chunk))
        if self.found.format.single_file:
            # With scores, as no one has judged the new texts.
            kept = (json.loads(note) for _, note in files)
            notes = (Document(id, text, (), group, scores={}) for id, text, group in kept)
            super().assemble((content for _, content in self._rendered(notes)), target)
        elif self.found.is_folder:
            write_files(files, target)
        else:
            write_files(((target.name, content) for _, content in files), target.parent)


def joined(files: Pieces) -> bytes:
    """Files, one after the other, after a line with their names and lengths."""
    pieces = [*files]
    index = json.dumps([[name, len(content)] for name, content in pieces])
    return b"".join([index.encode(), b"\n", *(content for _, content in pieces)])


def taken_apart(chunk: bytes) -> Pieces:
    """The files that `joined` put together."""
    index, _, contents = chunk.partition(b"\n")
    at = 0
    for name, length in json.loads(index):
        yield name, contents[at : at + length]
        at += length


def write_files(files: Pieces, folder: Path) -> None:
    """Write files, with folders in their names, into a folder, which is made if missing."""
    folder.mkdir(exist_ok=True)
    for name, content in files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
