"""Corpora in and out: any known format in, one named format out.

    corpus = read_corpus(Path("train"))                   recognised by looking
    write_corpus(corpus, Path("out"), format="brat")      complete or not at all
    for document in Reader().notes(path): ...             one at a time, as often as needed

If a command is given `-`, `input_path` turns it into the readers' path for standard input, and writers write to
standard output once all is done, as piped output cannot be taken back.
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from phistack.features.columns.word_columns import LANGUAGES
from phistack.features.documents import Corpus, Document
from phistack.features.errors import CorpusError, LabelError
from phistack.features.files import STANDARD_INPUT
from phistack.features.formats.format import Pieces, Reading
from phistack.features.formats.found import Found, write_files
from phistack.features.formats.recognise import format_named, format_to_write, recognise
from phistack.features.formats.records import USUAL_NAMES, ColumnNames, file_name
from phistack.features.labels import LabelSet, is_label
from phistack.features.languages import furthest, language_of
from phistack.features.shown import shown_id, shown_label
from phistack.features.writing import new_file, new_folder

STANDARD = Path("-")
"""Standard input or output, as commands are given it."""

OWN_LABELS = "custom"
"""The name of the label set of a corpus with labels of its own."""

_CATEGORY, _USUAL_LANGUAGE = "OTHER", "en"
_MOST_NOTES, _MOST_SHOWN, _FAR = 200, 12, 6.0
_PARTS = {"train", "training", "dev", "development", "valid", "validation", "test"}
_IN_MEMORY, _BLOCK = 2**26, 2**16


@dataclass(frozen=True, slots=True)
class Reader:
    """How corpora are read.

    :param format: the name of their format; empty to recognise it.
    :param columns: the names of the columns, of formats that have columns.
    """

    format: str = ""
    columns: ColumnNames = USUAL_NAMES

    def notes(self, path: Path, *, annotated: bool = True) -> Found:
        """The notes of a file or folder, one at a time; :raises CorpusError: if it is of no known format."""
        return recognise(path, self.format, Reading(self.columns, annotated=annotated))

    def format_of(self, path: Path) -> str:
        """The name of the format in which a corpus like this is written; :raises CorpusError: as `notes` does."""
        found = self.notes(path).format
        return (found.written or found).name

    def read(
        self,
        path: Path,
        *,
        label_set: str | LabelSet | None = None,
        accept_unknown_labels: bool = False,
        language: str = "",
    ) -> Corpus:
        """Read annotated notes, as `read_corpus` does."""
        notes = self.notes(path)
        documents = tuple(notes)
        if not documents:
            raise CorpusError(f"{path} holds no notes; give a corpus with at least one")
        parts = sorted({document.id.partition("/")[0] for document in documents} & _PARTS)
        if notes.is_folder and len(parts) > 1:
            raise CorpusError(f"the folder {path} holds the parts of a corpus, {', '.join(parts)}; give one of them")
        labels, remarks = label_set_of(
            documents, notes.how.categories, label_set or None, usual=notes.format.label_set,
            accept=accept_unknown_labels, language=language,
        )  # fmt: skip
        return Corpus(documents, labels, notes.how.warnings, remarks)


USUAL_READER = Reader()
"""A reader that recognises any corpus."""


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

    :param label_set: the labels to expect; otherwise those of the format, or the shipped set that lacks the fewest of
        the corpus' labels, if it has most labels and most spans, or else the corpus' own labels. Sets of general labels
        are not tried.
    :param accept_unknown_labels: add labels that the label set lacks, rather than refuse them.
    :param language: of the notes, if the labels are the corpus' own; otherwise recognised from their text.
    :param format: the name of the format; otherwise it is recognised.
    :param columns: the names of the columns, of formats that have columns.
    :raises CorpusError: if the path cannot be read as a corpus, or holds no notes.
    :raises LabelError: for a label that the label set lacks, or a label set that does not exist.
    """
    return Reader(format or "", columns).read(
        path, label_set=label_set, accept_unknown_labels=accept_unknown_labels, language=language
    )


def write_corpus(corpus: Corpus, path: Path, *, format: str) -> None:
    """Write annotated notes, complete or not at all.

    The XML, brat, inception and text formats write a folder with the files of each note, which come back in the order
    of their names; the others write one file, gzipped if its name ends like `.jsonl.gz`, and keep the patient even if
    the id does not show it.

    :param path: the folder or file to make, which is never overwritten; `-` for standard output.
    :raises CorpusError: if the format cannot express the notes.
    :raises SettingsError: if the path is taken.
    :raises StorageError: if the disk refuses.
    """
    ids = [file_name(document.id, "") for document in corpus.documents if not format_named(format).single_file]
    folders = {id.partition("/")[0] if "/" in id else "" for id in ids}
    if len(folders) == 1 and "" not in folders:
        raise CorpusError("all document ids begin with one folder, which readers leave out; write the corpus as jsonl")
    write_documents(corpus.documents, corpus.label_set, path, format=format)


def write_documents(documents: Iterable[Document], labels: LabelSet, path: Path, *, format: str) -> None:
    """Write notes as they come, as `write_corpus` does; if one cannot be written, nothing is left behind."""
    known = format_to_write(format)
    pieces = known.render(_checked(documents), labels)
    if path == STANDARD:
        _print(pieces, format)
    elif known.single_file:
        packed = path.suffix.lower() == ".gz" and known.is_of(path)
        with new_file(path) as part, part.open("wb") as out:
            out.writelines(_packed(pieces) if packed else (content for _, content in pieces))
    else:
        with new_folder(path) as folder:
            write_files(pieces, folder)


