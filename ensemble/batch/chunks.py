"""The rows of an input cut into chunks, the same way in every run; and the first of them as a sample.

    for chunk in chunks_of(form): ...       Chunk(number=0, rows=[...], digest=..., fraction=0.01)
    first_texts(Path("notes.jsonl"), FormatSettings(), most=50)      ["Seen by ...", ...]

A chunk is what a worker takes at once and what the journal counts. Consecutive notes of one patient stay in one chunk,
unless there are very many. The sample, which may decide the engine, skips rows that cannot be read and columns without
a treatment, as the run itself refuses these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from phistack.ensemble.batch.columns import REMOVE
from phistack.ensemble.batch.rows import FormatSettings, InputFormat, Row, open_format
from phistack.features.errors import CorpusError

_ROWS, _CHARACTERS = 128, 400_000
_MOST_ROWS, _MOST_CHARACTERS = 1024, 4_000_000
_MOST_SAMPLED = 1000


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
    for number, rows in enumerate(together(form.rows())):
        yield Chunk(number, rows, form.table.file.fraction)


def together(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows that are handled together, one list at a time in memory."""
    waiting: list[Row] = []
    characters = 0
    for row in rows:
        if waiting and _full(waiting, characters, row):
            yield waiting
            waiting, characters = [], 0
        waiting.append(row)
        characters += sum(len(part.text) for part in row.parts)
    if waiting:
        yield waiting


def _full(rows: list[Row], characters: int, following: Row) -> bool:
    if len(rows) >= _MOST_ROWS or characters >= _MOST_CHARACTERS:
        return True
    same_patient = bool(following.patient) and following.patient == rows[-1].patient
    return (len(rows) >= _ROWS or characters >= _CHARACTERS) and not same_patient


def first_texts(source: Path, settings: FormatSettings, *, form: str = "", most: int) -> list[str]:
    """The texts of the first notes that have one, without columns that are one identifier.

    :param form: the name of the format of the input; empty to recognise it.
    :raises CorpusError: if the input cannot be opened, lacks a column, or none of its first rows can be read.
    :raises SettingsError: for an encoding that does not exist.
    """
    settings = replace(settings, columns=replace(settings.columns, rest=REMOVE))
    opened = open_format(source, source, settings, form)
    problems: list[str] = []
    texts: list[str] = []
    with closing(row for row in opened.rows()) as rows:
        for row in islice(rows, _MOST_SAMPLED):
            problems += [row.problem] if row.problem else []
            texts += filter(str.strip, ["\n".join(part.text for part in row.parts if not part.label)])
            if len(texts) == most:
                break
    if not texts and problems:
        opened.find_columns(keyed=True)
        opened.refuse_other_encoding(least=1)
        raise CorpusError(f"none of the first notes in {source} can be read; the first is {problems[0]}")
    return texts
