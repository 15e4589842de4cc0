"""Parts of a corpus such that no patient is in two of them.

    for held_out in training_folds(documents, n_folds=5, seed=0):
        ...                                     indices of the documents of one part
    training, held_out = held_out_patients(corpus, seed=0)      four fifths of the patients, and the others

Out-of-fold prediction: every document is predicted by models that never saw its patient (Wolpert 1992).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from features.documents import Corpus, Document
from features.errors import SettingsError, TrainingError

__all__ = [
    "check_phi",
    "group_folds",
    "held_out_patients",
    "labels_in_one_fold",
    "of_patients",
    "patients_of",
    "training_folds",
]

_LOG = logging.getLogger("phistack")


def training_folds(documents: Sequence[Document], *, n_folds: int, seed: int = 0) -> list[list[int]]:
    """Folds of a corpus that submodels can be trained on; fewer of them where there are fewer patients.

    :returns: as `group_folds` gives them.
    :raises TrainingError: if there is one patient only.
    """
    n_patients = len({document.group for document in documents})
    if n_patients == 1:
        raise TrainingError(
            f"all {len(documents)} notes of the corpus are of one patient, so there are none of another patient "
            "to check "
            "the engine on; add notes of other patients, or name the patients as groups or in names such as 110-02.xml"
        )
    if 1 < n_patients < n_folds:
        _LOG.warning("the corpus has %d patients only, so there are %d folds, not %d", n_patients, n_patients, n_folds)
        n_folds = n_patients
    return group_folds(documents, n_folds=n_folds, seed=seed)


def check_phi(has_phi: Sequence[bool], folds: Sequence[Sequence[int]]) -> None:
    """See to it that there is PHI to learn from, whichever fold is held out.

    :param has_phi: for each note whether tokens of it are PHI.
    :param folds: as `training_folds` gives them; with none of them, some PHI is enough.
    :raises TrainingError: if there is none.
    """
    if not any(has_phi):
        raise TrainingError(
            "no annotated PHI of the corpus has a letter, digit or mark in it, so nothing can be learned; "
            "check its offsets"
        )
    if sum(any(has_phi[i] for i in fold) for fold in folds) == 1:
        raise TrainingError(
            "all PHI of the corpus is in one fold, so there is nothing to learn from in the others; "
            "add annotated notes of other patients"
        )


def group_folds(documents: Sequence[Document], *, n_folds: int, seed: int = 0) -> list[list[int]]:
    """Split documents by patient into parts with about the same number of PHI.

    Patients are assigned in order of size, each to the part with the least PHI so far; the seed breaks ties.

    :returns: the documents' indices, a sorted list a part.
    :raises TrainingError: if there are fewer patients than parts.
    """
    members: defaultdict[str, list[int]] = defaultdict(list)
    for i, document in enumerate(documents):
        members[document.group].append(i)
    if n_folds < 2 or len(members) < n_folds:
        raise TrainingError(
            f"the corpus has {len(members)} patients, which cannot be split into {n_folds} folds; "
            "add notes of other patients, or give a smaller number, at least 2, with --folds"
        )
    names = np.random.default_rng(seed).permutation(sorted(members)).tolist()
    sizes = {name: sum(1 + len(documents[i].spans) for i in members[name]) for name in names}
    folds: list[list[int]] = [[] for _ in range(n_folds)]
    loads = [0] * n_folds
    for name in sorted(names, key=lambda name: -sizes[name]):
        lightest = loads.index(min(loads))
        folds[lightest].extend(members[name])
        loads[lightest] += sizes[name]
    return [sorted(fold) for fold in folds]


def labels_in_one_fold(documents: Sequence[Document], folds: Sequence[Sequence[int]]) -> list[str]:
    """The labels that only one fold has; no model that is trained on the others can know them."""
    homes: defaultdict[str, set[int]] = defaultdict(set)
    for number, fold in enumerate(folds):
        for i in fold:
            for span in documents[i].spans:
                homes[span.label].add(number)
    return sorted(label for label, found in homes.items() if len(found) == 1)


def patients_of(corpus: Corpus) -> list[str]:
    """The patients, each once, in the order of their first notes."""
    return list(dict.fromkeys(document.group for document in corpus.documents))


def of_patients(corpus: Corpus, patients: Collection[str]) -> Corpus:
    """The notes of some patients, in the order of the corpus."""
    return replace(corpus, documents=tuple(d for d in corpus.documents if d.group in patients))


def held_out_patients(corpus: Corpus, *, parts: int = 5, seed: int) -> tuple[Corpus, Corpus]:
    """Split a corpus by patient: all but one of `parts` parts with about the same PHI to train on, and that one.

    :raises SettingsError: if there is only one patient.
    """
    patients = patients_of(corpus)
    if len(patients) < 2:
        raise SettingsError("a corpus of one patient cannot be split into notes to train on and notes to test on")
    tested = group_folds(corpus.documents, n_folds=min(parts, len(patients)), seed=seed)[0]
    held_out = {corpus.documents[i].group for i in tested}
    return of_patients(corpus, set(patients) - held_out), of_patients(corpus, held_out)
