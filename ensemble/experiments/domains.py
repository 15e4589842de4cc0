"""Corpora of several places, each with what an engine for it is trained with, alone and pooled.

wards = [Domain("ward-a", corpus, settings), ...]
pools_of(wards)     [(Domain("all but ward-a", ...), ("ward-b", "ward-c")), ..., (Domain("all together", ...), ...)]
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from phistack.ensemble.stacking.folds import patients_in_several
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus

ALL, ALL_BUT = "all together", "all but "
"""How pools are named: that of all domains, and, before the name of the one that is left out, the others."""

_LOG = logging.getLogger("phistack")


@dataclass(frozen=True, slots=True)
class Domain:
    """One annotated corpus of the matrix, and how an engine for it is trained.

    All domains have the same label set, or types do not count.
    """

    name: str
    corpus: Corpus
    settings: EngineSettings


def pools_of(domains: Sequence[Domain]) -> list[tuple[Domain, tuple[str, ...]]]:
    """All domains but one, for each where others are several, and all domains; each with the names of its members.

    A pool has the settings of its first member; warnings say what other languages and patients named alike mean.
    """
    languages = sorted({domain.settings.features.language for domain in domains})
    if len(languages) > 1:
        several = (
            "the corpora are in several languages (%s), and each pooled engine is made for that of its first corpus"
        )
        _LOG.warning(several, ", ".join(languages))
    if n_shared := patients_in_several(domain.corpus for domain in domains):
        alike = (
            "%d names of patients are in more than one corpus and are taken for different people; if they are not, "
            "pooled engines are tested on patients whom they know"
        )
        _LOG.warning(alike, n_shared)
    members = [(ALL_BUT + out.name, [d for d in domains if d is not out]) for out in domains if len(domains) > 2]
    members.append((ALL, list(domains)))
    return [(_pool(name, of), tuple(domain.name for domain in of)) for name, of in members]


def _pool(name: str, members: Sequence[Domain]) -> Domain:
    """Several domains as one, in which notes and patients of different ones are different."""
    notes, labels = [], members[0].corpus.label_set
    for domain in members:
        labels = labels.extended(domain.corpus.label_set.categories)
        for note in domain.corpus.documents:
            fold_group = note.fold_group and f"{domain.name}/{note.fold_group}"
            id, group = f"{domain.name}/{note.id}", f"{domain.name}/{note.group}"
            notes.append(replace(note, id=id, group=group, fold_group=fold_group))
    return Domain(name, Corpus(tuple(notes), labels), members[0].settings)
