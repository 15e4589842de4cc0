"""A few notes from the beginning of an input, however long that is, to see of what kind the notes are.

    first_texts(Path("notes.jsonl"), FormatSettings(), most=50)      ["Seen by ...", ...]

Rows that cannot be read and columns of which nobody said what becomes of them do not matter here; the run itself speaks
of them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

from phistack.ensemble.batch.formats.columns import REMOVE
from phistack.ensemble.batch.formats.recognise import open_format
from phistack.ensemble.batch.formats.rows import FormatSettings, Row

_MOST_ROWS = 1000
"""So many are looked at where most hold no text."""


def first_texts(source: Path, settings: FormatSettings, *, form: str = "", most: int) -> list[str]:
    """The texts of the first notes that have one, without columns that are one identifier.

    :param form: the name of the form of the input; empty to look.
    :param most: how many notes.
    :raises CorpusError: if the input cannot be opened.
    :raises SettingsError: for a form or encoding that does not exist.
    """
    settings = replace(settings, columns=replace(settings.columns, rest=REMOVE))
    with closing(_rows(source, settings, form)) as rows:
        return list(islice(filter(str.strip, map(_text, islice(rows, _MOST_ROWS))), most))


def _rows(source: Path, settings: FormatSettings, form: str) -> Generator[Row]:
    yield from open_format(source, source, settings, form).rows()


def _text(row: Row) -> str:
    return "\n".join(part.text for part in row.parts if not part.label)
