"""The demonstration: train on synthetic notes, score, redact, and write a page with the results.

Before that it shows a few notes as a shipped engine redacts them, which takes seconds.

demo_output/
    shipped.html     these notes
    corpus/          the training notes, i2b2 XML
    unseen/          notes that the engine never saw, i2b2 XML with gold
    engine/          the bundle
    annotated/       the unseen notes as the engine annotates them, i2b2 XML
    redacted/        the same as text with labels instead of PHI
    scores.json      scores of each submodel and the stack on the held-out notes
    demo.html        the page
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import shipped_engine, shipped_names
from phistack.ensemble.deidentification import redact
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.systems import table_of
from phistack.ensemble.stacking.folds import held_out_patients
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import score_on, train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.views.page import NoteView, write_page
from phistack.features.documents import Corpus, Document
from phistack.features.formats import write_corpus
from phistack.features.registry import packaged_table
from phistack.features.writing import new_folder, refuse_taken, write_json
from phistack.submodels.registry import SUBMODELS

if TYPE_CHECKING:
    from rich.console import Console

_ENGINE = "english"

# Quick settings: two folds, a CRF with half the tags, and one network with few epochs, short windows and no language
# model. On so few invented notes this costs hardly any accuracy.
_FOLDS = 2
_QUICK: Mapping[str, Mapping[str, Any]] = {
    "crf": {"scheme": "BIO", "max_iterations": 25},
    "blstm": {"networks": 1, "epochs": 10, "invented_notes": 0, "language_model": 0, "window": 32},
}
_SUBMODELS = {name: _QUICK.get(name, {}) for name in SUBMODELS}
_SHOWN = 6


def run_demo(out: Path, *, n_documents: int, seed: int = 0, jobs: int = 2) -> None:
    """Run the demonstration into a new folder; a quarter of the patients is held out for scoring.

    :raises SettingsError: if the folder exists.
    """
    from rich.console import Console

    refuse_taken(out)
    console = Console(width=120)
    begin = time.perf_counter()
    with new_folder(out) as folder:
        _show_shipped(console, folder / "shipped.html")
        training, held_out = held_out_patients(synthesize(n_documents, seed=seed), parts=4, seed=seed)
        console.print(f"{len(training)} synthetic notes to train on, {len(held_out)} of other patients to score.")
        write_corpus(training, folder / "corpus", format="i2b2")
        settings = EngineSettings(folds=_FOLDS, seed=seed, submodels=_SUBMODELS)
        trained, _ = train_bundle(training, folder / "engine", settings, jobs=jobs)
        reports = score_on(trained.engine, held_out)
        strict = {name: report.strict for name, report in reports.items()}
        console.print(table_of("strict, on held-out patients", strict))
        views = _annotate(trained.engine, held_out, folder)
        write_json(folder / "scores.json", {name: report.to_dict() for name, report in reports.items()})
        seconds = f"{time.perf_counter() - begin:.0f}"
        counts = {"training notes": len(training), "held-out notes": len(held_out), "folds": _FOLDS}
        facts = {**{name: str(count) for name, count in counts.items()}, "seconds": seconds}
        write_page(
            folder / "demo.html",
            title="phistack demo",
            notes=views,
            scores=strict,
            types={score.name: score for score in reports["stack"].types},
            facts=facts,
        )
    console.print(f"Done in {seconds} s. Open {out / 'demo.html'} in a browser.", highlight=False)


def _show_shipped(console: Console, page: Path) -> None:
    """Show notes as the English engine redacts them, if that engine is installed."""
    if _ENGINE not in shipped_names():
        return
    notes = [
        Document(note["id"], note["text"])
        for note in packaged_table("phistack.ensemble.tasks", "shown_notes.toml")["notes"]
    ]
    engine = load_bundle(shipped_engine(_ENGINE))
    readings = list(engine.read(notes))
    console.print(f"{len(notes)} notes that it never saw, by the engine {_ENGINE}, which comes with phistack:")
    for reading in readings:
        redacted = redact(reading.document.with_spans(reading.accepted))
        console.print(redacted, markup=False, highlight=False, soft_wrap=True)
    views = [NoteView(reading.document, reading.decisions) for reading in readings]
    write_page(page, title=f"What the engine {_ENGINE} finds", notes=views)


def _annotate(engine: Engine, held_out: Corpus, folder: Path) -> Sequence[NoteView]:
    """Annotate and redact a few unseen notes, and write them."""
    unseen = replace(held_out, documents=held_out.documents[:_SHOWN])
    decisions = list(engine.decide(unseen.documents))
    annotated = unseen.with_spans([[d.span for d in note if d.accepted] for note in decisions])
    write_corpus(unseen, folder / "unseen", format="i2b2")
    write_corpus(annotated, folder / "annotated", format="i2b2")
    redacted = tuple(Document(document.id, redact(document)) for document in annotated.documents)
    write_corpus(replace(unseen, documents=redacted), folder / "redacted", format="text")
    return [NoteView(d, note, has_gold=True) for d, note in zip(unseen.documents, decisions, strict=True)]
