"""Recall by origin of name: the same invented sentences for every origin, with names from no training note.

    phistack synthesize notes --documents 1000 --registers all --lexicon train --seed 1
    phistack train notes --model engine
    python -m benchmarks.origins engine                           37 origins, 240 sentences each; some minutes
    python -m benchmarks.origins german --origins korean,hebrew --sentences 60

A name is *touched* if any accepted span, of whatever label, touches it, and *covered* if accepted spans cover all its
letters. Sentence, form of the name and sex are the same for each origin: only the name makes a difference. The
sentences are in the language of the engine (`origins.toml`). The last line is the gap in names touched between the best
origin and the worst.
"""

from __future__ import annotations

import argparse
import random
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.synthesis.names import invent_person
from phistack.ensemble.synthesis.templates import table
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError, no_such
from phistack.features.ranges import covering, touching

SENTENCES: Mapping[str, Sequence[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Language -> sentences with a name in braces, in one of the forms of a person's name; `last` is the family name
alone."""

Annotate = Callable[[Iterable[Document]], Iterable[Document]]


@dataclass(frozen=True, slots=True)
class Recall:
    """How many names of one origin were found.

    :param names: how many there were; at least 1.
    :param touched: those that a span touches.
    :param covered: those with every letter covered by spans.
    """

    origin: str
    names: int
    touched: int
    covered: int


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a bundle, or the name of one that ships")
    parser.add_argument("--sentences", type=int, default=240, help="for each origin")
    parser.add_argument("--origins", default=",".join(table("en/origins")), help="names separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    engine = load_bundle(bundle_path(arguments.model))
    if engine.language not in SENTENCES:
        raise SettingsError(no_such("language with sentences", engine.language, SENTENCES))
    found = [
        recall_of(origin, engine.annotate, arguments.sentences, language=engine.language, seed=arguments.seed)
        for origin in comma_list(arguments.origins)
    ]
    Console(width=80).print(table_of(found))
    print(f"largest gap {gap(found):.1f} points")


def table_of(found: Sequence[Recall]) -> Table:
    """A row for each origin, the best found first."""
    shown = Table("origin", "names", "touched", "covered")
    for one in sorted(found, key=lambda one: -one.touched / one.names):
        shown.add_row(one.origin, str(one.names), *(f"{100 * n / one.names:.1f}" for n in (one.touched, one.covered)))
    return shown


def gap(found: Sequence[Recall]) -> float:
    """The gap between the best origin and the worst, in percentage points of the names touched."""
    shares = [100 * one.touched / one.names for one in found]
    return max(shares) - min(shares)


def recall_of(origin: str, annotate: Annotate, n_sentences: int, *, language: str = "en", seed: int = 0) -> Recall:
    """Count the names of one origin that are found.

    :param annotate: returns the documents with the spans that were found.
    """
    touched = covered = 0
    gold = list(sentences(origin, n_sentences, language=language, seed=seed))
    for document, answer in zip(gold, annotate(gold), strict=True):
        (name,) = document.spans
        ranges = [(span.start, span.end) for span in answer.spans]
        touched += touching(ranges)(name.start, name.end)
        covered += covering(ranges)(name.start, name.end)
    return Recall(origin, len(gold), touched, covered)


def sentences(origin: str, number: int, *, language: str = "en", seed: int = 0) -> Iterator[Document]:
    """Sentences with one name each, whose words are in no training note of the lexicon `train`."""
    frames = SENTENCES[language]
    for at in range(number):
        rng = random.Random(f"{seed}/origins/{at}")
        frame, sex = frames[at % len(frames)], rng.choice("FM")
        before, _, rest = frame.partition("{")
        form, _, after = rest.partition("}")
        person = invent_person(sex, "test", random.Random(f"{seed}/{origin}/{at}"), origin=origin)
        name = person.written({"last": "lastname"}.get(form, form), rng)
        span = Span(len(before), len(before) + len(name), "PATIENT")
        yield Document(f"{origin}-{at}", f"{before}{name}{after}", (span,))


if __name__ == "__main__":
    run_main(main)
