"""Rows cut into chunks, the same way in every run over the same input.

    for chunk in chunks_of(form): ...       Chunk(number=0, rows=[...], digest=..., fraction=0.01)

A chunk is what a worker takes at once and what the journal counts. Notes of one patient that follow each other stay in
one chunk, unless there are very many of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from phistack.ensemble.batch.rows import InputFormat, Row

_ROWS, _CHARACTERS = 128, 400_000
_MOST_ROWS, _MOST_CHARACTERS = 1024, 4_000_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that are handled together.

    :param number: from 0, in the order of the input.
    :param rows: at least one.
    :param fraction: how much of the input was read when the chunk was complete.
    """

    number: int
    rows: list[Row] = field(repr=False)
    fraction: float

    @property
    def digest(self) -> bytes:
        """SHA-256 over all rows."""
        return hashlib.sha256(b"".join(row.digest for row in self.rows)).digest()


def chunks_of(form: InputFormat) -> Iterator[Chunk]:
    """The chunks of an input, one at a time in memory."""
    rows: list[Row] = []
    number = characters = 0
    for row in form.rows():
        if rows and _full(rows, characters, row):
            yield Chunk(number, rows, form.table.file.fraction)
            rows, characters, number = [], 0, number + 1
        rows.append(row)
        characters += sum(len(part.text) for part in row.parts)
    if rows:
        yield Chunk(number, rows, 1.0)


def _full(rows: list[Row], characters: int, following: Row) -> bool:
    if len(rows) >= _MOST_ROWS or characters >= _MOST_CHARACTERS:
        return True
    same_patient = bool(following.patient) and following.patient == rows[-1].patient
    return (len(rows) >= _ROWS or characters >= _CHARACTERS) and not same_patient
