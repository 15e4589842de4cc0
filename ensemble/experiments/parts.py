"""The steps that all experiments share: parts of a corpus, settings that fit it, and the answers of every system.

    answers = all_answers(proposed, settings)                   {"crf": [spans of note 1, ...], "stack": [...]}

A system is one submodel alone or a stack over several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ensemble.stacking.candidates import chosen_spans, pooled
from ensemble.stacking.folds import patients_of
from ensemble.stacking.stacker import Stacker, StackerSettings
from ensemble.training.fold_cache import corpus_digest
from ensemble.training.proposals import Proposed
from ensemble.training.settings import EngineSettings
from features.documents import Corpus, Span

__all__ = [
    "STACK",
    "Answers",
    "all_answers",
    "alone_answers",
    "described",
    "fitting",
    "stack_answers",
]

Answers = Sequence[Sequence[Span]]
"""For each note, the spans that a system marks."""

STACK = "stack"
"""The name of the system that joins all submodels."""


def fitting(settings: EngineSettings, corpus: Corpus) -> EngineSettings:
    """The same settings with no more folds than the corpus has patients."""
    return replace(settings, folds=max(2, min(settings.folds, len(patients_of(corpus)))))


def alone_answers(proposed: Proposed, name: str) -> list[list[Span]]:
    """What one submodel marks by itself: on the unseen notes or, where there are none, out of fold."""
    notes = proposed.on_unseen[name] if proposed.unseen else proposed.out_of_fold[name]
    return list(map(chosen_spans, notes, (table.view for table in proposed.unseen or proposed.tables)))


def stack_answers(
    proposed: Proposed, names: Sequence[str], settings: StackerSettings, *, seed: int
) -> list[list[Span]]:
    """What a stack over some of the submodels marks: on the unseen notes or, where there are none, out of fold.

    :param names: of the submodels, in the order of training.
    :returns: nothing at all where none of them proposed anything out of fold.
    """
    pools = [pooled(notes) for notes in zip(*(proposed.out_of_fold[name] for name in names), strict=True)]
    if not any(pools):
        return [[] for _ in proposed.unseen or proposed.tables]
    stacker = Stacker(settings).fit(proposed.tables, pools, sources=tuple(names), seed=seed)
    if not proposed.unseen:
        return stacker.out_of_fold_
    unseen = [pooled(notes) for notes in zip(*(proposed.on_unseen[name] for name in names), strict=True)]
    notes = zip(proposed.unseen, stacker.decide_all(proposed.unseen, unseen), strict=True)
    return [table.view.all_in_note(d.span for d in decisions if d.accepted) for table, decisions in notes]


def all_answers(proposed: Proposed, settings: EngineSettings) -> dict[str, Answers]:
    """The answers of each submodel alone and, where it was proposed out of fold, of the stack over all of them."""
    answers: dict[str, Answers] = {name: alone_answers(proposed, name) for name in settings.submodels}
    if proposed.out_of_fold:
        answers[STACK] = stack_answers(proposed, tuple(settings.submodels), settings.stacker, seed=settings.seed)
    return answers


def described(corpus: Corpus) -> Mapping[str, Any]:
    """A corpus in figures, as results tell it."""
    return {
        "documents": len(corpus),
        "patients": len(patients_of(corpus)),
        "spans": sum(len(document.spans) for document in corpus.documents),
        "label set": corpus.label_set.name,
        "corpus SHA-256": corpus_digest(corpus.documents),
    }
