"""The corpora on which stacks are compared with other choosers: which notes to train on, and which to score.

    for corpus in known_corpora(Path("../shared/corpora"), ["court-fr", "invented"]):
        corpus.rounds(2)            [(training, held_out), (training, held_out)]: two of four parts scored in turn

Only the training parts of the corpora are used: a quarter of their patients (or templates) is held out and scored. For
MEDDOCAN's train part, 50, 200 or all of the other notes are trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from phistack.ensemble.stacking.folds import at_most_folds, grouped_by
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError, no_such
from phistack.features.formats import read_corpus

PARTS = 4
"""How many parts the patients are split into; one is held out."""
_INVENTED = 160


@dataclass(frozen=True)
class StackingCorpus:
    """Annotated notes, of which some are held out.

    :param name: as tables show it.
    :param most: of the notes that are not held out, how many are learned from at most; 0 for all.
    """

    name: str
    notes: Corpus
    most: int = 0

    def rounds(self, n_rounds: int, *, seed: int = 0) -> list[tuple[Corpus, Corpus]]:
        """Notes to train on and notes to score, split by patient, for so many of the parts."""
        parts = at_most_folds(self.notes.documents, n_folds=PARTS, seed=seed)[:n_rounds]
        return [self._split({*part}, seed) for part in parts]

    def _split(self, held_out: set[int], seed: int) -> tuple[Corpus, Corpus]:
        order = np.random.default_rng(seed).permutation(len(self.notes)).tolist()
        rest = [i for i in order if i not in held_out][: self.most or None]
        return self._some(sorted(rest)), self._some(sorted(held_out))

    def _some(self, places: Sequence[int]) -> Corpus:
        return replace(self.notes, documents=tuple(self.notes.documents[i] for i in places))


class _Home(NamedTuple):
    """Where a corpus is.

    :ivar folder: relative to the folder of all corpora.
    :ivar most: of the notes that are not held out, how many are learned from at most; 0 for all.
    :ivar group_by: the pattern that finds a note's group in its name; empty to group by patient.
    """

    folder: str
    most: int = 0
    group_by: str = ""


_HOMES = {
    "court-es": _Home("court-es/train"),
    "court-fr": _Home("court-fr/train"),
    "court-en": _Home("court-en/train"),
    "meddocan-50": _Home("meddocan/train", most=50),
    "meddocan-200": _Home("meddocan/train", most=200),
    "meddocan-all": _Home("meddocan/train"),
    "presidio": _Home("presidio-synth-v2", group_by=r"_t(\d+)$"),
}
INVENTED = "invented"
KNOWN = (*_HOMES, INVENTED)
"""The names of all corpora; invented notes are made when needed."""


def known_corpora(folder: Path, names: Sequence[str]) -> Iterator[StackingCorpus]:
    """The corpora of these names; one that is missing is reported and left out.

    :raises SettingsError: for a name that is not in `KNOWN`.
    """
    for name in names:
        if name == INVENTED:
            yield StackingCorpus(name, synthesize(_INVENTED, seed=0))
            continue
        if name not in _HOMES:
            raise SettingsError(no_such("corpus", name, KNOWN))
        home = _HOMES[name]
        if not (folder / home.folder).is_dir():
            print(f"stacking: {name} is left out, as there is no {folder / home.folder}", file=sys.stderr)
            continue
        notes = read_corpus(folder / home.folder, accept_unknown_labels=True)
        yield StackingCorpus(name, grouped_by(notes, home.group_by), home.most)
