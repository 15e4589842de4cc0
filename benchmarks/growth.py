"""How reading time grows with the input: ten times the text in one note, and twice the notes.

    python -m benchmarks.growth --model engine                          29 kB and 290 kB of each text; some minutes
    python -m benchmarks.growth --model engine --texts dates,letter     some of them

Beside the times is the share of the longer text that is marked: only the names and numbers are PHI from end to end. The
last line is `worst ratio R`: the time per amount of text, longer over shorter; the project aims at 1.1 at most.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.running import run_main
from phistack.ensemble.engine import Engine
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.documents import Document

TEXTS = {
    "brackets": "[(", "digits": "7", "numbers": "1234567 ", "1-": "1-", "1,": "1,", "A'": "A'",
    "one word": "x", "words": "xylo ", "unknown name": "Xylogard ", "names": "Anselm Birchwood ",
    "titled names": "Dr. Xylogard ", "dates": "03/04/2021 ", "initials": "A. ", "addresses": "http://",
    "mails": "a@", "titles": "Dr: ", "keys": "Name: ", "commas": "Smith, ", "dashes": "--- ", "blanks": " ",
    "lines": "\n", "short lines": "ok\n", "accents": "e\u0301", "joiners": "\u200d",
}  # fmt: skip
"""Each text repeats its unit, mostly in one line."""

_MOMENT = 0.05


@dataclass(frozen=True, slots=True)
class Growth:
    """How long an amount of text takes, and how long several times as much.

    :param name: of what is read.
    :param times: how many times as much the longer one is.
    :param short: processor seconds for the shorter one.
    :param long: for the longer one.
    :param marked: the share of the longer one's characters that are marked, in [0, 1].
    """

    name: str
    times: float
    short: float
    long: float
    marked: float

    @property
    def ratio(self) -> float:
        """How many times as long the same amount takes within the longer one."""
        return self.long / self.short / self.times


def letters() -> Mapping[str, str]:
    """Realistic notes, in one line and in several."""
    notes = "\n".join(document.text for document in synthesize(60, seed=3).documents)
    line = " ".join(notes.split()) + " "
    return {"notes": notes, "letter": line, "LETTER": line.upper(), "Letter": line.title()}


def growth_of_texts(
    engine: Engine, units: Mapping[str, str], short: int, long: int, *, repetitions: int = 2
) -> Iterator[Growth]:
    """Time each unit, repeated to two lengths in characters."""
    for name, unit in units.items():
        few, many = ([Document("1", (unit * (n // len(unit) + 1))[:n])] for n in (short, long))
        yield _growth(engine, name, few, many, long / short, repetitions)


def growth_of_notes(engine: Engine, n_notes: int, *, repetitions: int = 2) -> Iterator[Growth]:
    """Time so many notes and twice as many: of many patients, and of one, whose names are searched for in all."""
    notes = synthesize(2 * n_notes, seed=3).documents
    for name, some in (("patients", notes), ("one patient", [replace(note, group="1") for note in notes])):
        yield _growth(engine, name, some[:n_notes], some, 2.0, repetitions)


def _growth(
    engine: Engine, name: str, few: Sequence[Document], many: Sequence[Document], times: float, repetitions: int
) -> Growth:
    """The least time of some repetitions counts, plus a moment, as ratios of tiny times mean nothing."""
    (short, _), (long, marked) = (min(_read(engine, notes) for _ in range(repetitions)) for notes in (few, many))
    return Growth(name, times, short + _MOMENT / times, long + _MOMENT, marked)


def _read(engine: Engine, notes: Sequence[Document]) -> tuple[float, float]:
    """Processor seconds, and the share of the characters that is marked."""
    begin = time.process_time()
    spans = [decision.span for note in engine.decide(notes) for decision in note if decision.accepted]
    seconds = time.process_time() - begin
    return seconds, sum(span.end - span.start for span in spans) / sum(len(note.text) for note in notes)


def main() -> None:
    """Print a table and the worst ratio."""
    from phistack.ensemble.bundles.bundle import load_bundle

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="a bundle")
    parser.add_argument("--texts", default="", help="names joined by commas; otherwise all")
    parser.add_argument("--characters", type=int, default=290_000, help="of the longer text")
    parser.add_argument("--notes", type=int, default=200, help="the smaller number of notes; 0 for none")
    arguments = parser.parse_args()
    engine = load_bundle(arguments.model)
    table = Table("text", "short in s", "long in s", "ratio", "marked", title_justify="left")
    found = list(_measured(engine, arguments.characters, arguments.notes, comma_list(arguments.texts)))
    for growth in found:
        seconds = (f"{growth.short:.2f}", f"{growth.long:.2f}")
        table.add_row(growth.name, *seconds, f"{growth.ratio:.2f}", f"{100 * growth.marked:.0f} %")
    Console().print(table)
    print(f"worst ratio {max(growth.ratio for growth in found):.2f}")


def _measured(engine: Engine, longest: int, n_notes: int, names: Collection[str]) -> Iterator[Growth]:
    # The setup at the first note does not count.
    list(engine.decide(synthesize(2, seed=1).documents))
    units = {name: unit for name, unit in {**letters(), **TEXTS}.items() if not names or name in names}
    yield from growth_of_texts(engine, units, longest // 10, longest)
    if n_notes:
        yield from growth_of_notes(engine, n_notes)


if __name__ == "__main__":
    run_main(main)
