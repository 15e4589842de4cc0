"""The tag sequences with the highest scores (Viterbi 1967), of many lines at once.

viterbi(chain, emissions, lines)                among all tags, (n,)
viterbi_among(chain, emissions, lines, kept)    among some tags of each token, (n,)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phistack.features.arrays import Floats, Integers
from phistack.submodels.chain.crf import IMPOSSIBLE, Chain
from phistack.submodels.chain.lines import Lines

_A_FEW = 4
"""A tag to which no more tags lead is looked at with these alone."""


def viterbi(chain: Chain, emissions: Floats, lines: Lines) -> Integers:
    """The path with the highest score, of shape `(n,)`, in the order of the text."""
    arrivals = _Arrivals.of(chain)
    # (n, L): the score of the best path up to each tag, in the order of the steps.
    scores = emissions[lines.order].astype(np.float64)
    scores[: len(lines.first)] += chain.start
    later = lines.later()
    for before, now in later:
        scores[now] += arrivals.best(scores[before])
    # (n,): from the best last tag of each sequence back to the tags from which its path can have come.
    path: Integers = np.zeros(len(scores), dtype=np.int64)
    last = lines.place[lines.last]
    path[last] = (scores[last] + chain.end).argmax(axis=1)
    into = np.ascontiguousarray(chain.transitions.T)
    for before, now in reversed(later):
        path[before] = (scores[before] + into[path[now]]).argmax(axis=1)
    return path[lines.place]


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """The transitions to tags to which many tags lead, and to those to which a few do.

    Under a tagging scheme only what begins a span follows upon much, and half of the tags go on with one.

    :param many: the tags of the first kind, of shape `(n_many,)`; `sources` are all that lead to any of them.
    :param between: of shape `(n_sources, n_many)`.
    :param few: the other tags, of shape `(n_few,)`; `few_sources` are those that lead to each: `(_A_FEW, n_few)`.
    :param few_between: of shape `(_A_FEW, n_few)`.
    """

    many: Integers
    sources: Integers
    between: Floats
    few: Integers
    few_sources: Integers
    few_between: Floats

    @classmethod
    def of(cls, chain: Chain) -> _Arrivals:
        """Take the transitions apart."""
        # (L, L) from which tag to which, and (L,) to which only a few lead.
        allowed = chain.transitions > IMPOSSIBLE / 2
        has_few = allowed.sum(axis=0) <= _A_FEW
        many, few = np.flatnonzero(~has_few), np.flatnonzero(has_few)
        sources = np.flatnonzero(allowed[:, many].any(axis=1))
        few_sources = np.argsort(~allowed[:, few], axis=0, kind="stable")[:_A_FEW]
        return cls(
            many, sources, chain.transitions[np.ix_(sources, many)],
            few, few_sources, chain.transitions[few_sources, few],
        )  # fmt: skip

    def best(self, scores: Floats) -> Floats:
        """The best scores with which paths arrive in each tag from those before, both of shape `(n, L)`."""
        found = np.empty_like(scores)
        # (n, from, to): of the paths that arrive in a tag only the best can go on.
        if len(self.many):
            found[:, self.many] = (scores[:, self.sources, None] + self.between).max(axis=1)
        found[:, self.few] = (scores[:, self.few_sources] + self.few_between).max(axis=1)
        return found


def viterbi_among(chain: Chain, emissions: Floats, lines: Lines, kept: Integers) -> Integers:
    """The path with the highest score among some tags, of shape `(n,)`, in the order of the text.

    :param kept: the tags that are looked at for each token, of shape `(n, n_kept)`.
    """
    # (n, n_kept): tags and the score of the best path up to each, in the order of the steps.
    tags = kept[lines.order]
    scores = np.take_along_axis(emissions[lines.order], tags, axis=1).astype(np.float64)
    from_place = np.zeros(scores.shape, dtype=np.int64)
    scores[: len(lines.first)] += chain.start[tags[: len(lines.first)]]
    later = lines.later()
    for before, now in later:
        # (n_now, n_kept, n_kept): [token, to, from]. Of the paths that arrive in a tag only the best can go on.
        arriving = scores[before][:, None, :] + chain.transitions[tags[before][:, None, :], tags[now][:, :, None]]
        from_place[now] = arriving.argmax(axis=2)
        scores[now] += arriving.max(axis=2)
    # (n, 1): from the best last tag of each sequence back along where its path came from.
    path = np.zeros((len(scores), 1), dtype=np.int64)
    last = lines.place[lines.last]
    path[last, 0] = (scores[last] + chain.end[tags[last]]).argmax(axis=1)
    for before, now in reversed(later):
        path[before] = np.take_along_axis(from_place[now], path[now], axis=1)
    found: Integers = np.take_along_axis(tags, path, axis=1)[lines.place, 0]
    return found
