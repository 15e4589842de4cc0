"""What a format is: how notes are read from a file, and how they are written.

    Format("brat", "...", (".ann", ".txt"), read, render)      a name, what it looks like, a reader and a writer

A format is a value made of functions, not a class to inherit from; each module of this package declares its own. The
reader gets one file at a time and the writer one note at a time, so no corpus needs to fit into memory. A format with
columns also has a `Table` (`features/formats/tables.py`), which writes a row again with other values in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.formats.note_file import NoteFile
from phistack.features.formats.tables import Table
from phistack.features.labels import LabelSet

Notes = Iterator[Document | CorpusError]
"""The notes of a file, in order; in the place of one that cannot be read, the reason."""
Pieces = Iterator[tuple[str, bytes]]
"""File names and contents; pieces of one file, which follow each other, have the same name."""


@dataclass(frozen=True, slots=True)
class Format:
    """A way in which annotated notes are written to disk.

    :param name: as the user writes it, for example `i2b2`.
    :param description: what the files look like, in a few words.
    :param suffixes: how the names of its files end.
    :param read: the notes of a file; what is wrong with the whole file is raised.
    :param render: the files of notes whose labels are in a label set; raises CorpusError for what it cannot express.
    :param single_file: whether all notes are written to one file rather than to a folder with files of each note.
    :param label_set: the label set of the format, if it has one.
    :param is_utf8: whether the format prescribes UTF-8; others may be read and written in another encoding.
    :param table: reads and writes rows, if the format has columns.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    read: Callable[[NoteFile], Notes]
    render: Callable[[Iterable[Document], LabelSet], Pieces]
    single_file: bool = False
    label_set: str | None = None
    is_utf8: bool = False
    table: type[Table] | None = None

    def is_of(self, path: Path | str) -> bool:
        """Whether the name of a file ends as those of the format do."""
        return str(path).lower().endswith(self.suffixes)
