"""What the stack loses out of fold, by kind, and whether its members still know better.

    python -m benchmarks.losses ../shared/corpora/meddocan/train --cache folds

The first table has the wrong decisions by kind, like `phistack errors`; the last row is all gold spans.

The second is about questions on which the members differ: which of two overlapping candidates is gold, if they have one
label (*extent*) or one extent and two labels (*label*), and whether a candidate that overlaps no other is gold
(*lone*). What is not known is measured in bits, as log loss to base 2: before anything is known; from the stack's
probabilities; and from these with all features of the stacker, by a logistic regression and by gradient boosting, each
fitted over ten folds of the patients. What a learner saves beyond the stack is a lower estimate of the mutual
information between what the members say and what is right, given the stack; its interval is a bootstrap over patients.
If it is about zero or below, these learners find no signal that the stack leaves unused.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.running import run_main
from benchmarks.stacking_cases import settings_for
from phistack.ensemble.evaluation.tables import Table, percent
from phistack.ensemble.stacking.candidates import Pools, pools_of
from phistack.ensemble.stacking.meta_features import log_odds
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.wrong_decisions import KINDS_OF_WRONG, wrong_decisions
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.trainer import Proposed, propose
from phistack.features.arrays import Floats
from phistack.features.documents import Corpus
from phistack.features.formats import read_corpus
from phistack.submodels.registry import SUBMODELS

_FOLDS, _RESAMPLES = 10, 2_000
_CERTAIN = 1e-6
_KINDS = ("extent", "label", "lone")

_LEARNERS: dict[str, Callable[[], Any]] = {
    "stack": lambda: LogisticRegression(C=100.0),
    "regression": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000)),
        {"logisticregression__C": [0.001, 0.01, 0.1, 1.0]},
        scoring="neg_log_loss",
    ),
    "boosting": lambda: HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, max_leaf_nodes=8, l2_regularization=1.0, early_stopping=False, random_state=0
    ),
}
"""The first learner sees only the stack's log-odds."""


