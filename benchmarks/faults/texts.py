"""Texts that no one writes: how the time to read one grows with its length, and a note of 20 MB in a batch run.

growth(engine, 20_000, 200_000)      for each text the two times; ten times the text, at most eleven times as long
huge_note(Path("engine"), folder)    whether the note was held back, the others came out, and how long it took
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ensemble.engine import Engine
from features.documents import Document

__all__ = ["TEXTS", "Growth", "HugeNote", "growth", "huge_note"]

TEXTS = {
    "brackets": "[(",
    "digits": "7",
    "1-": "1-",
    "1,": "1,",
    "A'": "A'",
    "one word": "x",
    "words": "xylo ",
    "names": "Anselm Birchwood ",
    "dates": "03/04/2021 ",
    "initials": "A. ",
    "addresses": "http://",
    "mails": "a@",
    "titles": "Dr: ",
    "blanks": " ",
    "lines": "\n",
    "accents": "e\u0301",
    "joiners": "\u200d",
}
"""Each is its unit over and over, in one line but for the last but two."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How long a text takes.

    :param name: one of `TEXTS`.
    :param short: processor seconds for the shorter text.
    :param long: for the longer one.
    """

    name: str
    short: float
    long: float

    @property
    def ratio(self) -> float:
        """How many times as long the longer one takes."""
        return self.long / self.short


def growth(engine: Engine, short: int, long: int, *, repetitions: int = 3) -> Iterator[Growth]:
    """Time every text in both lengths, in characters; the least of some repetitions counts.

    A moment is added to both times, as those of texts that take next to nothing say nothing.
    """
    for name, unit in TEXTS.items():
        texts = [unit * (n // len(unit)) for n in (short, long)]
        first, second = (min(_seconds(engine, text) for _ in range(repetitions)) for text in texts)
        yield Growth(name, first + _MOMENT * short / long, second + _MOMENT)


_MOMENT = 0.05


def _seconds(engine: Engine, text: str) -> float:
    def read() -> None:
        for _ in engine.decide([Document("1", text)]):
            pass

    return _timed(read)


def _timed(action: Callable[[], None]) -> float:
    begin = time.process_time()
    action()
    return time.process_time() - begin


@dataclass(frozen=True, slots=True)
class HugeNote:
    """What became of a run over small notes and a huge one.

    :param held_back: how many notes were held back: one, the huge one.
    :param written: how many came out: all the small ones.
    :param seconds: of the whole run, by the clock.
    """

    held_back: int
    written: int
    seconds: float


def huge_note(engine: Path, folder: Path, *, characters: int = 20_000_000, timeout: float = 0.2) -> HugeNote:
    """De-identify five small notes and a huge one in one line.

    :param folder: an empty one to work in.
    :param timeout: seconds for each 100,000 characters of a note, too few for the huge one.
    """
    notes = folder / "notes"
    notes.mkdir()
    for i in range(5):
        (notes / f"{i}.txt").write_text(f"Seen by Dr. Anselm Birchwood on March {i + 1}rd, 2021.\n")
    (notes / "huge.txt").write_text("[1-(" * (characters // 4))
    command = ["deidentify", notes, folder / "out", "--model", engine, "--timeout", timeout, "--jobs", 2]
    begin = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "ensemble.command_line.app", *map(str, command)], capture_output=True, check=False
    )
    seconds = time.monotonic() - begin
    summary = json.loads((folder / "out.run" / "summary.json").read_text())
    return HugeNote(summary["quarantined"], len(list((folder / "out").glob("*.txt"))), seconds)
