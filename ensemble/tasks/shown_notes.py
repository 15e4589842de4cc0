"""What an engine that ships makes of a few notes, before anything is trained.

show_shipped(console, Path("shipped.html"))      redacted notes on the console at once, the same in colour on a page
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import shipped_engine, shipped_names
from phistack.ensemble.tasks.explaining import note_view
from phistack.ensemble.views.page import write_page
from phistack.features.documents import Document

if TYPE_CHECKING:
    from rich.console import Console

_ENGINE = "english"
_NOTES = resources.files("phistack.ensemble.tasks") / "shown_notes.toml"


def show_shipped(console: Console, page: Path) -> None:
    """Show notes as the English engine redacts them; nothing where phistack was installed without that."""
    if _ENGINE not in shipped_names():
        return
    notes = [Document(note["id"], note["text"]) for note in tomllib.loads(_NOTES.read_text("utf-8"))["notes"]]
    engine = load_bundle(shipped_engine(_ENGINE))
    views = [note_view(note, found) for note, found in zip(notes, engine.decide(notes), strict=True)]
    console.print(f"{len(notes)} notes that it never saw, by the engine {_ENGINE}, which comes with phistack:")
    for view in views:
        console.print(view.redacted, markup=False, highlight=False, soft_wrap=True)
    write_page(page, title=f"What the engine {_ENGINE} finds", notes=views)
