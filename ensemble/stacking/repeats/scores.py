"""Strict F1 of the training notes with accepted repeats, for any probabilities and thresholds.

    scores = RepeatScores(tables, decisions, repeats)
    scores.f1(probabilities, (0.3, 0.5))        (2,): the strict F1 at each threshold

An accepted repeat replaces the accepted spans that it overlaps. Most repeats overlap no other repeat and are counted
for all thresholds at once; the best set is computed only for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.repeats.search import Repeat
from phistack.features.arrays import Floats
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Span
from phistack.features.ranges import non_overlapping, overlapping_groups


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Overlapping repeats of one note, the accepted spans that they overlap, and the gold spans.

    :param repeats: each with its index among the repeats of all notes.
    """

    repeats: list[tuple[int, Repeat]]
    spans: list[Span]
    gold: set[Span]

    def gains(self, accepted: Sequence[Repeat]) -> tuple[int, int]:
        """How many more spans, and right spans, there are with some repeats accepted."""
        lost = [span for span in self.spans if any(span.overlaps(repeat.span) for repeat in accepted)]
        n_right = sum(repeat.span in self.gold for repeat in accepted) - sum(span in self.gold for span in lost)
        return len(accepted) - len(lost), n_right


class RepeatScores:
    """Strict F1 of the training notes under any probabilities of their repeats.

    :param tables: the annotated notes.
    :param decisions: for each note, those of the stacker.
    :param repeats: for each note its repeats.
    """

    def __init__(
        self,
        tables: Sequence[FeatureTable],
        decisions: Sequence[Sequence[Decision]],
        repeats: Sequence[Sequence[Repeat]],
    ) -> None:
        self._n_found = self._n_right = self._n_gold = 0
        self._clusters: list[_Cluster] = []
        alone: list[tuple[int, int, int]] = []
        places = {id(repeat): place for place, repeat in enumerate(repeat for found in repeats for repeat in found)}
        for table, decided, of_note in zip(tables, decisions, repeats, strict=True):
            spans, gold = {d.span for d in decided if d.accepted}, set(table.document.spans)
            self._n_found += len(spans)
            self._n_right += len(spans & gold)
            self._n_gold += len(gold)
            for group in overlapping_groups([*spans, *of_note]):
                found = [(places[id(item)], item) for item in group if isinstance(item, Repeat)]
                cluster = _Cluster(found, [item for item in group if isinstance(item, Span)], gold)
                if len(found) == 1:
                    alone.append((found[0][0], *cluster.gains([found[0][1]])))
                elif found:
                    self._clusters.append(cluster)
        # (n_alone, 3): index and both gains of each repeat that overlaps no other.
        self._alone = np.array(alone, dtype=np.int64).reshape(-1, 3)

    def at(self, probabilities: Sequence[Floats], threshold: float) -> float:
        """The strict F1 at one threshold."""
        return float(self.f1(probabilities, [threshold])[0])

    def f1(self, probabilities: Sequence[Floats], thresholds: Sequence[float]) -> Floats:
        """The strict F1 at each threshold, of shape `(n_thresholds,)`.

        :param probabilities: for each note those of its repeats, of shape `(n_repeats,)`.
        """
        together = np.concatenate([np.zeros(0), *probabilities])
        # (n_thresholds, n_alone), and (n_thresholds, 2).
        accepted = together[self._alone[:, 0]] - np.array(thresholds)[:, None] > 0
        gains = accepted @ self._alone[:, 1:]
        for cluster in self._clusters:
            found, values = [repeat for _, repeat in cluster.repeats], together[[place for place, _ in cluster.repeats]]
            for row, threshold in zip(gains, thresholds, strict=True):
                if (values > threshold).any():
                    taken = non_overlapping(found, (values - threshold).tolist())
                    row += cluster.gains([found[i] for i in taken])
        n_all = self._n_found + self._n_gold + gains[:, 0]
        scores: Floats = 2 * (self._n_right + gains[:, 1]) / np.maximum(n_all, 1)
        return scores
