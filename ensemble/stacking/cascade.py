"""A cascade: the costly submodels read only the lines in which the others leave doubt.

    cascade = Cascade.fit(tables, proposed, stackers, waiting=("blstm",))     with thresholds; None if it does not pay
    cascade.judge(tables, submodels, stackers)                                candidates, probabilities, thresholds

The cheap submodels go first, and the stacker that was trained over them alone judges their candidates. A line is in
doubt if the probability of a candidate is between `doubt` and 1 - `doubt`, or if a token that no submodel proposed is
PHI with a probability of `chance` or more. The costly submodels read these lines, and the stacker over all submodels
judges the candidates that touch them; elsewhere the first judgement is final (after Viola and Jones 2001). Of the
thresholds that lose hardly any PHI out of fold, those that leave the fewest tokens in doubt are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.candidates import ByNote, CandidatesOf, Pools, Tables, pools_of
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import Subset
from phistack.features.arrays import Floats
from phistack.features.columns.table import line_bounds, lines_touched
from phistack.features.documents import Span
from phistack.features.errors import BundleError
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.base import LineMask, NoteProposals, Submodel, candidates_in, in_lines

_FILE = "cascade.json"

_DOUBTS = (0.03, 0.02, 0.01, 0.005)
_CHANCES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
"""From careless to careful; anything more careless than the first may fail on other notes."""

_LOSS = 0.0005
"""The largest share of the PHI that may be lost, by Laplace's rule of succession, and the largest loss of F1, out of
fold."""

_MOST = 0.75
"""With a larger share of the tokens in doubt, judging twice costs about as much time as it saves."""

Stackers = Mapping[Subset, Stacker]
"""Stackers by the names of the submodels that they were trained over."""


class _CascadeState(TypedDict):
    waiting: list[str]
    doubt: float
    chance: float
    figures: dict[str, float]


class Judged(NamedTuple):
    """The candidates of all submodels for each note, with their probabilities and thresholds, `(n_candidates,)`."""

    pools: Pools
    probabilities: ByNote
    thresholds: ByNote


class _FirstLook:
    """The notes as the cheap submodels and their stacker see them.

    :param proposed: for each cheap submodel its proposals for each note; at least one submodel has probabilities.
    :param judge: gives the probabilities of pooled candidates; `threshold` is that of their stacker.
    """

    def __init__(
        self,
        tables: Tables,
        proposed: Mapping[str, Sequence[NoteProposals]],
        judge: Callable[[Tables, Pools], list[Floats]],
        threshold: float,
    ) -> None:
        self.tables, self.threshold = tables, threshold
        self.proposals = {name: [of_note.candidates for of_note in notes] for name, notes in proposed.items()}
        self.pools = pools_of(tables, self.proposals, tuple(proposed))
        self.probabilities = judge(tables, self.pools)
        # For each note (n_lines,): the probability of PHI in each line besides the candidates.
        self.residual = [
            np.max([proposals.residual for proposals in of_note if proposals.residual is not None], axis=0)
            for of_note in zip(*proposed.values(), strict=True)
        ]

    def in_doubt(self, doubt: float, chance: float) -> list[LineMask]:
        """For each note the lines in doubt; the thresholds are those of `Cascade`."""
        wanted: list[LineMask] = []
        notes = zip(self.tables, self.pools, self.probabilities, self.residual, strict=True)
        for table, pool, probability, residual in notes:
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

    def judged_again(
        self,
        theirs: CandidatesOf,
        wanted: Sequence[LineMask],
        names: Subset,
        judge: Callable[[Pools, Sequence[NDArray[np.bool_]]], ByNote],
        threshold: float,
    ) -> Judged:
        """The candidates of all submodels, by the second judgement where they touch a wanted line, else by the first.

        :param theirs: the candidates of the costly submodels in the wanted lines.
        :param judge: gives the probabilities of pooled candidates; also given which of them matter.
        """
        pools = pools_of(self.tables, {**self.proposals, **theirs}, names)
        again = [
            in_lines(table, [candidate.span for candidate in pool], lines)
            for table, pool, lines in zip(self.tables, pools, wanted, strict=True)
        ]
        probabilities: list[Floats] = []
        notes = zip(pools, self.pools, self.probabilities, again, judge(pools, again), strict=True)
        for pool, first, known, anew, second in notes:
            before = {candidate.span: value for candidate, value in zip(first, known.tolist(), strict=True)}
            probabilities.append(np.where(anew, second, [before.get(candidate.span, 0.0) for candidate in pool]))
        return Judged(pools, probabilities, [np.where(anew, threshold, self.threshold) for anew in again])


@dataclass(frozen=True)
class Cascade:
    """Which submodels wait, and the thresholds of doubt.

    :param waiting: the names of the submodels that read only lines in doubt.
    :param doubt: a candidate is in doubt if its probability is at least this far from 0 and 1.
    :param chance: a token that no submodel proposed is in doubt if its probability of PHI is at least this.
    :param figures: savings and losses on the training notes, out of fold.
    """

    waiting: Subset
    doubt: float
    chance: float
    figures: Mapping[str, float] = field(default_factory=dict, repr=False)

    @classmethod
    def fit(
        cls,
        tables: Tables,
        proposed: Mapping[str, Sequence[NoteProposals]],
        stackers: Stackers,
        *,
        waiting: Collection[str],
    ) -> Self | None:
        """Choose the thresholds.

        :param proposed: for each submodel its proposals for each note, out of fold.
        :param stackers: over those that go first and over all; trained, not loaded.
        :returns: `None` if no submodel is costly, none that goes first has probabilities, the corpus has too few PHI to
            estimate the loss, or all thresholds lose too much or leave too much in doubt.
        """
        names = tuple(proposed)
        first = {name: notes for name, notes in proposed.items() if name not in waiting}
        smaller = stackers.get(tuple(first))
        has_probabilities = any(t.residual is not None for notes in first.values() for t in notes)
        if len(first) == len(proposed) or not smaller or not has_probabilities:
            return None
        # With too few PHI no trial can show that hardly any is lost.
        if _share_lost(0, sum(len(set(table.document.spans)) for table in tables)) > _LOSS:
            return None
        look = _FirstLook(tables, first, smaller.judged_out_of_fold, smaller.threshold_)
        theirs = {name: [t.candidates for t in notes] for name, notes in proposed.items() if name not in first}
        choices = [(look.in_doubt(*pair), pair) for pair in product(_DOUBTS, _CHANCES)]
        # Of those that leave equally many in doubt, the most careful comes first.
        shares = [(look.share(wanted), -number) for number, (wanted, _) in enumerate(choices)]
        worth_it = sorted(row for row in shares if row[0] <= _MOST)
        if not worth_it:
            return None
        stacker = stackers[names]
        every = pools_of(tables, {**look.proposals, **theirs}, names)
        of_all = stacker.accepted(every, stacker.judged_out_of_fold(tables, every))
        for _, number in worth_it:
            wanted, thresholds = choices[-number]
            judged = look.judged_again(
                {name: candidates_in(tables, notes, wanted) for name, notes in theirs.items()},
                wanted,
                names,
                lambda pools, _: stacker.judged_out_of_fold(tables, pools),
                stacker.threshold_,
            )
            figures = {"tokens in doubt": look.share(wanted), **_losses(look, of_all, stacker.accepted(*judged))}
            is_harmless = figures["F1"] >= figures["F1, reading all"] - _LOSS
            if is_harmless and _share_lost(figures["PHI lost"], figures["PHI"]) <= _LOSS:
                return cls(tuple(theirs), *thresholds, figures)
        return None

    def first(self, names: Sequence[str]) -> Subset:
        """The submodels of an engine that go first."""
        return tuple(name for name in names if name not in self.waiting)

    def judge(self, tables: Tables, submodels: Sequence[Submodel], stackers: Stackers) -> Judged:
        """Let all submodels propose, and judge their candidates.

        :param stackers: as in `fit`.
        """
        look = self._look(tables, submodels, stackers)
        wanted = look.in_doubt(self.doubt, self.chance)
        theirs = {model.name: model.propose_in(tables, wanted) for model in submodels if model.name in self.waiting}
        names = tuple(model.name for model in submodels)
        stacker = stackers[names]
        return look.judged_again(
            theirs, wanted, names, lambda pools, again: stacker.probabilities(tables, pools, again), stacker.threshold_
        )

    def lines_in_doubt(self, tables: Tables, submodels: Sequence[Submodel], stackers: Stackers) -> list[LineMask]:
        """For each note the lines that `judge` lets the costly submodels read."""
        return self._look(tables, submodels, stackers).in_doubt(self.doubt, self.chance)

    def _look(self, tables: Tables, submodels: Sequence[Submodel], stackers: Stackers) -> _FirstLook:
        smaller = stackers[self.first([model.name for model in submodels])]
        proposed = {model.name: model.proposals(tables) for model in submodels if model.name not in self.waiting}
        return _FirstLook(tables, proposed, smaller.probabilities, smaller.threshold_)

    def save(self, folder: Path) -> None:
        write_json(folder / _FILE, asdict(self))

    @classmethod
    def load(cls, files: SavedFiles) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state = files.json(_FILE, _CascadeState)
        with damage_refused("the cascade of the engine"):
            if not (0 < state["doubt"] <= 0.5 and 0 < state["chance"] <= 1 and state["waiting"]):
                raise BundleError("the engine's cascade has thresholds that cannot be used; train it again")
            return cls(tuple(state["waiting"]), state["doubt"], state["chance"], state["figures"])


def _share_lost(n_lost: float, n_phi: float) -> float:
    """By Laplace's rule of succession."""
    return (n_lost + 1) / (n_phi + 2)