class Question(NamedTuple):
    """A question about candidates with two possible answers.

    :param kind: one of `extent`, `label` and `lone`.
    :param patient: the patient of the note.
    :param stack: the log-odds of the answer from the stack's probabilities.
    :param features: of the candidates, as the stacker sees them.
    :param answer: whether the first or only candidate is gold.
    """

    kind: str
    patient: str
    stack: float
    features: Floats
    answer: bool


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", type=Path, help="annotated notes")
    parser.add_argument("--submodels", default=",".join(SUBMODELS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--cache", type=Path, help="where fold predictions are kept")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    corpus = read_corpus(arguments.notes, accept_unknown_labels=True)
    settings = settings_for(corpus, comma_list(arguments.submodels), arguments.folds)
    proposed = propose(corpus, settings, jobs=arguments.jobs, cache=arguments.cache)
    pools = pools_of(proposed.tables, proposed.out_of_fold, tuple(settings.submodels))
    stacker = Stacker(settings.stacker)
    stacker.fit(proposed.tables, pools, sources=tuple(settings.submodels), seed=settings.seed)
    console = Console(width=150)
    console.print(_wrong(corpus, stacker))
    console.print(_left([*questions(proposed, pools, stacker)]))


def _wrong(corpus: Corpus, stacker: Stacker) -> Table:
    notes = zip(corpus.documents, stacker.decided_, strict=True)
    kinds = Counter(wrong.kind for note, decisions in notes for wrong in wrong_decisions(note, decisions))
    rows = [[kind.side, kind.name, str(kinds[kind]), kind.means] for kind in KINDS_OF_WRONG]
    n_gold = sum(len(set(document.spans)) for document in corpus.documents)
    return Table(("wrong", "kind", "spans", "that is"), [rows, [["", "in the gold", str(n_gold), ""]]], "Losses")


def questions(proposed: Proposed, pools: Pools, stacker: Stacker) -> Iterator[Question]:
    """All questions on the training notes; the stack's answers come from SVMs that never saw the patient."""
    judged = stacker.judged_out_of_fold(proposed.tables, pools)
    rows = stacker.features_.matrices(proposed.tables, pools)
    for table, pool, probabilities, features in zip(proposed.tables, pools, judged, rows, strict=True):
        patient, gold = table.document.group, set(table.document.spans)
        spans = [candidate.span for candidate in pool]
        odds = log_odds(probabilities, 1 - _CERTAIN)
        lone = set(range(len(spans)))
        for a, b in combinations(range(len(spans)), 2):
            if not spans[a].overlaps(spans[b]):
                continue
            lone -= {a, b}
            same_extent = (spans[a].start, spans[a].end) == (spans[b].start, spans[b].end)
            if (same_extent or spans[a].label == spans[b].label) and (spans[a] in gold) != (spans[b] in gold):
                kind, both = _KINDS[same_extent], np.concatenate([features[a], features[b]])
                yield Question(kind, patient, odds[a] - odds[b], both, spans[a] in gold)
        for a in sorted(lone):
            yield Question("lone", patient, odds[a], features[a], spans[a] in gold)


def _left(asked: Sequence[Question]) -> Table:
    """The second table."""
    rows = []
    for kind in _KINDS:
        of_kind = [question for question in asked if question.kind == kind]
        answers = {question.answer for question in of_kind}
        if len(answers) < 2 or len({question.patient for question in of_kind}) < _FOLDS:
            continue
        known = {name: bits(of_kind, name) for name in _LEARNERS}
        share = np.mean([question.answer for question in of_kind])
        nothing = -len(of_kind) * float(share * np.log2(share) + (1 - share) * np.log2(1 - share))
        saved = [_saved(of_kind, known["stack"] - known[name]) for name in _LEARNERS if name != "stack"]
        # An answer is right if it gets more than half of the probability: less than one bit is missing.
        right = [percent(float((of_each < 1).mean())) for of_each in known.values()]
        rows.append([kind, str(len(of_kind)), f"{nothing:.0f}", f"{known['stack'].sum():.0f}", *saved, *right])
    columns = ("question", "asked", "bits", "left by stack", *(f"saved by {name}" for name in [*_LEARNERS][1:]))
    note = (
        "In brackets: intervals of 95 %. Right: the share of questions that are answered right, in percent. Questions "
        f"on notes of fewer than {_FOLDS} patients, or with one answer only, are left out."
    )
    return Table((*columns, *(f"right: {name}" for name in _LEARNERS)), [rows], "What is not known", note)


def bits(asked: Sequence[Question], learner: str) -> Floats:
    """The bits missing for each answer, `(n_questions,)`, with a learner that never saw the patient."""
    stack = np.array([[question.stack] for question in asked])
    matrix = stack if learner == "stack" else np.hstack([stack, np.array([question.features for question in asked])])
    answers = np.array([question.answer for question in asked])
    patients = [question.patient for question in asked]
    found = np.empty(len(asked))
    for rest, fold in GroupKFold(_FOLDS).split(matrix, answers, patients):
        model = _LEARNERS[learner]().fit(matrix[rest], answers[rest])
        p = np.clip(model.predict_proba(matrix[fold])[:, 1], _CERTAIN, 1 - _CERTAIN)
        found[fold] = -np.log2(np.where(answers[fold], p, 1 - p))
    return found


def _saved(asked: Sequence[Question], saved: NDArray[np.float64]) -> str:
    """The sum of the bits saved, and its interval over patients."""
    of_patient = np.bincount(np.unique([question.patient for question in asked], return_inverse=True)[1], saved)
    drawn = np.random.default_rng(0).integers(len(of_patient), size=(_RESAMPLES, len(of_patient)))
    low, high = np.quantile(of_patient[drawn].sum(axis=1), [0.025, 0.975])
    return f"{saved.sum():.0f} ({low:.0f} to {high:.0f})"


if __name__ == "__main__":
    run_main(main)
