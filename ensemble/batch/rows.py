"""Rows of any input, and what a form of input and output can do with them.

    Row("line 17", raw, digest, id="110-01", patient="110", text="...")     a note
    Row("line 18", raw, digest, problem="not valid JSON")                   a note that cannot be read
    Row("line 19", raw, digest)                                             no note: passes as it is

A form of files (text, i2b2, jsonl, csv, ...) reads rows one at a time, writes the rows of a chunk as bytes, and joins
the chunks of a run into the output. What it reads of its own output are the same rows again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Columns", "Form", "FormSettings", "Row", "sha256"]


def sha256(content: bytes) -> bytes:
    """The SHA-256 of bytes, as 32 bytes."""
    return hashlib.sha256(content).digest()


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that matter in JSONL, CSV and Parquet; all others pass through untouched.

    :param id: names the note in reports.
    :param text: the note; the only column that changes.
    :param patient: whose note it is; where the input lacks this column, the id tells.
    """

    id: str = "id"
    text: str = "text"
    patient: str = "group"


@dataclass(frozen=True, slots=True)
class FormSettings:
    """How to read an input.

    :param columns: of tables.
    :param encoding: of text, brat and CSV files; JSON and Parquet are UTF-8 by definition.
    :param max_bytes: what is longer is not read but goes to quarantine.
    """

    columns: Columns = Columns()
    encoding: str = "utf-8"
    max_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the input.

    :param place: where it is: `line 17`, or the path of a file within its folder.
    :param raw: what its form needs to write it again.
    :param digest: SHA-256 of all that was read, 32 bytes.
    :param id: names the note in reports.
    :param patient: whose note it is.
    :param text: the note; nothing if the row is no note or cannot be read.
    :param problem: why the row cannot be read, without text; empty if it can.
    """

    place: str
    raw: Any = field(repr=False)
    digest: bytes = field(repr=False)
    id: str = ""
    patient: str = ""
    text: str | None = field(default=None, repr=False)
    problem: str = ""

    @property
    def is_note(self) -> bool:
        """Whether the row is a note, readable or not."""
        return self.text is not None or bool(self.problem)


class Form(Protocol):
    """A form of input and output, opened on one path."""

    name: str

    def rows(self) -> Iterator[Row]:
        """Every row, in order, one at a time in memory; :raises CorpusError: if nothing of the input can be read."""
        ...

    def fraction(self) -> float:
        """How much of the input `rows` has read, in [0, 1]."""
        ...

    def encode(self, rows: Sequence[tuple[Row, str | None]]) -> bytes:
        """Rows with their new texts, as bytes for `assemble`; without a new text a row is written as it was.

        :raises UnicodeEncodeError: if the encoding of the output lacks a character.
        :raises CorpusError: if the form cannot hold a text.
        """
        ...

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the output from encoded chunks; the target does not exist."""
        ...
