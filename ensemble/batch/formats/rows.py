"""Rows of any input, and what a form of input and output can do with them.

    Row("line 17", raw, digest, "110-01", "110", (Part("Dr. Ames"),))       a note
    Row("line 18", raw, digest, problem="not valid JSON")                   a note that cannot be read
    Row("line 19", raw, digest)                                             no note: passes as it is

A form of files (text, i2b2, jsonl, csv, ...) reads rows one at a time, writes the rows of a chunk as bytes, and joins
the chunks of a run into the output. What it reads of its own output are the same rows again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.formats.columns import Columns
from phistack.features.documents import patient_of

NO_PATIENT = "{} is missing or not a valid name of a patient"
"""Why a row is not read whose patient is unknown; the blank is the name of the column."""

TABLES = ("jsonl", "csv", "parquet")
"""The forms that have columns."""

NO_LIMIT = 2**62
"""As the greatest length of a note in bytes."""

_ID = re.compile(r"[^\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]{1,200}")


def sha256(content: bytes) -> bytes:
    """The SHA-256 of bytes, as 32 bytes."""
    return hashlib.sha256(content).digest()


def text_digest(text: str, key: bytes | None) -> str:
    """SHA-256 of a text as UTF-8, or HMAC-SHA256 under a key, as what is short could be guessed from a plain hash."""
    content = text.encode("utf-8", "surrogatepass")
    if key is None:
        return sha256(content).hex()
    # The beginning keeps these apart from all else that the key signs: a note must not be able to say `patient:110`
    # and so have the secret of that patient's surrogates written into the audit log.
    return hmac.digest(key, b"text:" + content, "sha256").hex()


def texts_digest(texts: Sequence[str], key: bytes | None) -> str:
    """`text_digest` of the only text, or of several as a JSON list."""
    return text_digest(texts[0] if len(texts) == 1 else json.dumps(texts), key)


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """How to read an input.

    :param columns: of tables.
    :param encoding: of text, brat and CSV files; JSON and Parquet are UTF-8 by definition.
    :param max_bytes: what is longer is not read but goes to quarantine.
    """

    columns: Columns = field(default_factory=Columns)
    encoding: str = "utf-8"
    max_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a row that is to be de-identified.

    :param label: of the identifier that the whole text is; empty where the detector must look for some.
    """

    text: str = field(repr=False)
    label: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stays of a record, and the gaps in it for the parts.

    :param kept: the text before, between and after the gaps.
    :param spelled: what stood in each gap.
    """

    kept: tuple[str, ...] = field(repr=False)
    spelled: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, pieces: Iterable[tuple[str, bool]]) -> Frame:
        """A frame from the pieces of a record in order, each with whether it is a gap."""
        kept, spelled = [""], []
        for text, is_gap in pieces:
            if is_gap:
                spelled.append(text)
                kept.append("")
            else:
                kept[-1] += text
        return cls(tuple(kept), tuple(spelled))

    def filled(self, spelled: Iterable[str]) -> str:
        """The record with the gaps filled."""
        return "".join(chain.from_iterable(zip(self.kept, [*spelled, ""], strict=True)))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the input.

    :param place: where it is: `line 17`, or the path of a file within its folder.
    :param raw: what its form needs to write it again.
    :param digest: SHA-256 of all that was read, 32 bytes.
    :param id: names the note in reports.
    :param patient: whose note it is.
    :param parts: the texts of the note, in the order in which they stand; none if the row is no note or cannot be read.
    :param kept: column and value of what passes as it is.
    :param problem: why the row cannot be read, without text; empty if it can.
    """

    place: str
    raw: Any = field(repr=False)
    digest: bytes = field(repr=False)
    id: str = ""
    patient: str = field(default="", repr=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)
    kept: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    problem: str = ""

    @property
    def is_note(self) -> bool:
        """Whether the row is a note, readable or not."""
        return bool(self.parts or self.problem)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each part."""
        return tuple(part.text for part in self.parts)


class InputFormat(ABC):
    """A form of input and output, opened on one path.

    :param path: of the input.
    :param target: of the output, gzipped if its name ends in .gz and the format allows it.
    :param settings: how to read it.
    :ivar columns: what becomes of each, when `find_columns` has looked.
    :ivar passed_over: what was not read as notes, and how many files of it there are; known when `rows` has begun.
    """

    name: str

    def __init__(self, path: Path, target: Path, settings: FormatSettings) -> None:
        self.path, self.target, self.settings, self.columns = path, target, settings, settings.columns
        self.passed_over: dict[str, int] = {}

    def state(self) -> str:
        """What changes when somebody changes the input, without reading it: SHA-256 over size and time of its files."""
        return state_of([("", self.path.stat())])

    @abstractmethod
    def find_columns(self, labels: Collection[str] = ()) -> Columns | None:
        """What becomes of each column that is there; None for a form that has no columns.

        :param labels: of the engine, for what is suggested.
        :raises CorpusError: if a column is missing, doubled or has no treatment, or a value cannot be treated as asked.
        """

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Every row, in order, one at a time in memory; :raises CorpusError: if nothing of the input can be read."""

    @abstractmethod
    def fraction(self) -> float:
        """How much of the input `rows` has read, in [0, 1]."""

    @abstractmethod
    def encode(self, rows: Sequence[tuple[Row, Sequence[str]]]) -> bytes:
        """Rows with a new text for each part, as bytes for `assemble`.

        :raises UnicodeEncodeError: if the encoding of the output lacks a character.
        :raises CorpusError: if the form cannot hold a text.
        """

    @abstractmethod
    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the output from encoded chunks; the target does not exist."""


def state_of(files: Iterable[tuple[str, os.stat_result]]) -> str:
    """SHA-256 over name, size and time of change of each file."""
    digest = hashlib.sha256()
    for name, found in files:
        digest.update(f"{len(os.fsencode(name))}:{found.st_size}:{found.st_mtime_ns}:".encode() + os.fsencode(name))
    return digest.hexdigest()


def printable_id(value: object) -> str:
    """An id as one line of at most 200 characters; empty if the value is none, as in a damaged file."""
    id = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return id if _ID.fullmatch(id) else ""


def patient_name(value: object, id: str) -> str:
    """The patient that a column names; where it holds nothing, the one read from the id.

    :param value: 17, 17.0 and "17" are one patient, as tables with gaps turn whole numbers into others.
    :returns: nothing for what cannot name a patient, such as a list.
    """
    if value is None or value == "":
        return patient_of(id)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
