"""Measure an engine on invented hospital notes that nothing was trained on.

    python -m benchmarks.hospital_notes english                          400 notes; about a minute
    python -m benchmarks.hospital_notes engine.zip --language nl --notes 200 --seed 7
    python -m benchmarks.hospital_notes english --set third              the notes of another author
    python -m benchmarks.hospital_notes english --noise none --recall high --errors missed.tsv

Prints what the policy safe-harbor does with them: identifiers of which any or all is changed, changed stretches that
touch one, and clean words lost; by kind of note, by kind of identifier, by noise and by origin of name. `--errors`
writes what was missed, and what was changed besides, with its line. The notes and these files are for measuring; those
who write templates for training must not read them.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.hospital_notes.noise import NOISE
from benchmarks.hospital_notes.notes import HospitalNote, inside, invented
from benchmarks.hospital_notes.templates import SETS
from benchmarks.reached import Tally, changed_stretches, table_of
from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.options import RECALLS
from phistack.ensemble.stacking.thresholds import BALANCED
from phistack.features.documents import Span
from phistack.features.ranges import Range, ranges_of, touching

_POLICY = Policy.named("safe-harbor")
_FEWEST = 30
"""Names of an origin, to have a row."""


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hospital_notes", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("engine", help="a bundle, or the name of one that ships")
    parser.add_argument("--language", help="of the notes; that of the engine, if none is named")
    parser.add_argument("--notes", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", choices=SETS, default="second", help="of notes; each is by another author")
    parser.add_argument("--recall", default=BALANCED, choices=RECALLS, help="which threshold")
    parser.add_argument("--noise", help=f"kinds separated by commas, of {', '.join(NOISE)}; all in half of the notes")
    parser.add_argument("--errors", type=Path, help="a file of tab-separated values for what was missed")
    arguments = parser.parse_args()
    noise = arguments.noise.split(",") if arguments.noise else []
    if unknown := set(noise) - set(NOISE):
        parser.error(f"there is no noise {', '.join(sorted(unknown))}; there are {', '.join(NOISE)}")
    engine = load_bundle(bundle_path(arguments.engine)).with_options(recall=arguments.recall)
    language = arguments.language or engine.language
    notes = invented(language, arguments.notes, seed=arguments.seed, noise=noise, hand=arguments.set)
    must_go = what_must_go(notes, engine)
    stretches = changed_stretches(engine, [note.document.with_spans(()) for note in notes], _POLICY)
    notes_are = f"{len(notes)} hospital notes ({arguments.set} set, {language}, seed {arguments.seed})"
    title = f"{arguments.engine}, {notes_are}, {arguments.recall}"
    Console(width=140).print(table_of(counted(notes, must_go, stretches).figures(), title))
    if arguments.errors:
        with arguments.errors.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, dialect="excel-tab").writerows(_errors(notes, must_go, stretches))


def what_must_go(notes: Sequence[HospitalNote], engine: Engine) -> list[tuple[Span, ...]]:
    """The identifiers of each note that the policy safe-harbor changes."""
    deidentifier = Deidentifier(_POLICY, engine.label_set, engine.language)
    return [deidentifier.must_go(note.document) for note in notes]


def counted(
    notes: Sequence[HospitalNote], must_go: Sequence[Sequence[Span]], stretches: Sequence[Sequence[Range]]
) -> Tally:
    """Count by kind of note, kind of identifier, noise and origin of name."""
    origins = Counter(mention.origin for note in notes for mention in note.mentions if mention.origin)
    tally = Tally()
    for note, wanted, changed in zip(notes, must_go, stretches, strict=True):
        own = {
            mention.span: [
                ("identifier", mention.slot),
                *([("origin", mention.origin)] if origins[mention.origin] >= _FEWEST else []),
            ]
            for mention in note.mentions
        }
        tally.add(note.document, wanted, changed, [("kind", note.kind), ("noise", note.noise)], own)
    return tally


def _errors(
    notes: Sequence[HospitalNote], must_go: Sequence[Sequence[Span]], stretches: Sequence[Sequence[Range]]
) -> Iterator[tuple[str, ...]]:
    yield "what", "note", "kind", "noise", "identifier", "origin", "line"
    for note, wanted, changed in zip(notes, must_go, stretches, strict=True):
        is_changed, is_marked = touching(changed), touching(ranges_of(note.document.spans))
        missed = [m for m in note.mentions if m.span in wanted and not is_changed(m.span.start, m.span.end)]
        found = [("missed", mention.slot, mention.origin, mention.span) for mention in missed]
        found += [("changed", "", "", Span(*one, "none")) for one in changed if not is_marked(*one)]
        for what, slot, origin, span in found:
            yield what, note.id, note.kind, note.noise, slot, origin, inside(note.text, span)


if __name__ == "__main__":
    run_main(main)
