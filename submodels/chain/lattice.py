"""Forward-backward over many tag sequences at once, and the best path of each.

    lattice = Lattice.over(chain, emissions, [0, 3, 3, 7])      sequences of 3, 0 and 4 tokens, laid end to end
    lattice.marginals()                                         (n, L) probability of each tag at each token
    lattice.best_path()                                         (n,) indices of tags

All sequences are processed together (`submodels.chain.crf`): a step multiplies the matrix of the previous tokens by
the transitions. Probabilities are scaled to sum to one at each token (Rabiner 1989), so no logarithms are needed.
CRFsuite's own tagger takes one sequence at a time and gives only probabilities of tags, but the stacker needs those of
spans; libraries with both need a framework for neural networks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phistack.features.arrays import Floats, Integers
from phistack.submodels.chain.crf import Chain, Lines

_LEAST = -300.0
"""The lowest score relative to the best, so no sum of products is zero."""

_SEQUENCES_AT_ONCE = 512
"""In a search, which takes memory for each pair of tags."""

_ROUNDING = 1e-9
"""An upper bound of rounding errors of probabilities."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The result of forward-backward; arrays of shape `(n, L)`, with the tokens in the order of `lines.order`.

    :param emissions: the scores, in the order of the text.
    :param weights: exp of the emissions, divided by the greatest of each token.
    :param forward: the probability of each tag at a token, given the tokens up to it.
    :param backward: the ratio of `probabilities` to `forward`.
    :param probabilities: of each tag at a token, given all tokens.
    :param log_z: logarithm of the sum of exp(score) over all paths of each sequence, as in `lines.first`.
    """

    chain: Chain
    lines: Lines
    emissions: Floats
    weights: Floats
    forward: Floats
    backward: Floats
    probabilities: Floats
    log_z: Floats

    @classmethod
    def over(cls, chain: Chain, emissions: ArrayLike, bounds: ArrayLike | None = None) -> Lattice:
        """Run forward-backward.

        :param emissions: score of each tag at each token, of shape `(n, L)`.
        :param bounds: where sequences begin, then `n`, as in `FeatureTable.sentences`; one sequence if not given.
        :raises SettingsError: if the bounds do not cut the tokens into sequences.
        """
        scores = np.asarray(emissions)
        lines = Lines.of(bounds, len(scores))
        # (n, L), and (n, 1) the divisor of each token, which keeps exp within range.
        weights, greatest = _weights_of(scores[lines.order])
        forward, sums = _forward(chain, weights, lines)
        backward, last_sums = _backward(chain, weights, sums, forward[lines.place[lines.last]], lines)
        # (n_sequences,): the logarithms of all divisors add up to that of the sum over the paths.
        log_z = lines.of_tokens((np.log(sums) + greatest[:, 0])[lines.place]) + np.log(last_sums)
        log_z += chain.start.max() + chain.end.max() + (lines.last - lines.first) * chain.transitions.max()
        return cls(chain, lines, scores, weights, forward, backward, forward * backward, log_z)

    def marginals(self) -> Floats:
        """The probability of each tag at each token; tokens in the order of the text."""
        return self.probabilities[self.lines.place]

    def probability(self, tag: str) -> Floats:
        """The probability of one tag at each token, of shape `(n,)`; tokens in the order of the text."""
        if tag not in self.chain.tags:
            return np.zeros(len(self.lines.place))
        found: Floats = self.probabilities[self.lines.place, self.chain.tags.index(tag)]
        return found

    def expected_transitions(self) -> Floats:
        """The expected number of each transition, [from, to], of shape `(L, L)`."""
        now = slice(len(self.lines.first), None)
        # (n - n_sequences, L): the weights of the tokens before, and of a token and those after it. Their product with
        # the transition, scaled to sum to one, is the probability of each pair of tags.
        before, after = self.forward[self.lines.before], (self.weights * self.backward)[now]
        between = transition_weights(self.chain)
        sums = ((before @ between) * after).sum(axis=1, keepdims=True)
        expected: Floats = before.T @ (after / sums) * between
        return expected

    def best_path(self) -> Integers:
        """The best tags, in the order of the text.

        A path is at most as probable as each of its tags. So the path of the most probable tags is the best, if at each
        token it is more probable than all other tags together. Mostly it is; other sequences are searched.
        """
        path: Integers = self.probabilities.argmax(axis=1)[self.lines.place]
        # (n_sequences,): any other path has another tag somewhere.
        others = np.zeros(len(self.lines.first))
        np.maximum.at(others, self.lines.line, 1 - self.probabilities[self.lines.place, path])
        unsure = np.exp(self.path_scores(path) - self.log_z) <= others + _ROUNDING
        if unsure.any():
            rest = unsure[self.lines.line]
            edges = np.flatnonzero(np.diff(self.lines.line[rest], prepend=-1, append=-1))
            path[rest] = viterbi(self.chain, self.emissions[rest], Lines.of(edges, int(edges[-1])))
        return path

    def path_scores(self, path: Integers) -> Floats:
        """The score of a path of each sequence, as in `lines.first`.

        :param path: indices of tags, of shape `(n,)`.
        """
        # (n,): the emission of each token, and the transition to it unless it begins a sequence.
        values = self.emissions[np.arange(len(path)), path].astype(np.float64)
        values[1:] += np.where(np.diff(self.lines.line) == 0, self.chain.transitions[path[:-1], path[1:]], 0.0)
        ends = self.chain.start[path[self.lines.first]] + self.chain.end[path[self.lines.last]]
        return self.lines.of_tokens(values) + ends


def _weights_of(scores: ArrayLike) -> tuple[Floats, Floats]:
    """exp of scores divided by the greatest of each row, never zero; and the greatest, of shape `(..., 1)`."""
    scores = np.asarray(scores, dtype=np.float64)
    greatest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    values = scores - greatest
    np.maximum(values, _LEAST, out=values)
    return np.exp(values, out=values), greatest


def transition_weights(chain: Chain) -> Floats:
    """exp of the transitions divided by the greatest, of shape `(L, L)`, never zero."""
    return _weights_of(chain.transitions.reshape(-1))[0].reshape(chain.transitions.shape)


def _forward(chain: Chain, weights: Floats, lines: Lines) -> tuple[Floats, Floats]:
    """`forward` of the lattice, and the divisors of the tokens, of shape `(n,)`."""
    between, (start, _) = transition_weights(chain), _weights_of(chain.start)
    # (n, L): the weight of a token's tag times the sum over the previous tags, scaled to sum to one at each token.
    forward, sums = weights.copy(), np.ones(len(weights))
    n_lines = len(lines.first)
    forward[:n_lines] *= start
    _normalise(forward[:n_lines], sums[:n_lines])
    for before, now in lines.later():
        forward[now] *= forward[before] @ between
        _normalise(forward[now], sums[now])
    return forward, sums


def _normalise(rows: Floats, sums: Floats) -> None:
    """Divide rows by their sums, which are written into `sums`."""
    rows.sum(axis=1, out=sums)
    rows /= sums[:, None]


def _backward(chain: Chain, weights: Floats, sums: Floats, forward: Floats, lines: Lines) -> tuple[Floats, Floats]:
    """`backward` of the lattice, scaled so that its product with `forward` sums to one at each token.

    :param forward: of the last token of each sequence.
    :returns: also the sums over the ends of each sequence, as in `lines.last`.
    """
    # (n, L): the same from the end, with the divisors of `forward`.
    into, (end, _) = np.ascontiguousarray(transition_weights(chain).T), _weights_of(chain.end)
    backward, last_sums = np.empty_like(weights), forward @ end
    backward[lines.place[lines.last]] = end / last_sums[:, None]
    for before, now in reversed(lines.later()):
        leaving = weights[now] * backward[now]
        leaving /= sums[now, None]
        np.matmul(leaving, into, out=backward[before])
    return backward, last_sums


def viterbi(chain: Chain, emissions: Floats, lines: Lines) -> Integers:
    """The path with the highest score (Viterbi 1967), of shape `(n,)`, in the order of the text."""
    into = np.ascontiguousarray(chain.transitions.T)
    # (n, L): the score of the best path up to each tag, in the order of the steps.
    scores = emissions[lines.order].astype(np.float64)
    scores[: len(lines.first)] += chain.start
    later = lines.later()
    for before, now in later:
        for first in range(0, now.stop - now.start, _SEQUENCES_AT_ONCE):
            block = slice(first, first + _SEQUENCES_AT_ONCE)
            # (n_block, L, L): [token, to, from]. Only the best of the paths that arrive in a tag can go on.
            scores[now][block] += (scores[before][block, None] + into).max(axis=2)
    # (n,): from the best last tag of each sequence back along its path, recomputing the step into each tag.
    path = np.zeros(len(scores), dtype=np.int64)
    last = lines.place[lines.last]
    path[last] = (scores[last] + chain.end).argmax(axis=1)
    for before, now in reversed(later):
        path[before] = (scores[before] + into[path[now]]).argmax(axis=1)
    return path[lines.place]
