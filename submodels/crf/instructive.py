"""The tokens that a CRF learns from: what is PHI, what looks like it, and a sample of the rest.

    tokens = instructive_tokens(attributes, is_phi, lines, look_alikes=0.3, others=0.05)      (n_tokens,) bool
    for piece in pieces(tokens, lines):
        ...                                   neighbouring tokens of one line, as a slice

Most of a note is text that no model would take for PHI, and a twentieth of it is enough to learn from; without what
looks like PHI, though, precision falls by two points. How much a token looks like PHI is the sum, over its attributes,
of the logarithm of how often each stands at PHI against how often it stands elsewhere, the token itself not counted
(naive Bayes, leave one out).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, Integers, Integers32

_STRETCH = 20
"""Tokens that are sampled together, so that a CRF sees how they follow each other."""

_FEWEST = 10_000
"""Sampled tokens that a small corpus has at least, where it has so many: there is no time to be saved in it."""

_AT_PHI, _ELSEWHERE = 0.5, 1.5
"""What is added to counts, so that what was never seen tells little."""

Marks = NDArray[np.bool_]


def instructive_tokens(
    attributes: Integers32, is_phi: Marks, lines: Integers, *, look_alikes: float, others: float
) -> Marks:
    """PHI, the other tokens that look most like it, the neighbours of both, and a sample of the rest.

    :param attributes: which attributes each token has, of shape `(n_templates, n_tokens)`, -1 for none.
    :param is_phi: of shape `(n_tokens,)`.
    :param lines: the line of each token, of shape `(n_tokens,)`; neighbours are of one line.
    :param look_alikes: how many tokens that look like PHI are taken for each token of PHI.
    :param others: the share of all tokens in the sample; 1 takes them all. At least 10,000 are sampled.
    :returns: of shape `(n_tokens,)`.
    """
    outside = np.flatnonzero(~is_phi)
    n_taken = min(round(look_alikes * int(is_phi.sum())), len(outside))
    likeness = _likeness(attributes, is_phi)[outside]
    taken = is_phi.copy()
    # (n_outside,): the last n_taken in order of their likeness; of equal ones those that stand later.
    taken[outside[np.argsort(likeness, kind="stable")[len(outside) - n_taken :]]] = True
    beside = lines[1:] == lines[:-1]
    widened = taken.copy()
    widened[1:] |= taken[:-1] & beside
    widened[:-1] |= taken[1:] & beside
    # (n_tokens,): the stretches at which a multiple of the share goes up by one, which are evenly spaced.
    stretch = np.arange(len(is_phi)) // _STRETCH
    share = min(1.0, max(others, _FEWEST / max(len(is_phi), 1))) if others else 0.0
    sampled: Marks = np.floor((stretch + 1) * share) > np.floor(stretch * share)
    return widened | sampled


def _likeness(attributes: Integers32, is_phi: Marks) -> Floats:
    """How much each token, taken for one outside of PHI, looks like PHI; of shape `(n_tokens,)`."""
    size = int(attributes.max(initial=-1)) + 1
    # (n_attributes,) each: how often an attribute stands at PHI and elsewhere; one row of tokens has those of one
    # template.
    at_phi, elsewhere = np.zeros(size), np.zeros(size)
    for row in attributes:
        at_phi += np.bincount(row[is_phi & (row >= 0)], minlength=size)
        elsewhere += np.bincount(row[~is_phi & (row >= 0)], minlength=size)
    odds = np.log((at_phi + _AT_PHI) / (np.maximum(elsewhere - 1, 0) + _ELSEWHERE))
    # (n_attributes + 1,): no attribute is -1, the last place, which adds nothing.
    odds = np.append(odds, 0.0)
    total = np.zeros(attributes.shape[1])
    for row in attributes:
        total += odds[row]
    return total


def pieces(tokens: Marks, lines: Integers) -> Iterator[slice]:
    """Runs of chosen tokens that are neighbours in one line."""
    # (n_tokens,): the line of each chosen token, -1 for the others; a piece ends where that changes.
    line = np.where(tokens, lines, -1)
    edges = np.flatnonzero(np.diff(line, prepend=-1, append=-1))
    return (slice(first, stop) for first, stop in pairwise(edges.tolist()) if tokens[first])
