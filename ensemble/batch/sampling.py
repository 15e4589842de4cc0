"""Notes of a finished run for a person to read.

drawn = draw(Path("clean"), 50, seed=0)          Drawn(notes=1234, sample=("17", ...))
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from phistack.ensemble.batch.reports.audit import AUDIT
from phistack.features.errors import CorpusError


class Drawn(NamedTuple):
    """How many notes of a run came out, and id and place in the input of each that was drawn, in their order."""

    notes: int
    sample: tuple[tuple[str, str], ...]


def draw(target: Path, size: int, seed: int = 0) -> Drawn:
    """Draw notes at random, each with the same chance; all if there are no more.

    :param target: the output of a finished run.
    :raises CorpusError: if it has no audit log, or no note came out.
    """
    notes = list(_notes(target))
    if not notes:
        raise CorpusError(f"no note of {target} came out, so there is none to read")
    chosen = random.Random(seed).sample(range(len(notes)), min(size, len(notes)))
    return Drawn(len(notes), tuple(notes[number] for number in sorted(chosen)))


def _notes(target: Path) -> Iterator[tuple[str, str]]:
    log = target.with_name(f"{target.name}.run") / AUDIT
    if not log.is_file():
        raise CorpusError(f"{target} is not the output of a finished run: there is no {log}")
    with log.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "n" in line and "problem" not in line:
                yield line["id"], line["place"]
