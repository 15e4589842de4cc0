"""Notes of a finished run for a person to read, and what reading them shows.

drawn = draw(Path("clean"), 50, seed=0)          Drawn(notes=1234, sample=("17", ...))
largest_share(0, 50)                             0.058: at most so many notes have something left, if none of 50 has
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scipy.stats import beta

from phistack.ensemble.batch.reports.audit import AUDIT
from phistack.features.errors import CorpusError

CONFIDENCE = 0.95


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


def largest_share(found: int, read: int, confidence: float = CONFIDENCE) -> float:
    """The exact upper bound of a share (Clopper and Pearson 1934), one-sided.

    :param found: how many of the notes that were read have something left.
    """
    return 1.0 if found >= read else float(beta.ppf(confidence, found + 1, read - found))
