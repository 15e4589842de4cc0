"""The submodels' proposals for notes of patients that they never saw.

proposed = propose(corpus, settings, unseen=others.documents)
proposed.out_of_fold["crf"]     for each training note, candidates of a CRF that was not trained on its patient
proposed.on_unseen["crf"]       for each other note, candidates of a CRF that was trained on the whole corpus
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phistack.ensemble.stacking.folds import check_phi, labels_in_one_part, training_folds
from phistack.ensemble.stacking.merged_rules import MergedRules
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.tools.stopwatch import Spent
from phistack.ensemble.training.fit_runs import FITS, Proposals, run_fits
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.fold_cache import FoldCache
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError, TrainingError, no_such
from phistack.features.shown import explained, shown_label
from phistack.features.tags import OUTSIDE

_LOG = logging.getLogger("phistack")

FEATURES = 1
"""The share of reading the features in the time of a training, in percent."""


@dataclass(frozen=True)
class Proposed:
    """The submodels' proposals for notes of patients that they never saw.

    :param tables: the training notes.
    :param out_of_fold: submodel -> its out-of-fold candidates for each training note; empty if not wanted.
    :param unseen: the other notes.
    :param on_unseen: submodel -> its candidates for each other note, after training on all training notes.
    :param seconds: (submodel, part) -> time spent; the part is `fold K of N` or `unseen`.
    :param warnings: counts of what the tags cannot express.
    """

    tables: Sequence[FeatureTable] = field(repr=False)
    out_of_fold: Mapping[str, Proposals] = field(repr=False)
    unseen: Sequence[FeatureTable] = field(repr=False)
    on_unseen: Mapping[str, Proposals] = field(repr=False)
    seconds: Mapping[tuple[str, str], Spent]
    warnings: Counter[str]


def propose(
    corpus: Corpus,
    settings: EngineSettings,
    *,
    unseen: Sequence[Document] = (),
    out_of_fold: bool = True,
    added: Sequence[Document] = (),
    jobs: int = 1,
    cache: Path | None = None,
) -> Proposed:
    """Let all submodels propose for notes that they never saw, and keep no model.

    :param corpus: annotated notes to train on.
    :param unseen: other notes, for which the submodels propose after training on the whole corpus.
    :param out_of_fold: whether they also propose for the corpus, fold by fold.
    :param added: further annotated notes to learn from, except where their patient or text is held out.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder that keeps candidates for the next run.
    :raises TrainingError: if the corpus has no PHI, or too few patients.
    """
    settings = settings.for_label_set(corpus.label_set.name, corpus.label_set.labels)
    with stage("training", total=FEATURES + FITS):
        space, every, folds, warnings = prepared(corpus, settings, folds=out_of_fold, added=added)
        tables, more = every[: len(corpus)], every[len(corpus) :]
        others = space.tables(unseen)
        tasks = [*tasks_of(settings, tables, folds, unseen=others, added=more)]
        fitted = run_fits(settings, tasks, len(tables) + len(others), jobs=jobs, cache=FoldCache(cache))
    proposals = fitted.proposals
    n = len(tables)
    return Proposed(
        tables=tables,
        out_of_fold={name: notes[:n] for name, notes in proposals.items()} if out_of_fold else {},
        unseen=others,
        on_unseen={name: notes[n:] for name, notes in proposals.items()} if others else {},
        seconds=fitted.seconds,
        warnings=warnings,
    )


def prepared(
    corpus: Corpus, settings: EngineSettings, *, folds: bool = True, added: Sequence[Document] = ()
) -> tuple[FeatureSpace, list[FeatureTable], list[list[int]], Counter[str]]:
    """The features of a corpus, its folds (if wanted), and counts of what its tags cannot express.

    :param added: further notes to learn from, which are in no fold; their tables follow those of the corpus.
    """
    settings.check()
    if folds:
        settings.check_stacking()
    documents = _learned_documents(settings.grouped(corpus), settings)
    added = _without_labels(added, settings.stacker.rule_labels)
    if not any(document.spans for document in documents):
        raise TrainingError("the corpus has no annotated PHI, so nothing can be learned; check its format and labels")
    parts = training_folds(documents, n_folds=settings.folds, seed=settings.seed) if folds else []
    for label in labels_in_one_part([documents[i] for i in part] for part in parts):
        message = (
            f"the label {shown_label(label)} occurs in one fold only, so the stacker cannot learn about it; add notes"
        )
        _LOG.warning("%s%s", message, explained(message))
    space = FeatureSpace(settings.features)
    with stage("features", weight=FEATURES):
        tables = space.fit((*documents, *added))
    warnings: Counter[str] = Counter()
    tags = [table.tags(counts=warnings) for table in tables[: len(documents)]]
    check_phi([any(tag != OUTSIDE for tag in of_note) for of_note in tags], parts)
    return space, tables, parts, warnings


def _learned_documents(corpus: Corpus, settings: EngineSettings) -> tuple[Document, ...]:
    """The notes without the spans of `rule_labels`, which only rules find.

    :raises SettingsError: for a label that the corpus cannot have, or that no rule finds.
    """
    labels = settings.stacker.rule_labels
    unknown = next((label for label in labels if label not in corpus.label_set), None)
    if unknown is not None:
        raise SettingsError(f"of rule_labels: {no_such('label', unknown, corpus.label_set.labels)}")
    if labels:
        MergedRules.of(labels, settings.stacker.rules_file, settings.features.language)
    return _without_labels(corpus.documents, labels)


def _without_labels(documents: Sequence[Document], labels: Sequence[str]) -> tuple[Document, ...]:
    if not labels:
        return tuple(documents)
    return tuple(document.with_spans(s for s in document.spans if s.label not in labels) for document in documents)