def _checked(documents: Iterable[Document]) -> Iterator[Document]:
    """The notes, if there are any and their labels can be written."""
    document = None
    for document in documents:
        if not all(is_label(span.label) for span in document.spans):
            raise CorpusError(
                f"document {shown_id(document.id)} has labels that are not valid names; a label starts with a letter "
                "and has no spaces"
            )
        yield document
    if document is None:
        raise CorpusError("the corpus holds no notes; there is nothing to write")


def _packed(pieces: Pieces) -> Iterator[bytes]:
    """The content as a gzip file without name and time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield from (packer.compress(content) for _, content in pieces)
    yield packer.flush()


def _print(pieces: Pieces, format: str) -> None:
    """Write one file to standard output, after all of it is made."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as made:
        names = set()
        for name, content in pieces:
            names.add(name)
            if len(names) > 1:
                raise CorpusError(
                    f"{format} takes several files, and standard output takes one; give --to jsonl or csv"
                )
            made.write(content)
        made.seek(0)
        while rest := memoryview(made.read(_BLOCK)):
            while rest:
                # If Python runs unbuffered, a pipe takes only as much as it holds.
                rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def input_path(path: Path) -> Path:
    """The readers' path for a path that a command was given."""
    return STANDARD_INPUT if path == STANDARD else path


def label_set_of(
    documents: Sequence[Document],
    categories: Mapping[str, str],
    given: str | LabelSet | None = None,
    *,
    usual: str | None = None,
    accept: bool = False,
    language: str = "",
) -> tuple[LabelSet, tuple[str, ...]]:
    """The label set of notes, and remarks on it: one that phistack ships, or the notes' own labels.

    Most corpora have labels of their own, and are taken as they are. If most labels and most spans are those of a known
    set, the others are probably typos, and are refused unless the user accepts them. A set for a language other than
    English is not recognised by labels alone if the notes are in another language.

    :param categories: label -> category, if the files have categories.
    :param given: the labels that the user expects: a set, the name of one that is shipped, or the path of a TOML file.
    :param usual: the name of the set that the format usually has, if it has one.
    :param accept: add labels that a known set lacks.
    :param language: of the notes, where the labels are their own; otherwise recognised from their text.
    :raises LabelError: for some labels that a known set lacks, or a set that does not exist.
    """
    counts = Counter(span.label for document in documents for span in document.spans)
    known = LabelSet.of(given) if isinstance(given, str) else given or _nearest(counts, usual)
    unknown = sorted(label for label in counts if label not in known)
    by_labels_alone = given is None and usual is None and known.language != _USUAL_LANGUAGE
    is_another = by_labels_alone and not language and _is_in_another_language(documents, known.language)
    n_known, n_spans = len(counts) - len(unknown), sum(counts[label] for label in counts if label in known)
    is_most = not counts or (2 * n_known > len(counts) and 2 * n_spans > counts.total())
    if given is None and (is_another or not is_most):
        language, reason = (language, "") if language else _language_of_notes(documents)
        shown = [shown_label(label, counts[label]) for label in sorted(counts)]
        some = ", ".join(shown[:_MOST_SHOWN]) + (", ..." if len(shown) > _MOST_SHOWN else "")
        own = {label: categories.get(label, _CATEGORY) for label in sorted(counts)}
        remark = f"{len(counts)} labels of its own ({some}), taken as they are; language {language}{reason}"
        return LabelSet(OWN_LABELS, own, language=language), (remark,)
    if unknown and not accept and known.name != OWN_LABELS:
        raise LabelError(
            f"{len(unknown)} of {len(counts)} labels are not in the label set {known.name}, the first is "
            f"{shown_label(unknown[0])}, seen {counts[unknown[0]]} times; correct them, name another set with "
            "--label-set, or take them as they are with --accept-unknown-labels"
        )
    return known.extended({label: categories.get(label, _CATEGORY) for label in unknown}), ()


def _nearest(counts: Counter[str], usual: str | None) -> LabelSet:
    """The usual set, or else the one that lacks the fewest labels."""
    sets = map(LabelSet.named, [usual] if usual else LabelSet.recognised())
    return min(sets, key=lambda labels: sum(label not in labels for label in counts))


def _is_in_another_language(documents: Sequence[Document], language: str) -> bool:
    """Whether most notes are far from a language, as labels such as `Name` and `Location` are in many sets."""
    some = documents[:: 1 + len(documents) // _MOST_NOTES]
    return 2 * sum(furthest(document.text, (language,)) > _FAR for document in some) > len(some)


def _language_of_notes(documents: Sequence[Document]) -> tuple[str, str]:
    """The language of the notes, recognised from some of them, and how it was recognised."""
    found = language_of(document.text for document in documents[:: 1 + len(documents) // _MOST_NOTES])
    if found in LANGUAGES:
        return found, " by its text"
    why = f"its text seems to be {found}, which phistack has no features for" if found else "its text does not show it"
    return _USUAL_LANGUAGE, f", as {why}; another is given with --language"
