"""Which identifiers of given notes can be read from the files of an engine.

    found = inspected(Path("engine"), notes)
    found.table()                 counts by label
    found.read                    those with a word that can be read

All files except that of installed clusters are decoded: the strings in JSON and arrays, text, and the values behind
the numbers in CRF attributes. Words are runs of letters or digits, folded. A word of a public list says nothing
(`ensemble.engine.public_words`), so an identifier can be read if any other of its words can. It can be read in one
piece if its words, two or more and one of them longer than two letters, follow each other in one string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phistack.ensemble.bundles.files import read_bundle
from phistack.ensemble.engine.public_words import public_strings, public_words, strings_in
from phistack.ensemble.evaluation.tables import Table, TableRow
from phistack.features.columns.settings import SPELLED
from phistack.features.columns.table import PUBLIC_CLUSTERS, FeatureSpace
from phistack.features.discretion import runs_in
from phistack.features.documents import Corpus
from phistack.features.errors import CorpusError
from phistack.features.plain_view import plain_view
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.submodels.crf.crfsuite import read_weights
from phistack.submodels.crf.submodel import CrfSubmodel, numbers_of
from phistack.submodels.crf.templates import AT

_CRF = "model.crfsuite"
_OF_LANGUAGE = f"features/{PUBLIC_CLUSTERS}"
"""The file of words of a language, the same for all notes."""

_OF_FIGURES = ("manifest.json", "MODEL_CARD.md", "calibration.svg", "self_test.json")
"""Files about an engine, made of figures, hashes and invented sentences: their numbers are no identifiers."""

_NUMBERS = re.compile(r"\w*\d\w*")
_COLUMNS = ("label", "identifiers", "of public words only", "a word read", "all words read", "in one piece")


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier, counted once however often the notes have it.

    :param n_telling: words that no public list has.
    :param read: those of these words that can be read.
    :param whole: whether its words, two or more, can be read in one piece, and no public list has them so.
    :param file: the first of the bundle that has one of its words or the whole; empty if none has.
    """

    label: str
    text: str = field(repr=False)
    n_telling: int
    read: tuple[str, ...] = field(repr=False)
    whole: bool
    file: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What can be read."""

    identifiers: Sequence[Identifier] = field(repr=False)

    @property
    def read(self) -> list[Identifier]:
        """The identifiers with a word that can be read."""
        return [one for one in self.identifiers if one.read]

    @property
    def readable(self) -> list[Identifier]:
        """The identifiers with a word that can be read, and those that can be read in one piece."""
        return [one for one in self.identifiers if one.read or one.whole]

    def counts(self) -> dict[str, dict[str, int]]:
        """Label -> what is counted -> how many, with a last row for all."""
        labels = sorted({one.label for one in self.identifiers})
        groups = {label: [one for one in self.identifiers if one.label == label] for label in labels}
        return {label: _counts(group) for label, group in {**groups, "all": self.identifiers}.items()}

    def table(self) -> Table:
        """The counts."""
        rows: list[TableRow] = [[label, *map(str, row.values())] for label, row in self.counts().items()]
        note = "read: from the bundle, and in no public list; in one piece: two words or more"
        return Table(_COLUMNS, [rows[:-1], rows[-1:]], "What of the identifiers can be read", note)

    def listed(self) -> Table:
        """The text of what can be read, and where."""
        rows = [[one.label, repr(one.text), " ".join(one.read), one.file] for one in self.readable]
        return Table(("label", "identifier", "words read", "file"), [rows], n_texts=4)

    def to_dict(self, *, with_text: bool) -> dict[str, Any]:
        """JSON-ready."""
        return {"counts": self.counts(), **({"read": [asdict(one) for one in self.readable]} if with_text else {})}


def inspected(path: Path, notes: Corpus) -> Inspection:
    """Search a bundle for the identifiers of annotated notes.

    :raises CorpusError: if the notes have none.
    :raises BundleError: if the bundle cannot be read.
    """
    manifest, files = read_bundle(path)
    language = str(manifest.get("language", ""))
    is_public = public_words(language)
    texts: dict[tuple[str, tuple[str, ...]], str] = {}
    for note in (plain_view(document).document for document in notes.documents):
        for span in note.spans:
            text = note.text[span.start : span.end]
            texts.setdefault((span.label, tuple(runs_in(text))), text)
    if not texts:
        raise CorpusError("the notes have no annotated identifiers to search for; give notes in which PHI is marked")
    wanted = {words for _, words in texts}
    words, pieces = _found(strings_of(files), wanted)
    _, public = _found((("", string) for string in public_strings(language)), wanted)
    identifiers = []
    for (label, own), text in texts.items():
        telling = [word for word in dict.fromkeys(own) if not is_public(word)]
        read = tuple(word for word in telling if word in words)
        whole = own in pieces and own not in public
        file = words[read[0]] if read else pieces[own] if whole else ""
        identifiers.append(Identifier(label, text, len(telling), read, whole, file))
    return Inspection(identifiers)


def strings_of(files: SavedFiles) -> Iterator[tuple[str, str]]:
    """All strings in the files of a bundle, including a bundle within it, each after the name of its file."""
    for name in files.names:
        if name.endswith(_OF_LANGUAGE):
            continue
        with damage_refused(f"the file {name}"):
            strings = _decoded(files, name)
            if name.rpartition("/")[2] in _OF_FIGURES:
                strings = (_NUMBERS.sub(" ", string) for string in strings)
            yield from ((name, string) for string in strings)


def _decoded(files: SavedFiles, name: str) -> Iterator[str]:
    if name.endswith(".json"):
        yield from strings_in(json.loads(files.read(name)))
    elif name.endswith(".npz"):
        for key, array in files.arrays(name).items():
            yield from (key, *map(str, array.ravel().tolist() if array.dtype.kind in "US" else ()))
    elif name.endswith(_CRF):
        yield from _attributes(files, name)
    else:
        yield from files.read(name).decode("utf-8", "ignore").splitlines()


def _attributes(files: SavedFiles, name: str) -> Iterator[str]:
    """The words that attributes of a CRF join, from left to right; values of single columns are in the vocabularies."""
    home = name.removesuffix(f"/{_CRF}")
    root = home[: home.rindex("submodels/")]
    space = FeatureSpace.load(files.part(f"{root}features"))
    crf = CrfSubmodel.load(files.part(home), space)
    attributes = numbers_of(read_weights(crf.model_).attributes)
    for number in np.unique(attributes[:, 0]).tolist():
        ids = crf.crosses_.digits(number, attributes[attributes[:, 0] == number, 1])
        found = []
        for (name, offset), of_column in zip(crf.crosses_.templates[number], ids, strict=True):
            column, _, words_on = name.partition(AT)
            if column in SPELLED:
                values = np.array([*space.values(column), ""], dtype=object)
                found.append((int(words_on or offset), values[of_column]))
        if len(found) > 1:
            ordered = [values for _, values in sorted(found, key=lambda pair: pair[0])]
            yield from map(" ".join, zip(*ordered, strict=True))


def _found(
    strings: Iterable[tuple[str, str]], wanted: Iterable[Sequence[str]]
) -> tuple[Mapping[str, str], Mapping[tuple[str, ...], str]]:
    """The words and the longer sequences of words in some strings, each with the first file that has it."""
    by_first: dict[str, set[tuple[str, ...]]] = {}
    for sequence in wanted:
        if len(sequence) > 1 and any(len(word) > 2 and word.isalpha() for word in sequence):
            by_first.setdefault(sequence[0], set()).add(tuple(sequence))
    words: dict[str, str] = {}
    pieces: dict[tuple[str, ...], str] = {}
    for file, string in strings:
        runs = runs_in(string)
        for at, word in enumerate(runs):
            words.setdefault(word, file)
            for sequence in by_first.get(word, ()):
                if tuple(runs[at : at + len(sequence)]) == sequence:
                    pieces.setdefault(sequence, file)
    return words, pieces


def _counts(found: Sequence[Identifier]) -> dict[str, int]:
    return {
        "identifiers": len(found),
        "of public words only": sum(not one.n_telling for one in found),
        "a word read": sum(bool(one.read) for one in found),
        "all words read": sum(0 < one.n_telling == len(one.read) for one in found),
        "in one piece": sum(one.whole for one in found),
    }
