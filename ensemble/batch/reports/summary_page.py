"""The summary of a run as one HTML file that fetches nothing.

render_page(summary)      the page, from what is in summary.json
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

__all__ = ["IN_KEPT", "STILL_THERE", "render_page"]

IN_KEPT = "identifiers in columns kept as they are"
"""What counts, by column, those that stand in a column that passed."""

STILL_THERE = ("found by the second pass", "identifiers still in the output", IN_KEPT)
"""What counts places of the output where an identifier may stand."""

_TABLES = (
    "PHI by label", "PHI by strategy", "quarantined by reason", "passed over", *STILL_THERE,
    "short identifiers, also by chance", "surrogates equal to another identifier",
)  # fmt: skip
_FIGURES = ("notes", "quarantined", "notes with PHI", "tagged as nothing else was possible", "words to review")


def render_page(summary: Mapping[str, Any]) -> str:
    """The page; whatever comes from the run is escaped. It holds no times, as the audit log holds its checksum."""
    from jinja2 import Environment

    template = (resources.files("ensemble.batch.reports") / "summary_template.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        figures=[(name, summary[name]) for name in _FIGURES],
        tables=[(name, summary[name], max(summary[name].values(), default=0)) for name in _TABLES],
        facts={**summary["settings"], "input": summary["input"]},
        quarantined=summary["quarantined"],
        left=sum(sum(summary[name].values()) for name in STILL_THERE),
    )
