"""What a corpus format is, and what reading one gives.

    Format("brat", ...)                     a name, what it looks like, a reader and a writer
    ReadNotes(documents, {"DOCTOR": "NAME"})  the notes, and each label's category in the files

A format is a value made of functions, not a class to inherit from: each module of this package declares its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phistack.features.documents import Corpus, Document
from phistack.features.formats.columns import ColumnNames


@dataclass(frozen=True, slots=True)
class ReadNotes:
    """What was read from files, before a label set is chosen.

    :param documents: the notes, in the order of the files.
    :param categories: label -> category, where the files have it.
    :param warnings: how often each kind of oddity was mended.
    """

    documents: tuple[Document, ...] = field(repr=False)
    categories: Mapping[str, str] = field(default_factory=dict)
    warnings: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Format:
    """A way in which annotated notes are written to disk.

    :param name: as the user writes it, for example `i2b2`.
    :param description: what the files look like, in a few words.
    :param suffixes: how the names of its files end.
    :param read: reads the given files, in the given order.
    :param render: file name -> content of each file of a corpus, one a note, or a single one where `single_file`.
    :param single_file: whether a whole corpus is written to one file rather than to a folder.
    :param label_set: the label set of the format, where it has its own.
    :param read_columns: as `read`, where the format has columns that can be named otherwise.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    read: Callable[[Sequence[Path]], ReadNotes]
    render: Callable[[Corpus], Iterable[tuple[str, bytes]]]
    single_file: bool = False
    label_set: str | None = None
    read_columns: Callable[[Sequence[Path], ColumnNames], ReadNotes] | None = None

    def is_of(self, path: Path) -> bool:
        """Whether the name of a file ends as those of the format do."""
        return path.name.lower().endswith(self.suffixes)
