"""Folders with a note in each file: plain text, brat, and the XML of i2b2 2014, N-GRID 2016 and MEDDOCAN.

    notes/ward3/110-01.txt     the note 110-01 of patient 110

Folders inside the folder are read too, and come out again. Annotation in the input is never copied, as it quotes PHI:
the `.ann` files and the `TAGS` of the output are empty. Hidden files and those of other kinds are passed over and
counted. What is named as a note and is none (a pipe, a device), and links that lead out of the folder, have a problem.
"""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from phistack.ensemble.batch.formats.rows import FormatSettings, InputFormat, Part, Row, printable_id, sha256, state_of
from phistack.features.documents import Corpus, Document, patient_of
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.files import decoded
from phistack.features.formats.recognise import FORMATS, HIDDEN, OTHER
from phistack.features.formats.xml import text_of
from phistack.features.labels import LabelSet
from phistack.features.regular_files import read_regular
from phistack.features.shown import shown_id

_NOTE = "notes"
_BESIDE = "annotation beside notes"
_DEEPEST = 500

_XML = ("i2b2", "ngrid", "meddocan")
_NAMES = "the names of files"
"""What the search for identifiers calls them: they pass as they are."""


class NoteFiles(InputFormat):
    """A folder of notes, or a single file, which becomes a single file without an `.ann`.

    :param name: text, brat, i2b2, ngrid or meddocan.
    """

    def __init__(self, path: Path, target: Path, settings: FormatSettings, *, name: str) -> None:
        super().__init__(path, target, settings)
        self.name = name
        self.suffix = ".xml" if name in _XML else ".txt"
        self._read = 0
        self._total = 1

    def fraction(self) -> float:
        """How many of the files were read, in [0, 1]."""
        return min(1.0, self._read / self._total)

    def find_columns(self, labels: Collection[str] = ()) -> None:
        """There are none; :raises SettingsError: if somebody named one."""
        if self.settings.columns.others:
            raise SettingsError(f"notes in the format {self.name} have no columns; leave out --column")

    def rows(self) -> Iterator[Row]:
        """A row for each file, sorted by name within each folder."""
        self._count()
        for relative in self.files():
            yield self._row(relative)
            self._read += 1

    def state(self) -> str:
        """As of any form, and over the names of the files of a folder too; a link counts as itself."""
        if not self.path.is_dir():
            return super().state()
        return state_of((name, os.lstat(self.path / name)) for name in self.files())

    def files(self) -> Iterator[str]:
        """The paths of the files within the folder, in the order in which they are read."""
        return (relative for relative, kind in self._found() if kind == _NOTE)

    def _found(self) -> Iterator[tuple[str, str]]:
        if self.path.is_dir():
            return _found_in(self.path, self.suffix, ".ann" if self.name == "brat" else "")
        return iter([(self.path.name, _NOTE)])

    def _count(self) -> None:
        found = Counter(kind for _, kind in self._found())
        self._total = max(1, found[_NOTE])
        self.passed_over = {kind: found[kind] for kind in (HIDDEN, OTHER) if found[kind]}

    def _row(self, relative: str) -> Row:
        file = self.path / relative if self.path.is_dir() else self.path
        id = relative if file.is_dir() else os.path.splitext(relative)[0]
        patient = patient_of(Path(id).name)
        if not printable_id(id):
            shown = f"file {self._read + 1}"
            return Row(shown, None, sha256(os.fsencode(relative)), shown, shown, problem="its name is not a valid id")
        content, problem = b"", _wrong_link(file, self.path) if self.path.is_dir() else ""
        try:
            content = b"" if problem else read_regular(file, self.settings.max_bytes)
        except OSError as error:
            problem = "longer than the limit" if error.errno == errno.EFBIG else f"cannot be read: {error.strerror}"
        digest = sha256(os.fsencode(relative) + b"\0" + content)
        if problem:
            return Row(relative, None, digest, id, patient, problem=problem)
        try:
            text = self._text(file, content)
        except UnicodeDecodeError as error:
            return Row(relative, None, digest, id, patient, problem=f"not {error.encoding} at byte {error.start}")
        except CorpusError as error:
            # The name of the file can be an identifier, and is reported beside the problem, or hidden.
            reported = str(error).replace(str(file), "the file").replace(f"document {shown_id(file.stem)}", "the note")
            return Row(relative, None, digest, id, patient, problem=reported)
        kept = ((_NAMES, id),) if self.path.is_dir() else ()
        return Row(relative, relative, digest, id, patient, (Part(text),), kept)

    def _text(self, file: Path, content: bytes) -> str:
        if self.name not in _XML:
            return content.decode(self.settings.encoding)
        return text_of("MEDDOCAN" if self.name == "meddocan" else "deIdi2b2", file, decoded(content, file))

    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """The files, one after the other, after a line with their names and lengths.

        :raises UnicodeEncodeError: if the encoding lacks a character.
        :raises CorpusError: if XML cannot hold a character.
        """
        files = [file for row, texts in rows for text in texts for file in self._written(row, text)]
        index = json.dumps([[name, len(content)] for name, content in files])
        return b"".join([index.encode(), b"\n", *(content for _, content in files)])

    def _written(self, row: Row, text: str) -> list[tuple[str, bytes]]:
        name = str(row.raw)
        if self.name not in _XML:
            files = [(name, text.encode(self.settings.encoding))]
            in_folder = self.name == "brat" and not self.path.is_file()
            return [*files, (f"{os.path.splitext(name)[0]}.ann", b"")] if in_folder else files
        corpus = Corpus((Document("note", text),), LabelSet("none", {}))
        return [(name, content) for _, content in FORMATS[self.name].render(corpus)]

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write every file."""
        for chunk in chunks:
            index, _, contents = chunk.partition(b"\n")
            at = 0
            for name, length in json.loads(index):
                self._place(target, name, contents[at : at + length])
                at += length
        if not self.path.is_file():
            target.mkdir(exist_ok=True)

    def _place(self, target: Path, name: str, content: bytes) -> None:
        file = target if self.path.is_file() else target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _found_in(root: Path, suffix: str, beside: str = "", folder: str = "") -> Iterator[tuple[str, str]]:
    """The path of each file relative to the root, sorted by name within each folder, and what it is.

    Links to folders are not followed, as they could lead in a circle, or anywhere. They count as notes that cannot be
    read, so that nobody takes the run for complete.

    :param suffix: the ending of notes, in lower case.
    :param beside: the ending of files that belong to notes, if there are any.
    :param folder: to begin with, relative to the root, with a slash at its end.
    :raises CorpusError: if a folder cannot be read, or is nested too deep.
    """
    if folder.count("/") > _DEEPEST:
        raise CorpusError(f"the folders in {root} go deeper than {_DEEPEST} levels; give one of them")
    try:
        with os.scandir(root / folder) as entries:
            found = sorted((e.name, e.is_dir(follow_symlinks=False), e.is_dir()) for e in entries)
    except OSError as error:
        inner = f"{shown_id(folder[:-1])} in the folder " if folder else ""
        raise CorpusError(f"the folder {inner}{root} cannot be read: {error.strerror}") from None
    for name, is_folder, leads_to_folder in found:
        if is_folder:
            yield from _found_in(root, suffix, beside, f"{folder}{name}/")
        elif f"/{folder}{name}".find("/.") >= 0:
            yield folder + name, HIDDEN
        elif leads_to_folder or name.lower().endswith(suffix):
            yield folder + name, _NOTE
        else:
            yield folder + name, _BESIDE if beside and name.lower().endswith(beside) else OTHER


def _wrong_link(file: Path, root: Path) -> str:
    """Why a link in a folder of notes is not followed; nothing if it may be, or is none."""
    if not file.is_symlink():
        return ""
    if file.is_dir():
        return "a link to a folder, which is not followed; put the folder itself in its place"
    inside = Path(os.path.realpath(root)) in Path(os.path.realpath(file)).parents
    return "" if inside else "a link to a file outside the input; put the file itself in its place"
