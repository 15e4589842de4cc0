"""A few notes from the beginning of an input, however long that is, to see of what kind the notes are.

    first_texts(Path("notes.jsonl"), FormatSettings(), most=50)      ["Seen by ...", ...]

Columns without a treatment do not matter here, as the run itself refuses them, and neither do single rows that cannot
be read.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

from phistack.ensemble.batch.columns import REMOVE
from phistack.ensemble.batch.rows import FormatSettings, InputFormat, Row, open_format
from phistack.features.errors import CorpusError

_MOST_ROWS = 1000
"""So many are looked at if most hold no text."""


def first_texts(source: Path, settings: FormatSettings, *, form: str = "", most: int) -> list[str]:
    """The texts of the first notes that have one, without columns that are one identifier.

    :param form: the name of the format of the input; empty to recognise it.
    :param most: how many notes.
    :raises CorpusError: if the input cannot be opened, lacks a column, or none of its first rows can be read.
    :raises SettingsError: for an encoding that does not exist.
    """
    settings = replace(settings, columns=replace(settings.columns, rest=REMOVE))
    opened = open_format(source, source, settings, form)
    problems: list[str] = []
    texts: list[str] = []
    with closing(_rows(opened)) as rows:
        for row in islice(rows, _MOST_ROWS):
            problems += [row.problem] if row.problem else []
            texts += filter(str.strip, ["\n".join(part.text for part in row.parts if not part.label)])
            if len(texts) == most:
                break
    if not texts and problems:
        opened.find_columns(keyed=True)
        opened.refuse_other_encoding(least=1)
        raise CorpusError(f"none of the first notes in {source} can be read; the first is {problems[0]}")
    return texts


def _rows(form: InputFormat) -> Generator[Row]:
    yield from form.rows()
