"""Why the engine marked a span: every decision on a note, with its votes.

print_explanation(reading, console)     the spans accepted by each step; offsets, label, probability and votes of each
"""

from __future__ import annotations

from itertools import pairwise

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from phistack.ensemble.engine import Reading
from phistack.ensemble.stacking.overruling import PATTERNS
from phistack.ensemble.stacking.phrase_lists import ALWAYS, NEVER
from phistack.features.languages import language_name
from phistack.features.shown import shown_id, whole
from phistack.submodels.base import Candidate


def print_explanation(reading: Reading, console: Console, *, show_text: bool = False) -> None:
    """Print the decisions on a note; the text of the spans only with `show_text`."""
    document, decisions = reading.document, reading.decisions
    name = whole(document.id) if show_text else shown_id(document.id)
    title = Text(f"{name}: {len(reading.accepted)} PHI")
    table = Table(title=title, title_justify="left", caption=Text(_steps(reading)), caption_justify="left")
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


def _steps(reading: Reading) -> str:
    """The changes by each step, and the passages that this engine did not read."""
    changes = [
        f"{name}: {after} accepted" if name == "decide" else f"{name}: {after - before:+d}"
        for (_, before), (name, after) in pairwise([("", 0), *reading.trace])
        if after != before
    ]
    changes += [f"{span.start}-{span.end}: {span.label.lower()}, not read" for span in reading.unread]
    for passage, language in reading.elsewhere:
        start, end = reading.view.place(passage.start, passage.end)
        changes.append(f"{start}-{end}: read by the engine for {language_name(language)}")
    return "; ".join(changes)


def _vote(vote: Candidate) -> str:
    if vote.source in (ALWAYS, NEVER, PATTERNS):
        return f"{vote.source}: {vote.evidence}"
    offered = "" if vote.chosen else ", not its choice"
    evidence = f": {vote.evidence}" if vote.evidence else ""
    return f"{vote.source} {vote.score:.3f}{offered}{evidence}"
