"""The tags and transition scores of a linear-chain conditional random field, and its sequences cut into steps.

    chain = Chain(("O", "B-AGE", "I-AGE"), transitions, start, end).constrained("BIO")
    Lattice.over(chain, emissions)          tags and probabilities: see submodels.chain.lattice
    lines = Lines.of([0, 3, 3, 7], 7)       sequences of 3, 0 and 4 tokens, laid end to end
    lines.later()                           for each step but the first, the tokens before it and its own

A tag sequence y of a sentence has the score `start[y_1] + sum of transitions[y_i, y_i+1] + sum of emissions[i, y_i] +
end[y_n]`, and its probability is proportional to exp(score) (Lafferty, McCallum and Pereira 2001). To process many
sequences at once, one step has the first tokens of all, the next their second tokens, and so on, longest first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from phistack.features.arrays import Floats, Integers
from phistack.features.errors import SettingsError
from phistack.features.tags import SCHEMES

IMPOSSIBLE = -10_000.0
"""The score of a forbidden transition."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The tags of a linear-chain CRF and the scores between them.

    :param tags: the L tags, such as `O`, `B-AGE`, `I-AGE`.
    :param transitions: score of going from tag i to tag j, of shape `(L, L)`.
    :param start: score of beginning a sentence with a tag, of shape `(L,)`.
    :param end: score of ending a sentence with a tag, of shape `(L,)`.
    :raises SettingsError: if the shapes do not fit the tags.
    """

    tags: tuple[str, ...]
    transitions: Floats = field(repr=False)
    start: Floats = field(repr=False)
    end: Floats = field(repr=False)

    def __post_init__(self) -> None:
        n_tags = len(self.tags)
        for name, shape in (("transitions", (n_tags, n_tags)), ("start", (n_tags,)), ("end", (n_tags,))):
            found = getattr(self, name).shape
            if found != shape:
                raise SettingsError(f"{n_tags} tags need {name} of shape {shape}, not {found}")

    def constrained(self, scheme: str = "BIO") -> Chain:
        """The chain without the transitions that a tagging scheme forbids.

        In `BIO` an inside tag only follows a tag of the same label; in `BIOES` every span must also be ended.
        """
        table = SCHEMES[scheme]
        parts = [tag.partition("-") for tag in self.tags]
        goes_on = np.array([prefix in (table.inside, table.end) for prefix, _, _ in parts])
        is_open = np.array([prefix in (table.begin, table.inside) for prefix, _, _ in parts])
        labels = np.array([label for _, _, label in parts])
        same_label = labels[:, None] == labels
        allowed = ~goes_on | (is_open[:, None] & same_label)
        may_end = np.ones(len(self.tags), dtype=bool)
        if table.end != table.inside:
            allowed &= ~is_open[:, None] | goes_on
            may_end = ~is_open
        return replace(
            self,
            transitions=np.where(allowed, self.transitions, IMPOSSIBLE),
            start=np.where(goes_on, IMPOSSIBLE, self.start),
            end=np.where(may_end, self.end, IMPOSSIBLE),
        )


@dataclass(frozen=True, eq=False)
class Lines:
    """Tag sequences laid end to end, and their tokens in steps.

    :param first: index of the first token of each non-empty sequence, the longest first.
    :param last: index of the last token of each.
    :param line: the sequence of each token, as an index of `first`; of shape `(n,)`.
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
        :raises SettingsError: if the bounds do not fit this number of tokens.
        """
        edges = np.array([0, n_tokens] if bounds is None else bounds, dtype=np.int64)
        if len(edges) == 0 or edges[0] != 0 or edges[-1] != n_tokens or (np.diff(edges) < 0).any():
            raise SettingsError(f"the sentence bounds do not cut {n_tokens} tokens into sentences")
        # (n_sequences + 1,): drops empty sequences.
        edges = np.unique(edges)
        # (n_sequences,): longest first, so the sequences with a token at a step are always the first ones.
        lengths = np.diff(edges)
        longest = np.argsort(-lengths, kind="stable")
        # (n,): the place of each token's sequence in that order.
        line = np.repeat(np.argsort(longest), lengths)
        # (n_steps,) and (n_steps + 1,): a step has one token of each sequence that is longer than its number.
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
        """For each token but the first ones, in the order of the steps, the place of the previous token."""
        places = [np.arange(before.start, before.stop) for before, _ in self.later()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])

    def of_tokens(self, values: Floats) -> Floats:
        """The sum of each sequence's values, one per token, in the order of the text."""
        return np.bincount(self.line, values, minlength=len(self.first)).astype(np.float64)
