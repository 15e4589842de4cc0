"""Notes from standard input and to standard output, where a command is given `-`.

    input_path(Path("-"))                              what the readers know as standard input
    write_notes(corpus, Path("-"), format="jsonl")     after all is done, as there is no taking back what was piped

What a command says beside its notes goes to standard error then.
"""

from __future__ import annotations

import sys
from pathlib import Path

from features.documents import Corpus
from features.files import STANDARD_INPUT
from features.formats import corpus_bytes, write_corpus

__all__ = ["STANDARD", "input_path", "write_notes"]

STANDARD = Path("-")


def input_path(path: Path) -> Path:
    """The path that the readers of notes take for what a command is given."""
    return STANDARD_INPUT if path == STANDARD else path


def write_notes(corpus: Corpus, path: Path, *, format: str) -> None:
    """Write annotated notes, complete or not at all; :raises CorpusError: as `write_corpus` does."""
    if path != STANDARD:
        write_corpus(corpus, path, format=format)
        return
    rest = memoryview(corpus_bytes(corpus, format=format))
    while rest:
        # Where Python runs unbuffered, a pipe takes as much as it holds and no more.
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()
