"""The proposals of the cheap submodels, and the lines that they leave in doubt.

look = FirstLook.at(tables, {"regex": proposed, "crf": proposed}, stacker.probabilities, stacker.threshold_)
lines = look.in_doubt(0.1, 0.01)           for each note, for each line whether it is in doubt
again = look.touching(pools, lines)        which candidates of all submodels are judged again
look.joined(pools, again, probabilities, threshold)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.candidates import CandidatesOf, Pools, pools_of
from phistack.features.arrays import Floats
from phistack.features.columns.table import FeatureTable, line_bounds, lines_touched
from phistack.submodels.base import LineMask, NoteProposals, in_lines


@dataclass(frozen=True)
class FirstLook:
    """The notes as the cheap submodels and their stacker see them.

    :param tables: the notes.
    :param proposals: for each cheap submodel its candidates for each note.
    :param pools: the same, pooled.
    :param probabilities: for each note those of its candidates by their stacker, `(n_candidates,)`.
    :param residual: for each note the probability of PHI in each line besides the candidates, `(n_lines,)`.
    :param threshold: of their stacker.
    """

    tables: Sequence[FeatureTable] = field(repr=False)
    proposals: CandidatesOf = field(repr=False)
    pools: Pools = field(repr=False)
    probabilities: Sequence[Floats] = field(repr=False)
    residual: Sequence[Floats] = field(repr=False)
    threshold: float

    @classmethod
    def at(
        cls,
        tables: Sequence[FeatureTable],
        proposed: Mapping[str, Sequence[NoteProposals]],
        judge: Callable[[Sequence[FeatureTable], Pools], list[Floats]],
        threshold: float,
    ) -> Self:
        """From the proposals of each submodel for each note, at least one of them with probabilities.

        :param judge: gives the probabilities of pooled candidates.
        """
        proposals = {name: [of_note.candidates for of_note in notes] for name, notes in proposed.items()}
        pools = pools_of(tables, proposals, tuple(proposed))
        known = zip(*proposed.values(), strict=True)
        residual = [np.max([t.residual for t in of_note if t.residual is not None], axis=0) for of_note in known]
        return cls(tables, proposals, pools, judge(tables, pools), residual, threshold)

    def in_doubt(self, doubt: float, chance: float) -> list[LineMask]:
        """For each note the lines in doubt; the thresholds are those of `Cascade`."""
        wanted: list[LineMask] = []
        for table, pool, probability, residual in zip(
            self.tables, self.pools, self.probabilities, self.residual, strict=True
        ):
            lines = residual >= chance
            unsure = np.flatnonzero(np.minimum(probability, 1 - probability) >= doubt)
            for first, last in zip(*lines_touched(table, [pool[i].span for i in unsure.tolist()]), strict=True):
                lines[first:last] = True
            wanted.append(lines)
        return wanted

    def share(self, wanted: Sequence[LineMask]) -> float:
        """The share of the tokens that are in the wanted lines."""
        lengths = [np.diff(line_bounds(table)) for table in self.tables]
        n_wanted = sum(int(of_note[lines].sum()) for of_note, lines in zip(lengths, wanted, strict=True))
        return n_wanted / max(sum(map(len, self.tables)), 1)

    def touching(self, pools: Pools, wanted: Sequence[LineMask]) -> list[NDArray[np.bool_]]:
        """For each note which candidates of all submodels touch a wanted line."""
        return [
            in_lines(table, [candidate.span for candidate in pool], lines)
            for table, pool, lines in zip(self.tables, pools, wanted, strict=True)
        ]

    def joined(
        self, pools: Pools, again: Sequence[NDArray[np.bool_]], probabilities: Sequence[Floats], threshold: float
    ) -> tuple[list[Floats], list[Floats]]:
        """Probabilities and thresholds of the candidates of all submodels, by the second judgement or the first.

        :param again: which candidates are judged again, among them all those of costly submodels.
        :param probabilities: of the second judgement.
        :param threshold: of the stacker over all submodels.
        """
        found: list[Floats] = []
        for pool, first, known, anew, second in zip(
            pools, self.pools, self.probabilities, again, probabilities, strict=True
        ):
            before = {candidate.span: value for candidate, value in zip(first, known.tolist(), strict=True)}
            found.append(np.where(anew, second, [before.get(candidate.span, 0.0) for candidate in pool]))
        return found, [np.where(anew, threshold, self.threshold) for anew in again]