def _losses(look: _FirstLook, of_all: Sequence[set[Span]], found: Sequence[set[Span]]) -> dict[str, float]:
    """What a cascade loses on the training notes, out of fold and before the search for repeats.

    :param of_all: for each note what is accepted if all submodels read every line.
    :param found: for each note what the cascade accepts.
    """
    gold = [set(table.document.spans) for table in look.tables]
    lost = [(every & right) - few for every, few, right in zip(of_all, found, gold, strict=True)]
    known = [{candidate.span for candidate in pool} for pool in look.pools]
    recall, f1 = _scores(found, gold)
    recall_of_all, f1_of_all = _scores(of_all, gold)
    return {
        "recall": recall,
        "F1": f1,
        "recall, reading all": recall_of_all,
        "F1, reading all": f1_of_all,
        "PHI": float(sum(map(len, gold))),
        "PHI lost": float(sum(map(len, lost))),
        "PHI lost that only they propose": float(sum(len(a - b) for a, b in zip(lost, known, strict=True))),
    }


def _scores(found: Sequence[set[Span]], gold: Sequence[set[Span]]) -> tuple[float, float]:
    """Strict recall and F1."""
    n_right = sum(len(spans & right) for spans, right in zip(found, gold, strict=True))
    n_gold, n_found = sum(map(len, gold)), sum(map(len, found))
    return n_right / max(n_gold, 1), 2 * n_right / max(n_gold + n_found, 1)
