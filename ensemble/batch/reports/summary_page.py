"""The summary of a run as one HTML file that loads nothing from any network.

render_page(summary, output)      the page
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.reports.summary import KEYS, Summary
from phistack.ensemble.batch.reports.terminal_summary import held_back, statements
from phistack.ensemble.views.templates import template

_TABLES = {
    "second_pass": "What the engine still finds when it reads the output.",
    "still_there": "Identifiers replaced in one note that are in the output of the same patient.",
    "in_kept_columns": "Identifiers of the row's patient, by column.",
    "by_label": "",
    "by_strategy": "What became of it.",
    "known": "Accepted because the roster has it for the note's patient.",
    "passed_over": "Input that was not read as notes.",
    "by_chance": "Identifiers of fewer than four letters and digits, which are also there by chance.",
    "equal_surrogates": "Surrogates of the output that are an identifier of the patient.",
}
"""Field of the summary -> what it counts, in the order of the page."""
_TOTALS = ("notes", "quarantined", "with_phi", "unresolved", "not_in_roster", "words_to_review")


def render_page(summary: Summary, output: Path) -> str:
    """The page; whatever comes from the run is escaped. It holds no times, as the audit log holds its checksum.

    What is zero or empty is left out.
    """
    *said, found = map(_sentence, statements(summary, output))
    held = [f"{_sentence(reason)} (see quarantine.jsonl)" for reason in held_back(summary)]
    tables = [(_sentence(KEYS[name]), meaning, getattr(summary, name)) for name, meaning in _TABLES.items()]
    totals = {KEYS.get(name, name): getattr(summary, name) for name in _TOTALS}
    return template("phistack.ensemble.batch.reports", "summary_template.html").render(
        statements=said if summary.n_left else [*said, found],
        warnings=[*held, found] if summary.n_left else held,
        totals={name: count for name, count in totals.items() if count},
        tables=[table for table in tables if table[-1]],
        facts=dict(_facts({**summary.settings, "input": summary.input})),
    )


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _facts(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Settings that were given, each with its value in words."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _facts(value, f"{above}{name}: ")
        elif isinstance(value, bool):
            yield above + name, "yes" if value else "no"
        elif value not in (None, "", []):
            yield above + name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
