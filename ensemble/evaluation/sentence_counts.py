"""How many sentences each document has, as a reference says: what the leak of MEDDOCAN is divided by.

read_sentence_counts(Path("sentence_splitted"))  a folder as MEDDOCAN's script takes it: `ID.ann`, a sentence a line
read_sentence_counts(Path("counts.json"))        {"S0004-1": 31, ...}
read_sentence_counts(Path("counts.tsv"))         S0004-1<TAB>31 on each line
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from phistack.features.errors import EvaluationError
from phistack.features.files import read_text

_SUFFIX = ".ann"
_WHOLE_NUMBER = re.compile(r"\s*\d{1,9}\s*")
_EXPECTED = "give a folder of ID.ann, a sentence a line, a JSON object of id and number, or lines of id, tab, number"


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
    if path.is_dir():
        counts = {file.name.removesuffix(_SUFFIX): _lines(read_text(file)) for file in sorted(path.glob(f"*{_SUFFIX}"))}
    else:
        rows = _json_rows(path) if path.suffix == ".json" else _tab_rows(path)
        counts = _once_each(path, rows)
    if not counts:
        raise EvaluationError(f"{path} holds no sentence counts; {_EXPECTED}")
    return counts


def _lines(text: str) -> int:
    """Lines as Python iterates over a file, which is how MEDDOCAN's script counts: an unfinished last line counts."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    return unified.count("\n") + (not unified.endswith("\n") and bool(unified))


def _json_rows(path: Path) -> Iterator[tuple[str, object]]:
    try:
        # Pairs, not a dictionary, in which the second count of a document would replace the first.
        rows = json.loads(read_text(path).removeprefix("\ufeff"), object_pairs_hook=list)
    except (ValueError, RecursionError):
        raise EvaluationError(f"{path} is not valid JSON; {_EXPECTED}") from None
    if not isinstance(rows, list) or not all(isinstance(row, tuple) for row in rows):
        raise EvaluationError(f"{path} is not one JSON object; {_EXPECTED}")
    yield from rows


def _tab_rows(path: Path) -> Iterator[tuple[str, object]]:
    for line in read_text(path).removeprefix("\ufeff").splitlines():
        if line.strip():
            document, _, n_sentences = line.partition("\t")
            yield document, int(n_sentences) if _WHOLE_NUMBER.fullmatch(n_sentences) else None


def _once_each(path: Path, rows: Iterable[tuple[str, object]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for number, (document, n_sentences) in enumerate(rows, 1):
        # In Python a boolean is an integer; in JSON it is not.
        if type(n_sentences) is not int or n_sentences < 0:
            raise EvaluationError(f"{path}: count {number} is not a whole number; {_EXPECTED}")
        if document in counts:
            raise EvaluationError(f"{path}: count {number} is the second one of its document; keep one of them")
        counts[document] = n_sentences
    return counts
