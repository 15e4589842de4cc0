"""How much PHI would still be readable: leaks and character recall.

    Coverage(980, 1000, 2, 5, 20)  980 of 1000 PHI characters covered; 2 and 5 of 20 documents not clean
    read_sentence_counts(path)     {"S0004-1": 31, ...} from MEDDOCAN's folder of sentences, JSON or lines

A PHI is covered by spans of any label, as redaction hides it under any label; it is missed unless a span of the same
category, type, start and end finds it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from phistack.ensemble.evaluation.pairing import AnnotatedText, DocumentPair
from phistack.features.errors import EvaluationError
from phistack.features.files import read_text
from phistack.features.shown import shown_id
from phistack.features.tokens import count_sentences

_SUFFIX = ".ann"
_WHOLE_NUMBER = re.compile(r"\s*\d{1,9}\s*")
_EXPECTED = "give a folder of ID.ann, a sentence a line, a JSON object of id and number, or lines of id, tab, number"


@dataclass(frozen=True, slots=True)
class Leak:
    """Strict false negatives for each sentence, as MEDDOCAN counts them.

    :param sentence_source: `reference` if the counts were given, `phistack` if our own splitter counted.
    """

    false_negatives: int
    sentences: int
    sentence_source: str

    @property
    def rate(self) -> float:
        """False negatives divided by sentences, 0 without sentences."""
        return self.false_negatives / self.sentences if self.sentences else 0.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """Readable PHI, by characters and by documents.

    :param covered_characters: characters of gold PHI inside any span of the system.
    :param uncovered_documents: documents with at least one character of PHI that is not covered.
    """

    covered_characters: int
    phi_characters: int
    uncovered_documents: int
    leaking_documents: int
    documents: int

    @property
    def character_recall(self) -> float:
        """The share of PHI characters that are covered; 0 without PHI."""
        return self.covered_characters / self.phi_characters if self.phi_characters else 0.0

    @property
    def document_leak(self) -> float:
        """The share of documents with at least one missed PHI."""
        return self.leaking_documents / self.documents

    @property
    def document_exposure(self) -> float:
        """The share of documents with at least one character of PHI that is not covered."""
        return self.uncovered_documents / self.documents


def leak(pairs: Sequence[DocumentPair], false_negatives: int, sentence_counts: Mapping[str, int] | None) -> Leak:
    """The leak over documents.

    :param sentence_counts: document id -> sentences in a reference; without it our own splitter counts.
    :raises EvaluationError: if the reference lacks a document.
    """
    if sentence_counts is None:
        return Leak(false_negatives, sum(count_sentences(pair.gold.text) for pair in pairs), "phistack")
    if unknown := [pair.id for pair in pairs if pair.id not in sentence_counts]:
        raise EvaluationError(
            f"the sentence counts lack {len(unknown)} documents, the first is {shown_id(unknown[0])}; add them to what "
            "--sentences names, or leave it out to count sentences as phistack does"
        )
    return Leak(false_negatives, sum(sentence_counts[pair.id] for pair in pairs), "reference")


def coverage(pairs: Sequence[DocumentPair], leaking: int) -> Coverage:
    """Character recall, and how many documents have uncovered or missed PHI."""

    def characters_of(note: AnnotatedText) -> set[int]:
        return {offset for phi in note.phi for offset in range(phi.start, phi.end)}

    characters = [(characters_of(pair.gold), characters_of(pair.system)) for pair in pairs]
    return Coverage(
        covered_characters=sum(len(gold & system) for gold, system in characters),
        phi_characters=sum(len(gold) for gold, _ in characters),
        uncovered_documents=sum(bool(gold - system) for gold, system in characters),
        leaking_documents=leaking,
        documents=len(pairs),
    )


def read_sentence_counts(path: Path, *, apart_from: Iterable[Path] = ()) -> Mapping[str, int]:
    """The number of sentences of each document.

    :param path: a folder with a file `ID.ann` for each document, in which every line is a sentence; or a file, as JSON
        (`.json`) an object of document id -> number, otherwise lines of document id, tab, number.
    :param apart_from: folders of annotations, whose `ID.ann` would be taken for sentences.
    :raises CorpusError: if a file cannot be read or is not UTF-8.
    :raises EvaluationError: if there are no counts, a count is not a whole number, a document has two, or the path is
        a folder of annotations.
    """
    if path.resolve() in {folder.resolve() for folder in apart_from}:
        raise EvaluationError(f"{path} holds the annotations to be scored, not sentences; {_EXPECTED}")
    kind = _of_folder if path.is_dir() else _of_json if path.suffix == ".json" else _of_lines
    counts: dict[str, int] = {}
    for number, (document, n_sentences) in enumerate(kind(path), 1):
        # In Python a boolean is an integer; in JSON it is not.
        if type(n_sentences) is not int or n_sentences < 0:
            raise EvaluationError(f"{path}: count {number} is not a whole number; {_EXPECTED}")
        if document in counts:
            raise EvaluationError(f"{path}: count {number} is the second one of its document; keep one of them")
        counts[document] = n_sentences
    if not counts:
        raise EvaluationError(f"{path} holds no sentence counts; {_EXPECTED}")
    return counts


def _of_folder(path: Path) -> Iterator[tuple[str, object]]:
    """Lines as Python iterates over a file, which is how MEDDOCAN's script counts: an unfinished last line counts."""
    for file in sorted(path.glob(f"*{_SUFFIX}")):
        text = read_text(file).replace("\r\n", "\n").replace("\r", "\n")
        yield file.name.removesuffix(_SUFFIX), text.count("\n") + (not text.endswith("\n") and bool(text))


def _of_json(path: Path) -> Iterator[tuple[str, object]]:
    try:
        # Pairs, not a dictionary, in which the second count of a document would replace the first.
        rows = json.loads(read_text(path).removeprefix("\ufeff"), object_pairs_hook=list)
    except (ValueError, RecursionError):
        raise EvaluationError(f"{path} is not valid JSON; {_EXPECTED}") from None
    if not isinstance(rows, list) or not all(isinstance(row, tuple) for row in rows):
        raise EvaluationError(f"{path} is not one JSON object; {_EXPECTED}")
    yield from rows


def _of_lines(path: Path) -> Iterator[tuple[str, object]]:
    for line in read_text(path).removeprefix("\ufeff").splitlines():
        if line.strip():
            document, _, n_sentences = line.partition("\t")
            yield document, int(n_sentences) if _WHOLE_NUMBER.fullmatch(n_sentences) else None
