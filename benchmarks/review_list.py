"""How many of the missed words are at the top of the review list of a batch run.

    python -m benchmarks.review_list english                 300 hospital notes that nothing was trained on
    python -m benchmarks.review_list english --corpus ../shared/corpora/asq-phi-dev

Missed are the words of identifiers that safe-harbor would remove but no part of which was removed. The list is that of
`review.tsv`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.hospital_notes.notes import invented
from benchmarks.running import run_main
from phistack.ensemble.batch.reports.review import ReviewRow, collect, in_order
from phistack.ensemble.batch.workers.record import KnownWords, suspects
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.tables import Table, percent
from phistack.features.documents import Document
from phistack.features.formats import read_corpus
from phistack.features.letters import fold
from phistack.features.ranges import touching
from phistack.features.text_words import words_of


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", help="a bundle, or the name of one that ships")
    parser.add_argument("--corpus", type=Path, help="annotated notes; invented hospital notes without")
    parser.add_argument("--notes", type=int, default=300)
    arguments = parser.parse_args()
    engine = load_bundle(bundle_path(arguments.engine))
    if arguments.corpus is None:
        notes: Sequence[Document] = [note.document for note in invented(engine.language, arguments.notes)]
    else:
        notes = read_corpus(arguments.corpus, accept_unknown_labels=True).documents
    rows, missed = ranked(engine, notes)
    at = [rows.index(word) for word in missed if word in rows]
    per_thousand = round(len(notes) / 10)
    cells = [
        (f"{n:,}", _share(sum(i < n for i in at), len(missed)), _share(len({*rows[:n]} & {*missed}), n))
        for n in sorted({25, 50, per_thousand, 100, 200, 400, len(rows)})
    ]
    title = f"{arguments.engine}: {len(missed):,} words missed in {len(notes):,} notes; 100 a thousand: {per_thousand}"
    table = Table(("first rows", "% of the missed words", "% of the rows are missed words"), [cells], title)
    Console(width=100).print(table)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def ranked(engine: Engine, notes: Sequence[Document]) -> tuple[list[str], list[str]]:
    """The folded words of the review list, in order, and each missed word of each note."""
    deidentifier = Deidentifier(Policy.named("safe-harbor"), engine.label_set, engine.language)
    safe = engine.safe_text
    found: dict[str, ReviewRow] = {}
    missed: list[str] = []
    for note, reading in zip(notes, engine.read(notes), strict=True):
        changed = deidentifier.apply(note, reading.annotated.spans)
        replaced = sorted({(r.span.start, r.span.end) for r in changed.replacements})
        known = KnownWords(note.text[start:end] for start, end in replaced)
        words = [(*suspect,) for suspect in suspects(note.text, changed, reading.decisions, safe, known)]
        collect(found, note.id, words)
        is_gone = touching(replaced)
        for span in deidentifier.must_go(note):
            if is_gone(span.start, span.end):
                continue
            places = ((span.start + a, span.start + b) for a, b in words_of(note.text[span.start : span.end]))
            missed += [fold(note.text[a:b]) for a, b in places if b - a > 1]
    return [fold(row.word) for row in in_order(found)], missed


if __name__ == "__main__":
    run_main(main)
