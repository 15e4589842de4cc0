"""What a private engine keeps of its training notes: the one filter for everything it learns.

    discretion = Discretion.of(notes, 5, is_public={"hospital"}.__contains__)
    discretion.hides("Birchwood Hospital")         True, if an identifier in the notes has the word Birchwood
    discretion.keeps("oedema")                     True, if five patients have the word, and no identifier
    discretion.shared(ids, patients)               (n_ids,) which ids the notes of five patients have

A word is hidden if an annotated identifier has it and no public list does. A word is kept if it is not hidden and the
notes of `least` patients have it; any other value, such as an affix or an attribute, is kept if as many patients have
it at words that are not hidden. This is k-anonymity (Sweeney 2002) of each value alone. A public list lifts the ban on
a word, but not the number of patients: a name from a list, seen with one patient, would still say who that patient is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32
from phistack.features.documents import Document
from phistack.features.errors import TrainingError
from phistack.features.letters import fold
from phistack.features.text_words import written_words
from phistack.features.tokens import Tokeniser

PATIENTS = 5
"""The usual least number of patients."""


@dataclass(frozen=True)
class Discretion:
    """What may be kept: values of at least `least` patients.

    :param hidden: folded words of identifiers that no public list has.
    :param kept: the folded words that may be kept.
    :param n_words: of the notes, kept or not.
    """

    least: int
    hidden: frozenset[str] = field(repr=False)
    kept: frozenset[str] = field(repr=False)
    n_words: int

    @classmethod
    def of(cls, notes: Iterable[Document], least: int, is_public: Callable[[str], bool]) -> Discretion:
        """Learn it from annotated notes.

        :param is_public: whether a folded word is in a public list.
        :raises TrainingError: if the notes have fewer than `least` patients.
        """
        of_patients: dict[str, set[str]] = {}
        marked: set[str] = set()
        for note in notes:
            of_patients.setdefault(note.group, set()).update(words_in(note.text))
            marked.update(word for s in note.spans for word in words_in(note.text[s.start : s.end]))
        if len(of_patients) < least:
            raise TrainingError(
                f"a private engine keeps what {least} patients share, and the notes are of {len(of_patients)}; add some"
            )
        hidden = frozenset(word for word in marked if not is_public(word))
        counts = Counter(word for words in of_patients.values() for word in words)
        return cls(least, hidden, frozenset(word for word, n in counts.items() if n >= least) - hidden, len(counts))

    def hides(self, text: str) -> bool:
        """Whether a word of a text is hidden."""
        return not self.hidden.isdisjoint(words_in(text))

    def keeps(self, text: str) -> bool:
        """Whether all words of a text may be kept; zeros, which replace all digits in normal forms, do not count."""
        return all(word in self.kept or not word.strip("0") for word in words_in(text))

    def shared(self, ids: Integers | Integers32, patients: Integers) -> NDArray[np.bool_]:
        """For each id from 0 whether enough patients have it, of shape `(n_ids,)`.

        :param ids: the values at some places, of shape `(n_places,)`; negative for none.
        :param patients: the number of the patient at each place, of the same shape.
        """
        there = ids >= 0
        n_patients = int(patients.max(initial=0)) + 1
        pairs = np.unique(ids[there].astype(np.int64) * n_patients + patients[there])
        shared: NDArray[np.bool_] = np.bincount(pairs // n_patients, minlength=1) >= self.least
        return shared

    @property
    def digest(self) -> str:
        """A hash of everything it decides by."""
        return sha256(repr((self.least, sorted(self.hidden), sorted(self.kept))).encode()).hexdigest()


def words_in(text: str) -> set[str]:
    """The words of a text, and the runs of letters and of digits in them, folded: `Ward7` -> ward7, ward, 7."""
    return {*map(fold, written_words(text)), *runs_in(text)}


def runs_in(text: str) -> list[str]:
    """The runs of letters and of digits of a text, folded, in order."""
    return [fold(run) for run in Tokeniser().cut(text)[0] if run[0].isalnum()]
