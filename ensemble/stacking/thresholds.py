"""The threshold above which a candidate is accepted.

    best_threshold(pools, probabilities, gold)      0.24, 0.9652: a threshold, and the best strict F1 of all tried

Of candidates that overlap, those are accepted whose probabilities above the threshold have the largest sum. Nearly all
candidates overlap no other that any threshold would accept, so they are counted for all thresholds together, and only
for the few others is anything searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ensemble.stacking.candidates import PooledCandidate, non_overlapping
from features.arrays import Floats
from features.documents import Span

__all__ = ["THRESHOLDS", "best_threshold"]

THRESHOLDS: tuple[float, ...] = tuple(np.round(np.arange(0.10, 0.71, 0.02), 2).tolist())
_ABOUT = 0.001
"""A difference in F1 no larger than what another choice of folds makes."""

_Run = list[tuple[PooledCandidate, float]]
"""Candidates of one note with their probabilities; none overlaps one of another run."""


def best_threshold(
    pools: Sequence[Sequence[PooledCandidate]], probabilities: Sequence[Floats], gold: Sequence[set[Span]]
) -> tuple[float, float]:
    """The lowest threshold whose strict F1 is about the best, and the best F1.

    Over a wide range of thresholds F1 hardly changes, while precision is traded for recall; a missed identifier does
    more harm than a false one.

    :param pools: for each note its candidates, sorted by span.
    :param probabilities: for each note those of its candidates, of shape `(n_candidates,)`.
    :param gold: for each note the spans that are right.
    """
    # (n_thresholds,) each: how many are accepted, how many of these are right, and their F1.
    n_accepted, n_right = np.zeros(len(THRESHOLDS)), np.zeros(len(THRESHOLDS))
    alone: list[float] = []
    right: list[bool] = []
    for pool, probability, spans in zip(pools, probabilities, gold, strict=True):
        for run in _runs(pool, probability):
            if len(run) == 1:
                alone.append(run[0][1])
                right.append(run[0][0].span in spans)
            else:
                accepted = [_accepted(run, threshold) for threshold in THRESHOLDS]
                n_accepted += list(map(len, accepted))
                n_right += [len(spans.intersection(found)) for found in accepted]
    above = np.array(alone) > np.array(THRESHOLDS)[:, None]
    n_accepted += above.sum(axis=1)
    n_right += above[:, np.array(right, dtype=bool)].sum(axis=1)
    scores = 2 * n_right / np.maximum(n_accepted + sum(map(len, gold)), 1)
    return THRESHOLDS[int(np.argmax(scores >= scores.max() - _ABOUT))], float(scores.max())


def _runs(pool: Sequence[PooledCandidate], probabilities: Floats) -> Iterator[_Run]:
    """The candidates that some threshold can accept, in runs that overlap."""
    run: _Run = []
    end = 0
    for i in np.flatnonzero(probabilities > THRESHOLDS[0]).tolist():
        candidate = pool[i]
        if run and candidate.span.start >= end:
            yield run
            run = []
        run.append((candidate, float(probabilities[i])))
        end = max(end, candidate.span.end)
    if run:
        yield run


def _accepted(run: _Run, threshold: float) -> list[Span]:
    gains = [probability - threshold for _, probability in run]
    return [run[i][0].span for i in non_overlapping([candidate for candidate, _ in run], gains)]
