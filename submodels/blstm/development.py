"""Notes held back from training, which say when the network has learned enough.

    training, development = held_back(tables, 0.1, seed=1)      a tenth of the patients
    stopping = EarlyStopping(lambda weights: f1_of(...), patience=3)
    stopping.seen(weights)      True once three epochs in a row were no better
    stopping.best               the weights of the best epoch

As Berg and Dalianis (2019) train, who stop after three epochs without improvement on a tenth of their records.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from phistack.features.columns.table import FeatureTable
from phistack.submodels.base import Candidate
from phistack.submodels.blstm.weights import NetworkWeights

_LOG = logging.getLogger("phistack")


def held_back(
    tables: Sequence[FeatureTable], share: float, *, seed: int
) -> tuple[list[FeatureTable], list[FeatureTable]]:
    """Notes to train on, and notes of about so large a share of the patients to stop by; none of fewer than two.

    What no fold splits is not split here either.
    """
    groups = sorted({table.document.unsplit for table in tables})
    random.Random(seed).shuffle(groups)
    n_chosen = min(max(1, round(share * len(groups))), len(groups) - 1) if share else 0
    chosen = set(groups[:n_chosen])
    parts: tuple[list[FeatureTable], list[FeatureTable]] = [], []
    for table in tables:
        parts[table.document.unsplit in chosen].append(table)
    return parts


def f1_of(tables: Sequence[FeatureTable], proposals: Sequence[Sequence[Candidate]]) -> float:
    """Strict micro F1 of what a submodel would mark in annotated notes."""
    found = [{c.span for c in of_note if c.chosen} for of_note in proposals]
    gold = [set(table.document.spans) for table in tables]
    n_right = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 2 * n_right / max(sum(map(len, found)) + sum(map(len, gold)), 1)


@dataclass
class EarlyStopping:
    """The best of the epochs so far.

    :param judge: how good weights are; more is better.
    :param patience: after so many epochs in a row that are no better than the best one training ends.
    """

    judge: Callable[[NetworkWeights], float] = field(repr=False)
    patience: int
    best: NetworkWeights = field(default_factory=dict, repr=False, init=False)
    scores: list[float] = field(default_factory=list, init=False)

    def seen(self, weights: NetworkWeights) -> bool:
        """Judge the weights after an epoch, and say whether it is time to stop."""
        score = self.judge(weights)
        if not self.scores or score > max(self.scores):
            self.best = weights
        self.scores.append(score)
        n_since = len(self.scores) - 1 - self.scores.index(max(self.scores))
        _LOG.info("blstm: F1 %.4f on development notes after epoch %d", score, len(self.scores))
        return n_since >= self.patience
