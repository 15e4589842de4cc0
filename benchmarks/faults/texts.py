"""A note of 20 MB in a batch run.

huge_note(Path("engine"), folder)    whether the note was held back, the others came out, and how long it took
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


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
        [sys.executable, "-m", "phistack.ensemble.command_line.app", *map(str, command)],
        capture_output=True,
        check=False,
    )
    seconds = time.monotonic() - begin
    summary = json.loads((folder / "out.run" / "summary.json").read_text())
    return HugeNote(summary["quarantined"], len(list((folder / "out").glob("*.txt"))), seconds)
