"""The summary of a run as one HTML file that fetches nothing.

render_page(summary)      the page
"""

from __future__ import annotations

from phistack.ensemble.batch.reports.summary import KEYS, Summary
from phistack.ensemble.views.templates import template

_TABLES = (
    "by_engine", "by_label", "known", "by_strategy", "by_reason", "passed_over", "second_pass", "still_there",
    "in_kept_columns", "by_chance", "equal_surrogates",
)  # fmt: skip
_FIGURES = ("notes", "quarantined", "with_phi", "unresolved", "not_in_roster", "words_to_review")


def render_page(summary: Summary) -> str:
    """The page; whatever comes from the run is escaped. It holds no times, as the audit log holds its checksum."""
    tables = ((KEYS[name], getattr(summary, name)) for name in _TABLES)
    return template("phistack.ensemble.batch.reports", "summary_template.html").render(
        figures=[(KEYS.get(name, name), getattr(summary, name)) for name in _FIGURES],
        tables=[(name, counts, max(counts.values(), default=0)) for name, counts in tables],
        facts={**summary.settings, "input": summary.input},
        quarantined=summary.quarantined,
        left=summary.n_left,
    )
