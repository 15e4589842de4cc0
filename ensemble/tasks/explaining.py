"""The command `explain`: print why spans are marked, and write a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from phistack.ensemble.deidentification import redact
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.tasks.annotating import HeldBack, Source
from phistack.ensemble.views.explanation import print_explanation
from phistack.ensemble.views.page import NoteView, write_page
from phistack.features.documents import Document


def explain_corpus(
    source: Source, engine: Engine, console: Console, *, html: Path | None = None, show_text: bool = False
) -> tuple[int, HeldBack]:
    """Print the decisions on every note that the engine can read, and write them to the page `html`, if given.

    :returns: the number of these notes, and the notes held back.
    :raises CorpusError: if it can read none of the notes.
    """
    held_back: dict[str, str] = {}
    readings = list(source.read(engine, held_back, traced=True))
    for reading in readings:
        print_explanation(reading, console, show_text=show_text)
    if html is not None:
        views = [note_view(reading.document, reading.decisions) for reading in readings]
        write_page(html, title="Why each span was marked", notes=views)
    return len(readings), held_back


def note_view(document: Document, decisions: Sequence[Decision], *, has_gold: bool = False) -> NoteView:
    """A note for a page, with its decisions and its redacted text."""
    found = document.with_spans(decision.span for decision in decisions if decision.accepted)
    return NoteView(document=document, decisions=decisions, has_gold=has_gold, redacted=redact(found))
