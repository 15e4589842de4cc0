"""What seeking again brings: names that were found once and stay elsewhere, before and after.

    phistack synthesize notes --documents 120 --seed 1
    phistack synthesize others --documents 400 --seed 2
    phistack train notes --model engine --submodels regex,tbed,crf
    python -m benchmarks.repeated_mentions --model engine --corpus others

Four rows: what the engine decides without repeats and with them, and what a run for release takes out without and with
`seek_again`. A mention of a name *stays* if no span touches it, and it was *found elsewhere* if a word of three letters
or more of it is in a name that was found in a note of the patient. Notes are scored that the engine was not trained on.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.known.identifiers import unmarked
from phistack.ensemble.stacking.repeats.search import search_mode
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Document, Span
from phistack.features.formats import read_corpus
from phistack.features.letters import fold
from phistack.features.ranges import touching
from phistack.features.text_words import words_of

Spans = Sequence[Sequence[Span]]
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Released:
    """Counts over all notes.

    :param right: spans that are in gold, with their type.
    :param found: spans.
    :param gold: spans of gold.
    :param names: names in gold.
    :param stay: those that no span touches.
    :param found_elsewhere: those of them of which a part was found in the patient's notes.
    :param spurious: spans that touch no PHI at all.
    """

    right: int
    found: int
    gold: int
    names: int
    stay: int
    found_elsewhere: int
    spurious: int

    @property
    def figures(self) -> tuple[str, ...]:
        """Strict precision, recall and F1 in percent, then counts."""
        shares = (self.right / self.found, self.right / self.gold, 2 * self.right / (self.found + self.gold))
        stay = f"{self.stay} of {self.names}"
        return (*(f"{100 * share:.2f}" for share in shares), stay, str(self.found_elsewhere), str(self.spurious))


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="an engine that was not trained on these notes")
    parser.add_argument("--corpus", type=Path, required=True, help="annotated notes")
    arguments = parser.parse_args()
    engine = load_bundle(arguments.model)
    notes = read_corpus(arguments.corpus, label_set=engine.label_set, accept_unknown_labels=True).documents
    Console(width=110).print(table_of(engine, notes))


def table_of(engine: Engine, notes: Sequence[Document]) -> Table:
    """The four rows."""
    table = Table("", "precision", "recall", "F1", "names that stay", "found elsewhere", "no PHI at all")
    counts = engine.stacker.counts or WordCounts(engine.space.settings.language)
    answers: dict[str, Spans] = {
        name: [document.spans for document in one.annotate(notes)]
        for name, one in (("engine without repeats", without_repeats(engine)), ("engine", engine))
    }
    answers |= {f"{name}, for release": released(notes, spans, counts) for name, spans in answers.items()}
    for name, spans in answers.items():
        table.add_row(name, *outcome(notes, spans).figures)
    return table


def without_repeats(engine: Engine) -> Engine:
    """The same engine, which seeks nothing again."""
    stacker = copy(engine.stacker)
    stacker.repeats_ = None
    return Engine(engine.label_set, engine.space, engine.submodels, stacker)


def released(notes: Sequence[Document], found: Spans, counts: WordCounts) -> list[Sequence[Span]]:
    """What a run takes out under a policy that removes every label and seeks again."""
    spans: list[Sequence[Span]] = []
    for _, run in groupby(zip(notes, found, strict=True), key=lambda pair: pair[0].group):
        of_patient = list(run)
        more = unmarked(of_patient, counts.language, counts.is_word, lambda label: True)
        spans += [(*known, *new) for (_, known), new in zip(of_patient, more, strict=True)]
    return spans


def outcome(notes: Sequence[Document], found: Spans) -> Released:
    """Compare what was found with the spans of the notes."""
    right = n_found = gold = names = stay = elsewhere = spurious = 0
    for _, run in groupby(zip(notes, found, strict=True), key=lambda pair: pair[0].group):
        of_patient = list(run)
        known = {part for note, spans in of_patient for span in spans if _is_name(span) for part in _parts(note, span)}
        for note, spans in of_patient:
            touched = touching((span.start, span.end) for span in spans)
            is_phi = touching((span.start, span.end) for span in note.spans)
            left = [s for s in note.spans if _is_name(s) and not touched(s.start, s.end)]
            right += len({*spans} & {*note.spans})
            n_found += len({*spans})
            gold += len({*note.spans})
            names += sum(map(_is_name, note.spans))
            stay += len(left)
            elsewhere += sum(bool(_parts(note, span) & known) for span in left)
            spurious += sum(not is_phi(span.start, span.end) for span in {*spans})
    return Released(right, n_found, gold, names, stay, elsewhere, spurious)


def _is_name(span: Span) -> bool:
    return search_mode(span.label) == "parts"


def _parts(note: Document, span: Span) -> set[str]:
    written = note.text[span.start : span.end]
    words = (fold(written[start:end]) for start, end in words_of(written))
    return {word for word in words if len(word) >= _SHORTEST}


if __name__ == "__main__":
    main()
