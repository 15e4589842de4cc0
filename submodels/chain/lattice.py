"""Forward-backward and Viterbi over many tag sequences at once.

    lattice = Lattice.over(chain, emissions, [0, 3, 3, 7])      sequences of 3, 0 and 4 tokens, laid end to end
    lattice.marginals()                                         (n, L) probability of each tag at each token
    lattice.best_path()                                         (n,) indices of tags

The first tokens of all sequences are taken together, then the second tokens of all that have one, and so on, the
longest sequence first: a step is a product of the matrix of the tokens before with that of the transitions. Sums are
over probabilities, not over their logarithms, and those of each token are made to sum to one (Rabiner 1989). CRFsuite's
own tagger takes one sequence at a time and gives probabilities of tags alone, where the stacker needs those of spans;
libraries that give both bring a whole framework for neural networks with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from features.arrays import Floats, Integers
from features.errors import SettingsError
from submodels.chain.crf import IMPOSSIBLE, Chain

__all__ = ["Lattice", "Lines", "transition_weights", "viterbi", "viterbi_among", "weights_of"]

_LEAST = -300.0
"""What is further below the best counts as this far below, so that no sum of products is ever zero."""

_A_FEW = 4
"""Tags of a token that Viterbi's algorithm looks at before it looks at all."""

