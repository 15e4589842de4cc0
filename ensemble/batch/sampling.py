"""Notes for a person: those of a finished run to read, and notes to annotate for a certificate.

drawn = draw(Path("clean"), 50, seed=0)                    Drawn(notes=1234, sample=("17", ...))
draw_patients(corpus.documents, patients=308, seed=0)      all notes of so many patients
draw_patients(documents, notes=200, strata=wards)          of each ward its share
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from phistack.ensemble.batch.reports.audit import AUDIT
from phistack.ensemble.batch.settings import run_folder
from phistack.features.documents import Document
from phistack.features.errors import CorpusError


class Drawn(NamedTuple):
    """How many notes of a run came out, and the id and place in the input of each drawn note, in order."""

    notes: int
    sample: tuple[tuple[str, str], ...]


def draw(target: Path, size: int, seed: int = 0) -> Drawn:
    """Draw notes at random, each with the same chance; all if there are no more.

    :raises CorpusError: if it has no audit log, or no note came out.
    """
    notes = list(_notes(target))
    if not notes:
        raise CorpusError(f"no note of {target} came out, so there is nothing to read")
    chosen = random.Random(seed).sample(range(len(notes)), min(size, len(notes)))
    return Drawn(len(notes), tuple(notes[number] for number in sorted(chosen)))


def draw_patients(
    documents: Sequence[Document],
    *,
    patients: int | None = None,
    notes: int | None = None,
    strata: Sequence[str] = (),
    seed: int = 0,
) -> list[Document]:
    """Draw patients at random, each with the same chance, with all their notes and without any spans.

    :param patients: how many; or as many as have `notes` notes together.
    :param strata: the stratum of each note, to draw from each stratum its share of patients. A patient belongs to the
        stratum of most of the patient's notes.
    :raises CorpusError: if there are too few.
    """
    by_patient: dict[str, list[Document]] = {}
    of_patient: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for document, stratum in zip(documents, strata or [""] * len(documents), strict=True):
        by_patient.setdefault(document.group, []).append(document)
        of_patient[document.group][stratum] += 1
    there = len(by_patient) if patients else len(documents)
    if (wanted := patients or notes or 0) > there:
        what = "patients" if patients else "notes"
        raise CorpusError(f"there are {there:,} {what} to draw from, and {wanted:,} are needed; give a larger corpus")
    names = list(by_patient)
    rng = random.Random(seed)
    rng.shuffle(names)
    names = _in_turn({name: of_patient[name].most_common(1)[0][0] for name in names}, rng)
    counts = accumulate(1 if patients else len(by_patient[name]) for name in names)
    chosen = {*names[: 1 + sum(count < wanted for count in counts)]}
    return [document.with_spans(()) for document in documents if document.group in chosen]


def _in_turn(strata: Mapping[str, str], rng: random.Random) -> list[str]:
    """Names ordered by systematic draws (Madow 1949): the first n have each stratum's share, for every n."""
    sizes, before = Counter(strata.values()), {stratum: rng.random() for stratum in dict.fromkeys(strata.values())}
    turns = {}
    for name, stratum in strata.items():
        turns[name] = before[stratum] / sizes[stratum]
        before[stratum] += 1
    return sorted(turns, key=turns.__getitem__)


def _notes(target: Path) -> Iterator[tuple[str, str]]:
    log = run_folder(target) / AUDIT
    if not log.is_file():
        raise CorpusError(f"{target} is not the output of a finished run: there is no {log}")
    with log.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "n" in line and "problem" not in line:
                yield line["id"], line["place"]
