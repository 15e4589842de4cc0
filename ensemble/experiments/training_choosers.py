"""A stack beside the other choosers, where training has the candidates: out of fold, or on notes never learned from.

    rows = choosers_out_of_fold(training, corpus, shuffles=999)     of a trained engine, out of fold
    rows = choosers_of(proposed, corpus, gold, stack, criterion)    of an experiment, on whichever notes it scores

Here there is one chooser more than `ensemble.experiments.errors` has: the logistic regression over log-odds, which
learns from the same candidates as the stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phistack.ensemble.evaluation import Criterion, criterion_named
from phistack.ensemble.experiments.chooser_scores import LOGISTIC, ChooserRow, chooser_scores
from phistack.ensemble.experiments.parts import Answers
from phistack.ensemble.stacking.candidates import PooledCandidate, pools_of
from phistack.ensemble.stacking.log_odds import LogOddsRegression
from phistack.ensemble.training.fit_runs import Proposals
from phistack.ensemble.training.proposals import Proposed
from phistack.ensemble.training.trainer import Training
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Corpus


def choosers_out_of_fold(
    training: Training, corpus: Corpus, *, shuffles: int = 9999, seed: int = 0
) -> tuple[ChooserRow, ...]:
    """Score all choosers on the training notes, each by what it says of patients that it never saw.

    :param corpus: what was trained on.
    :param shuffles: of the paired randomisation.
    :param seed: of folds, bootstrap and randomisation.
    """
    stacker, members = training.engine.stacker, training.engine.names
    regression = LogOddsRegression(members).fit(stacker.decided_, corpus.documents, seed=seed)
    return chooser_scores(
        corpus, stacker.decided_, stacker.out_of_fold_, members, corpus.label_set, criterion_named("strict"),
        others={LOGISTIC: regression.out_of_fold_}, shuffles=shuffles, seed=seed,
    )  # fmt: skip


def choosers_of(
    proposed: Proposed,
    training: Corpus,
    gold: Corpus,
    stack: Answers,
    criterion: Criterion,
    *,
    shuffles: int = 9999,
    seed: int = 0,
) -> tuple[ChooserRow, ...]:
    """Score all choosers on the unseen notes or, where there are none, on the training notes out of fold.

    :param proposed: with what was proposed out of fold.
    :param training: the notes that the submodels learned from.
    :param gold: the notes to score on.
    :param stack: what the stack accepts of them.
    :param shuffles: of the paired randomisation.
    :param seed: of folds, bootstrap and randomisation.
    """
    members = tuple(proposed.out_of_fold)
    pools = candidates_in_notes(proposed.tables, proposed.out_of_fold)
    regression = LogOddsRegression(members).fit(pools, training.documents, seed=seed)
    answers: Answers = regression.out_of_fold_
    if proposed.unseen:
        pools = candidates_in_notes(proposed.unseen, proposed.on_unseen)
        answers = regression.choose(pools)
    return chooser_scores(
        gold, pools, stack, members, training.label_set, criterion, others={LOGISTIC: answers}, shuffles=shuffles,
        seed=seed,
    )  # fmt: skip


def candidates_in_notes(
    tables: Sequence[FeatureTable], proposals: Mapping[str, Proposals]
) -> list[list[PooledCandidate]]:
    """The candidates for each note, on spans of the note as it was written."""
    pools = pools_of(tables, proposals, tuple(proposals))
    return [[c.in_note(table.view) for c in pool] for table, pool in zip(tables, pools, strict=True)]
