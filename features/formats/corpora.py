"""Corpora in and out: any known format in, one named format out.

corpus = read_corpus(Path("train"))                   recognised by looking
write_corpus(corpus, Path("out"), format="brat")      complete or not at all
reader = Reader(columns=ColumnNames(text="body"))     how a command line asks for corpora to be read

Where a command is given `-`, `input_path` makes it what the readers know as standard input, and `write_notes` writes
to standard output, after all is done, as there is no taking back what was piped.
"""

from __future__ import annotations

import gzip
import sys
from dataclasses import dataclass
from pathlib import Path

from phistack.features.documents import Corpus
from phistack.features.errors import CorpusError
from phistack.features.files import STANDARD_INPUT
from phistack.features.formats.columns import USUAL_NAMES, ColumnNames
from phistack.features.formats.own_labels import label_set_of
from phistack.features.formats.recognise import format_named, passed_over, recognise
from phistack.features.labels import LabelSet, is_label
from phistack.features.shown import file_names_shown
from phistack.features.writing import new_folder, write_new

STANDARD = Path("-")
"""Standard input or output, as commands are given it."""


def read_corpus(
    path: Path,
    *,
    label_set: str | LabelSet | None = None,
    accept_unknown_labels: bool = False,
    language: str = "",
    format: str | None = None,
    columns: ColumnNames = USUAL_NAMES,
) -> Corpus:
    """Read annotated notes from a file or folder of any known format.

    :param label_set: the labels to expect; otherwise those of the format, or the first shipped set that has most labels
        of the corpus and most of its spans, but for sets of general labels, or else the corpus' own labels.
    :param accept_unknown_labels: widen the label set by labels that it lacks, rather than refuse them.
    :param language: of the notes, where the labels are the corpus' own; otherwise recognised from their text.
    :param format: the name of the format; otherwise it is recognised.
    :param columns: the names of the columns, of formats that have columns.
    :raises CorpusError: if the path cannot be read as a corpus, or holds no notes.
    :raises LabelError: for a label that the label set lacks, or a label set that does not exist.
    """
    with file_names_shown(path):
        known, files = recognise(path, format, columns)
        reading = known.read_columns(files, columns) if known.read_columns else known.read(files)
    if not reading.documents:
        raise CorpusError(f"{path} holds no notes; give a corpus with at least one")
    labels, remarks = label_set_of(
        reading, label_set or None, usual=known.label_set, accept=accept_unknown_labels, language=language
    )
    return Corpus(reading.documents, labels, reading.warnings + passed_over(path, files), remarks)


@dataclass(frozen=True, slots=True)
class Reader:
    """How corpora are read.

    :param format: the name of their format; empty to recognise it.
    :param columns: the names of the columns, of formats that have columns.
    """

    format: str = ""
    columns: ColumnNames = USUAL_NAMES

    def read(
        self,
        path: Path,
        *,
        label_set: str | LabelSet | None = None,
        accept_unknown_labels: bool = False,
        language: str = "",
    ) -> Corpus:
        """Read annotated notes, as `read_corpus` does."""
        return read_corpus(
            path,
            label_set=label_set,
            accept_unknown_labels=accept_unknown_labels,
            language=language,
            format=self.format or None,
            columns=self.columns,
        )

    def format_of(self, path: Path) -> str:
        """The name of the format of a corpus; :raises CorpusError: as `recognise` does."""
        return recognise(path, self.format or None, self.columns)[0].name


USUAL_READER = Reader()
"""Whatever the corpus is, it is recognised."""


def corpus_bytes(corpus: Corpus, *, format: str) -> bytes:
    """Annotated notes as the content of one file.

    :raises CorpusError: if the format cannot express the notes, or takes several files for them.
    """
    files = _rendered(corpus, format)
    if len(files) > 1:
        raise CorpusError(
            f"{format} takes {len(files)} files for these notes, and standard output takes one; give --to jsonl or csv"
        )
    return files[0][1]


def write_corpus(corpus: Corpus, path: Path, *, format: str) -> None:
    """Write annotated notes, complete or not at all.

    The XML, brat and text formats write a folder with the files of each note, which come back in the order of their
    names; the others write one file, packed where its name ends as `.jsonl.gz`. Only jsonl, csv, parquet and conll keep
    a patient that is not in the id.

    :param path: the folder or file to make; what is there already is never overwritten.
    :param format: the name of the format.
    :raises CorpusError: if the format cannot express the notes.
    :raises SettingsError: if the path is taken.
    :raises StorageError: if the disk refuses.
    """
    known = format_named(format)
    files = _rendered(corpus, format)
    if known.single_file:
        content = files[0][1]
        packed = path.suffix.lower() == ".gz" and known.is_of(path)
        write_new(path, gzip.compress(content, mtime=0) if packed else content)
        return
    with new_folder(path) as folder:
        for name, content in files:
            (folder / name).write_bytes(content)


def input_path(path: Path) -> Path:
    """The path that the readers of notes take for what a command is given."""
    return STANDARD_INPUT if path == STANDARD else path


def write_notes(corpus: Corpus, path: Path, *, format: str) -> None:
    """Write annotated notes to a path or to standard output; raises what `write_corpus` does."""
    if path != STANDARD:
        write_corpus(corpus, path, format=format)
        return
    rest = memoryview(corpus_bytes(corpus, format=format))
    while rest:
        # Where Python runs unbuffered, a pipe takes as much as it holds and no more.
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def _rendered(corpus: Corpus, format: str) -> list[tuple[str, bytes]]:
    """All files of a corpus, before anything is written."""
    known = format_named(format)
    if not corpus.documents:
        raise CorpusError("the corpus holds no notes; there is nothing to write")
    bad = {span.label for document in corpus.documents for span in document.spans if not is_label(span.label)}
    if bad:
        raise CorpusError(f"{len(bad)} labels are not valid names; a label starts with a letter and has no spaces")
    return list(known.render(corpus))
