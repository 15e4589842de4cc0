"""The steps that all experiments share: training, the answers of every system, their scores.

    answers = answers_of(training, settings, unseen=notes)  {"crf": [spans of note 1, ...], "stack": [...]}
    systems_of(gold, answers, labels, criterion, seed=0)    their scores, and how far they differ
    over_seeds([systems_0.scores, systems_1.scores])        {"crf": means and deviations, ...}

A system is one submodel alone or a stack over several.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from phistack.ensemble.evaluation import Criterion, Score
from phistack.ensemble.evaluation.measures import Macro, macro
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.systems import Systems, counts_of
from phistack.ensemble.stacking.candidates import Decision, chosen_spans, pools_of
from phistack.ensemble.stacking.folds import fold_groups_of
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.stacker_settings import StackerSettings
from phistack.ensemble.training.proposals import Proposed, propose
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet

Answers = Sequence[Sequence[Span]]
"""For each note, the spans that a system marks."""

STACK = "stack"
"""The name of the system that joins all submodels."""
_Name = TypeVar("_Name", bound=Hashable)


def seeded(settings: EngineSettings, n_seeds: int) -> list[EngineSettings]:
    """The same settings with so many seeds, beginning with their own."""
    return [replace(settings, seed=settings.seed + number) for number in range(n_seeds)]


def over_seeds(runs: Sequence[Mapping[_Name, Score]]) -> dict[_Name, Macro]:
    """The mean and the sample standard deviation of each system's micro scores, over runs with other seeds."""
    return {name: macro(np.array([run[name].counts for run in runs]), sample=True) for name in runs[0]}


def fitting(settings: EngineSettings, corpus: Corpus) -> EngineSettings:
    """The same settings with no more folds than the corpus has patients, or groups that no fold splits."""
    return replace(settings, folds=max(2, min(settings.folds, len(fold_groups_of(corpus)))))


def alone_answers(proposed: Proposed, name: str) -> list[list[Span]]:
    """What one submodel marks by itself: on the unseen notes or, if there are none, out of fold."""
    notes = proposed.on_unseen[name] if proposed.unseen else proposed.out_of_fold[name]
    return list(map(chosen_spans, notes, (table.view for table in proposed.unseen or proposed.tables)))


def stack_answers(
    proposed: Proposed, names: Sequence[str], settings: StackerSettings, *, seed: int
) -> list[list[Span]]:
    """What a stack over some of the submodels marks: on the unseen notes or, if there are none, out of fold.

    :param names: of the submodels, in the order of training.
    :returns: nothing at all if none of them proposed anything out of fold.
    """
    decided = stack_decisions(proposed, names, settings, seed=seed)
    return [[decision.span for decision in note if decision.accepted] for note in decided]


def stack_decisions(
    proposed: Proposed, names: Sequence[str], settings: StackerSettings, *, seed: int
) -> list[list[Decision]]:
    """The same with the decision on each candidate, on spans of the notes as written."""
    pools = pools_of(proposed.tables, proposed.out_of_fold, names)
    if not any(pools):
        return [[] for _ in proposed.unseen or proposed.tables]
    stacker = Stacker(settings).fit(proposed.tables, pools, sources=tuple(names), seed=seed)
    if not proposed.unseen:
        return stacker.decided_
    unseen = pools_of(proposed.unseen, proposed.on_unseen, names)
    notes = zip(proposed.unseen, stacker.decide_all(proposed.unseen, unseen), strict=True)
    return [[decision.in_note(table.view) for decision in decisions] for table, decisions in notes]


def answers_of(
    training: Corpus,
    settings: EngineSettings,
    *,
    unseen: Sequence[Document] = (),
    stack: bool = True,
    added: Sequence[Document] = (),
    jobs: int = 1,
    cache: Path | None = None,
) -> dict[str, Answers]:
    """Train, and let each submodel and, if wanted, the stack over all answer; parameters are those of `propose`."""
    settings = fitting(settings, training)
    proposed = propose(
        training, settings, unseen=unseen, out_of_fold=stack or not unseen, added=added, jobs=jobs, cache=cache
    )
    answers: dict[str, Answers] = {name: alone_answers(proposed, name) for name in settings.submodels}
    if stack:
        answers[STACK] = stack_answers(proposed, tuple(settings.submodels), settings.stacker, seed=settings.seed)
    return answers


def systems_of(
    gold: Corpus,
    answers: Mapping[str, Answers],
    labels: LabelSet,
    criterion: Criterion,
    *,
    seed: int,
    resampling: Resampling = BY_PATIENT,
) -> Systems:
    """The scores of systems, and their differences.

    :param answers: of each system, in the order of gold's documents.
    :param labels: the label set of the answers.
    :param seed: of bootstrap and randomisation.
    """
    notes = replace(gold, label_set=labels)
    counts = {name: counts_of(gold, notes.with_spans(found), criterion) for name, found in answers.items()}
    return Systems(counts, [document.group for document in gold.documents], replace(resampling, seed=seed))
