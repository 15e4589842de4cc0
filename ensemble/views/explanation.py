"""Why the engine marked what it marked: every decision on a note, with its votes.

print_explanation(document, decisions, console)     offsets, label, probability and who said what
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.overruling import PATTERNS
from phistack.ensemble.stacking.phrase_lists import ALWAYS, NEVER
from phistack.features.documents import Document
from phistack.features.shown import shown_id, whole
from phistack.submodels.base import Candidate


def print_explanation(
    document: Document, decisions: Sequence[Decision], console: Console, *, show_text: bool = False
) -> None:
    """Print one note's decisions; the text of the spans only if asked for."""
    name = whole(document.id) if show_text else shown_id(document.id)
    table = Table(title=Text(f"{name}: {sum(d.accepted for d in decisions)} PHI"), title_justify="left")
    columns = ["start", "end", "label", "probability", "in result", "proposed by"]
    for name in [*columns, "text"] if show_text else columns:
        justify: JustifyMethod = "right" if name in ("start", "end", "probability") else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for decision in decisions:
        cells: list[str | Text] = [
            str(decision.span.start),
            str(decision.span.end),
            Text(decision.span.label),
            f"{decision.probability:.3f}",
            "yes" if decision.accepted else "no",
            Text("\n".join(map(_vote, decision.votes))),
        ]
        text = [Text(repr(document.text[decision.span.start : decision.span.end]))] if show_text else []
        table.add_row(*cells, *text, style="" if decision.accepted else "dim")
    console.print(table)


def _vote(vote: Candidate) -> str:
    if vote.source in (ALWAYS, NEVER, PATTERNS):
        return f"{vote.source}: {vote.evidence}"
    offered = "" if vote.chosen else ", not its choice"
    evidence = f": {vote.evidence}" if vote.evidence else ""
    return f"{vote.source} {vote.score:.3f}{offered}{evidence}"
