"""Parts of a corpus, split by patient or by larger groups that must stay together.

    corpus = grouped_by(corpus, "_t([0-9]+)")     notes of one template stay together, by their names
    training_folds(documents, n_folds=5, seed=0)        for each of five parts the indices of its documents
    training, held_out = held_out_patients(corpus, seed=0)      four fifths of the patients, and the others

Out-of-fold prediction: the models that predict a note never saw its patient (Wolpert 1992).
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError, TrainingError
from phistack.features.limited_regex import LimitedRegex

GROUP_BY = "the pattern group_by (--group-by)"
"""The name of the expression of `grouped_by` in messages."""

_LOG = logging.getLogger("phistack")


def grouped_by(corpus: Corpus, pattern: str) -> Corpus:
    """The corpus with groups of notes that no fold separates: those with the same match of a pattern in their names.

    The match is what the pattern's groups match, or the whole match if it has none. Two groups with notes of one
    patient become one. A note without a match stays with its patient.

    :param pattern: a regular expression, searched for anywhere in the name (id). Without one, or if the notes are
        grouped already, the corpus is returned as it is.
    :raises SettingsError: if it is not a regular expression, takes too long, or is found in no name.
    """
    if not pattern or all(document.fold_group for document in corpus.documents):
        return corpus
    joined: dict[str, str] = {}
    for document, name in zip(corpus.documents, groups_in_names(corpus.documents, pattern), strict=True):
        if name is not None:
            joined[_root(joined, f"patient {document.group}")] = _root(joined, f"group {name}")
    documents = (replace(d, fold_group=_root(joined, f"patient {d.group}")) for d in corpus.documents)
    return replace(corpus, documents=tuple(documents))


def groups_in_names(
    documents: Sequence[Document], pattern: str, named: str = GROUP_BY, option: str = "--group-by"
) -> list[str | None]:
    """What a pattern finds in the name of each note, as `grouped_by` says, or None; raises what `grouped_by` raises.

    :param named: the pattern in messages, and the option that it is given by.
    """
    expression = LimitedRegex(pattern, "", named)
    expression.try_out()
    matches = [expression.search(document.id) for document in documents]
    n_found = sum(match is not None for match in matches)
    if not n_found:
        raise SettingsError(
            f"the pattern of {option} is found in none of the {len(documents)} names of notes; give one that says "
            "which notes belong together"
        )
    if n_found < len(documents):
        _LOG.warning(
            "the pattern of %s is not found in %d of %d names", option, len(documents) - n_found, len(documents)
        )
    return [m and ("/".join(part or "" for part in m.groups()) or m[0]) for m in matches]


def _root(joined: Mapping[str, str], name: str) -> str:
    """The name that represents all names joined with this one."""
    while joined.get(name, name) != name:
        name = joined[name]
    return name


def training_folds(documents: Sequence[Document], *, n_folds: int, seed: int = 0) -> list[list[int]]:
    """Like `at_most_folds`, with a warning if there are fewer patients; :raises TrainingError: if there is only one."""
    n_patients = len({document.unsplit for document in documents})
    is_grouped = any(document.fold_group for document in documents)
    if n_patients == 1 and is_grouped:
        raise TrainingError(
            f"all {len(documents)} notes of the corpus are in one group by the pattern of --group-by, so there are "
            "none of another to check the engine on; add notes, or give a pattern that distinguishes them"
        )
    if n_patients == 1:
        raise TrainingError(
            f"all {len(documents)} notes of the corpus are of one patient, so there are none of another patient to "
            "check the engine on; add notes of other patients, or name the patients as groups or in names such as "
            "110-02.xml"
        )
    if 1 < n_patients < n_folds:
        what = "groups" if is_grouped else "patients"
        _LOG.warning("the corpus has %d %s only, so there are %d folds, not %d", n_patients, what, n_patients, n_folds)
    return at_most_folds(documents, n_folds=n_folds, seed=seed)


def check_phi(has_phi: Sequence[bool], folds: Sequence[Sequence[int]]) -> None:
    """Check that PHI is left to learn from, whichever fold is held out.

    :param has_phi: for each note whether any of its tokens is PHI.
    :param folds: of `training_folds`; without folds, any PHI is enough.
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


def at_most_folds(documents: Sequence[Document], *, n_folds: int, seed: int = 0) -> list[list[int]]:
    """Split documents by patient or group into parts with about the same number of PHI.

    Patients are assigned in order of size, each to the part with the least PHI so far; the seed breaks ties.

    :param n_folds: the number of parts; if there are fewer patients or groups, their number.
    :returns: the documents' indices, a sorted list per part.
    :raises TrainingError: if there is only one patient.
    """
    members: defaultdict[str, list[int]] = defaultdict(list)
    for i, document in enumerate(documents):
        members[document.unsplit].append(i)
    n_folds = min(n_folds, len(members))
    if n_folds < 2:
        raise TrainingError(
            f"the corpus has {len(members)} patients, which cannot be split into {n_folds} folds; "
            "add notes of other patients, or give a number of at least 2 with --folds"
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


def labels_in_one_part(parts: Iterable[Iterable[Document]]) -> list[str]:
    """The labels that only one part of some notes has."""
    n_parts = Counter(label for part in parts for label in {span.label for note in part for span in note.spans})
    return sorted(label for label, n in n_parts.items() if n == 1)


def patients_in_several(corpora: Iterable[Corpus]) -> int:
    """The number of patients, by name, with notes in more than one corpus."""
    n_corpora = Counter(patient for corpus in corpora for patient in patients_of(corpus))
    return sum(n > 1 for n in n_corpora.values())


def patients_of(corpus: Corpus) -> list[str]:
    """The patients, in the order of their first notes."""
    return list(dict.fromkeys(document.group for document in corpus.documents))


def fold_groups_of(corpus: Corpus) -> list[str]:
    """The patients or groups that no fold splits, in the order of their first notes."""
    return list(dict.fromkeys(document.unsplit for document in corpus.documents))


def of_fold_groups(corpus: Corpus, chosen: Collection[str]) -> Corpus:
    """The notes of some of `fold_groups_of`, in the order of the corpus."""
    return replace(corpus, documents=tuple(d for d in corpus.documents if d.unsplit in chosen))


def held_out_patients(corpus: Corpus, *, parts: int = 5, seed: int) -> tuple[Corpus, Corpus]:
    """Split a corpus by patient: all but one of `parts` parts with about the same number of PHI, and the other one.

    :raises SettingsError: if there is only one patient or group.
    """
    groups = fold_groups_of(corpus)
    if len(groups) < 2:
        raise SettingsError("a corpus of one patient cannot be split into notes to train on and notes to test on")
    tested = at_most_folds(corpus.documents, n_folds=parts, seed=seed)[0]
    held_out = {corpus.documents[i].unsplit for i in tested}
    return of_fold_groups(corpus, {*groups} - held_out), of_fold_groups(corpus, held_out)