_ROUNDING = 1e-9
"""More than probabilities are wrong by rounding."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Tag sequences laid end to end, and their tokens in steps: all first tokens, all second tokens, and so on.

    :param first: index of the first token of each sequence that has one, the longest sequence first.
    :param last: index of the last token of each.
    :param line: the sequence of each token, as a place in `first`; of shape `(n,)`.
    :param order: the tokens in the order of the steps; of shape `(n,)`.
    :param place: where each token is in that order; of shape `(n,)`.
    :param steps: where each step begins in that order, then the number of tokens.
    """

    first: Integers
    last: Integers
    line: Integers = field(repr=False)
    order: Integers = field(repr=False)
    place: Integers = field(repr=False)
    steps: Integers = field(repr=False)

    @classmethod
    def of(cls, bounds: ArrayLike | None, n_tokens: int) -> Lines:
        """Cut tokens into sequences.

        :param bounds: where sequences begin, of shape `(n_sequences + 1,)`; one sequence if not given.
        :raises SettingsError: if the bounds do not cut so many tokens.
        """
        edges = np.array([0, n_tokens] if bounds is None else bounds, dtype=np.int64)
        if len(edges) == 0 or edges[0] != 0 or edges[-1] != n_tokens or (np.diff(edges) < 0).any():
            raise SettingsError(f"the sentence bounds do not cut {n_tokens} tokens into sentences")
        # (n_sequences + 1,): sequences without a token fall away.
        edges = np.unique(edges)
        # (n_sequences,): from the longest to the shortest, so that those with a token at a step are always the first
        # ones.
        lengths = np.diff(edges)
        longest = np.argsort(-lengths, kind="stable")
        # (n,): the place of each token's sequence in that order.
        line = np.repeat(np.argsort(longest), lengths)
        # (n_steps,) and (n_steps + 1,): a step has as many tokens as there are sequences that are longer than its
        # number.
        n_longer = len(lengths) - np.cumsum(np.bincount(lengths))
        steps = np.concatenate([[0], np.cumsum(n_longer[:-1])])
        # (n,): a step has its tokens in the order of their sequences.
        place = steps[np.arange(n_tokens) - np.repeat(edges[:-1], lengths)] + line
        return cls(edges[:-1][longest], edges[1:][longest] - 1, line, np.argsort(place), place, steps)

    def later(self) -> list[tuple[slice, slice]]:
        """For each step but the first: the tokens before those of the step, and these, as slices of `order`."""
        edges = self.steps.tolist()
        triples = zip(edges, edges[1:], edges[2:], strict=False)
        return [(slice(before, before + stop - now), slice(now, stop)) for before, now, stop in triples]

    @cached_property
    def before(self) -> Integers:
        """For each token but the first ones, in the order of the steps, the place of the token before it."""
        places = [np.arange(before.start, before.stop) for before, _ in self.later()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])

    def of_tokens(self, values: Floats) -> Floats:
        """The sums over each sequence of one value a token, in the order of the text."""
        return np.bincount(self.line, values, minlength=len(self.first)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Lattice:
    """What forward-backward leaves; arrays of shape `(n, L)`, with the tokens in the order of `lines.order`.

    :param emissions: the scores as they were given, in the order of the text.
    :param weights: exp of the emissions, divided by the greatest of each token.
    :param forward: the probability of each tag at a token, given the tokens up to it.
    :param backward: how much more probable each tag at a token is, given all tokens, than it is by `forward`.
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
        # (n, L), and (n, 1) what each token was divided by: it changes no probability, and exp stays within range.
        weights, greatest = weights_of(scores[lines.order])
        forward, sums = _forward(chain, weights, lines)
        backward, last_sums = _backward(chain, weights, sums, forward[lines.place[lines.last]], lines)
        # (n_sequences,): all that was divided by makes up the sum over the paths, so the logarithms are added up.
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

    def log_partition(self) -> float:
        """The logarithm of the sum of exp(score) over all tag sequences, of all sentences together."""
        return float(self.log_z.sum())

    def expected_transitions(self) -> Floats:
        """How often each tag is expected to follow each other one, [from, to], of shape `(L, L)`."""
        now = slice(len(self.lines.first), None)
        # (n - n_sequences, L): what a token knows of what came before it, and of itself and what comes after. Their
        # product over a transition is the probability of both tags, but for a factor that makes each pair sum to one.
        before, after = self.forward[self.lines.before], (self.weights * self.backward)[now]
        between = transition_weights(self.chain)
        sums = ((before @ between) * after).sum(axis=1, keepdims=True)
        expected: Floats = before.T @ (after / sums) * between
        return expected

    def best_path(self) -> Integers:
        """The best tags, in the order of the text.

        A path is at most as probable as each of its tags. So the best path among those of the most probable tags is the
        best of all, if it is more probable than the other tags of each token together. Mostly one tag a token is
        enough, and else a few are; only where they are not has Viterbi's algorithm to look at all.
        """
        n_tags = self.probabilities.shape[1]
        # (n,): the most probable tag of each token, and how much of its probability was looked at.
        path: Integers = self.probabilities.argmax(axis=1)[self.lines.place]
        covered = self.probabilities[self.lines.place, path]
        for n_kept in (min(_A_FEW, n_tags), n_tags):
            unsure = self._unsure(path, covered)
            if not unsure.any():
                break
            rest = unsure[self.lines.line]
            edges = np.flatnonzero(np.diff(self.lines.line[rest], prepend=-1, append=-1))
            emissions, lines = self.emissions[rest], Lines.of(edges, int(edges[-1]))
            if n_kept == n_tags:
                path[rest] = viterbi(self.chain, emissions, lines)
                break
            # (n_rest, n_kept): the most probable tags of the tokens of those sequences that are not settled.
            probabilities = self.probabilities[self.lines.place[rest]]
            kept = np.argpartition(probabilities, n_tags - n_kept, axis=1)[:, n_tags - n_kept :]
            covered[rest] = np.take_along_axis(probabilities, kept, axis=1).sum(axis=1)
            path[rest] = viterbi_among(self.chain, emissions, lines, kept)
        return path

    def _unsure(self, path: Integers, covered: Floats) -> NDArray[np.bool_]:
        """The sequences that may have a better path than the given one, as in `lines.first`.

        :param covered: the probability of the tags of each token that were looked at.
        """
        # (n_sequences,): another path has a tag somewhere that was not looked at, so it is at most as probable as
        # those tags of that token are together.
        others = np.zeros(len(self.lines.first))
        np.maximum.at(others, self.lines.line, 1 - covered)
        unsure: NDArray[np.bool_] = np.exp(self.path_scores(path) - self.log_z) <= others + _ROUNDING
        return unsure

    def path_scores(self, path: Integers) -> Floats:
        """The score of a path of each sequence, as in `lines.first`.

        :param path: indices of tags, of shape `(n,)`.
        """
        # (n,): the emission of each token, and the transition to it where it does not begin a sequence.
        values = self.emissions[np.arange(len(path)), path].astype(np.float64)
        values[1:] += np.where(np.diff(self.lines.line) == 0, self.chain.transitions[path[:-1], path[1:]], 0.0)
        ends = self.chain.start[path[self.lines.first]] + self.chain.end[path[self.lines.last]]
        return self.lines.of_tokens(values) + ends


def viterbi(chain: Chain, emissions: Floats, lines: Lines) -> Integers:
    """The path with the highest score (Viterbi 1967), of shape `(n,)`, in the order of the text."""
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


def weights_of(scores: ArrayLike) -> tuple[Floats, Floats]:
    """exp of scores divided by the greatest of each row, never zero; and the greatest, of shape `(..., 1)`."""
    scores = np.asarray(scores, dtype=np.float64)
    greatest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    values = scores - greatest
    np.maximum(values, _LEAST, out=values)
    return np.exp(values, out=values), greatest


def transition_weights(chain: Chain) -> Floats:
    """exp of the transitions divided by the greatest, of shape `(L, L)`, never zero."""
    return weights_of(chain.transitions.reshape(-1))[0].reshape(chain.transitions.shape)


def _forward(chain: Chain, weights: Floats, lines: Lines) -> tuple[Floats, Floats]:
    """`forward` of the lattice, and what the probabilities of each token were divided by, of shape `(n,)`."""
    between, (start, _) = transition_weights(chain), weights_of(chain.start)
    # (n, L): the weight of a token's tag times the sum over all tags before it, made to sum to one at each token.
    forward, sums = weights.copy(), np.ones(len(weights))
    n_lines = len(lines.first)
    forward[:n_lines] *= start
    _normalise(forward[:n_lines], sums[:n_lines])
    for before, now in lines.later():
        forward[now] *= forward[before] @ between
        _normalise(forward[now], sums[now])
    return forward, sums


def _normalise(rows: Floats, sums: Floats) -> None:
    """Divide rows by their sums, which are written down."""
    rows.sum(axis=1, out=sums)
    rows /= sums[:, None]


def _backward(chain: Chain, weights: Floats, sums: Floats, forward: Floats, lines: Lines) -> tuple[Floats, Floats]:
    """`backward` of the lattice, divided so that its product with `forward` sums to one at each token.

    :param forward: of the last token of each sequence.
    :returns: also the sums over how each sequence can end, as in `lines.last`.
    """
    # (n, L): the same from the end, divided by what `forward` was divided by, so that their product sums to one.
    into, (end, _) = np.ascontiguousarray(transition_weights(chain).T), weights_of(chain.end)
    backward, last_sums = np.empty_like(weights), forward @ end
    backward[lines.place[lines.last]] = end / last_sums[:, None]
    for before, now in reversed(lines.later()):
        leaving = weights[now] * backward[now]
        leaving /= sums[now, None]
        np.matmul(leaving, into, out=backward[before])
    return backward, last_sums
