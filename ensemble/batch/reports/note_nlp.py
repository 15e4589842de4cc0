"""What a run replaced, as rows of OMOP's table NOTE_NLP (CDM 5.4).

    write_note_nlp(Path("clean.csv"), Path("note_nlp.csv"))     1,234: how many rows

The rows describe the output: its ids, and places and words in its texts. They tell surrogates from what was missed, as
`replaced.jsonl` does.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.columns import REMOVE
from phistack.ensemble.batch.reports.audit import opened_output
from phistack.ensemble.batch.reports.report import replaced_in
from phistack.ensemble.batch.rows import TABLES, FormatSettings, open_format
from phistack.features.errors import CorpusError
from phistack.features.formats.recognise import RECORDS
from phistack.features.writing import new_file

_COLUMNS = (
    *("note_nlp_id", "note_id", "section_concept_id", "snippet", "offset", "lexical_variant", "note_nlp_concept_id"),
    *("note_nlp_source_concept_id", "nlp_system", "nlp_date", "nlp_datetime", "term_exists", "term_temporal"),
    "term_modifiers",
)
_LONGEST = 250


def write_note_nlp(target: Path, file: Path) -> int:
    """Write a row for each place in the text of a note that a finished run replaced, as CSV.

    :param file: must not exist yet.
    :raises CorpusError: if there is no such run.
    """
    number = 0
    with new_file(file) as part, part.open("w", newline="", encoding="utf-8") as out:
        sheet = csv.writer(out, lineterminator="\n")
        sheet.writerow(_COLUMNS)
        for number, row in enumerate(_rows(target), 1):
            sheet.writerow([{"note_nlp_id": number, **row}.get(name, "") for name in _COLUMNS])
    return number


def refuse_without_ids(source: Path, settings: FormatSettings, form: str = "") -> None:
    """Refuse an input whose output will not have the ids of notes; :raises CorpusError: saying what to do.

    :param form: the name of the format of the input; empty to recognise it.
    """
    name, id = open_format(source, source, settings, form).name, settings.columns.id
    if name not in TABLES or name in RECORDS or settings.columns.treatment(id or "") == REMOVE:
        raise CorpusError(
            f"the output of {source} has no column of ids, which NOTE_NLP needs; give a table, and keep its ids with "
            "--column"
        )


def _rows(target: Path) -> Iterator[dict[str, Any]]:
    form, summary = opened_output(target)
    columns, on = summary.settings["columns"], summary.start.finished[:10]
    known = {"nlp_system": "phistack", "nlp_date": on, "term_exists": "Y"}
    known |= dict.fromkeys(("note_nlp_concept_id", "note_nlp_source_concept_id"), "0")
    for row, line in replaced_in(target, form):
        texts = row.raw.texts if row.raw else {}
        parts = [name for name in texts if form.columns.label(name) is not None]
        replaced = dict(zip(parts, line["replaced"], strict=True)).get(columns["texts"][0], ())
        for start, end, label, strategy in replaced:
            yield {
                **known,
                "note_id": texts[columns["id"]],
                "offset": start,
                "lexical_variant": texts[columns["texts"][0]][start:end][:_LONGEST],
                "term_modifiers": f"label={label};strategy={strategy}",
            }
