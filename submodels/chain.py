"""A linear-chain conditional random field: its tags and the scores between them.

    chain = Chain(("O", "B-AGE", "I-AGE"), transitions, start, end).constrained("BIO")
    chain.best_path(emissions)          (n,) indices of tags
    chain.marginals(emissions)          (n, L) probability of each tag at each token
    chain.spans(emissions, 0.05)        [(3, 5, "AGE", 0.91), ...]: tokens 3 and 4, and no other, are one age

A tag sequence y of a sentence has the score `start[y_1] + sum of transitions[y_i, y_i+1] + sum of emissions[i, y_i] +
end[y_n]`, and its probability is proportional to exp(score) (Lafferty, McCallum and Pereira 2001). The CRF and the
BLSTM-CNN-CRF share this.

Every method works on one sentence, or on many laid end to end: `bounds` is then the index of the first token of each
sentence, followed by the number of tokens, as in `FeatureTable.sentences`. How it is done is in
`submodels.chain_inference` and `submodels.chain_spans`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from features.errors import SettingsError
from features.table import FeatureTable
from features.tags import SCHEMES
from submodels.chain_inference import Floats, Integers, Lattice, Lines
from submodels.chain_spans import TokenSpan, spans_of

__all__ = ["IMPOSSIBLE", "Chain", "line_bounds"]

IMPOSSIBLE = -10_000.0
"""The score of a transition that a tagging scheme forbids."""

_LONGEST = 1_000
"""Tokens of a sequence; a line of more is cut where a sentence ends. Within a sequence step follows step, while
sequences go side by side: one line without end would take many times as long as the same tokens in such lines."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The tags of a linear-chain CRF and the scores between them.

    :param tags: the L tags, such as `O`, `B-AGE`, `I-AGE`.
    :param transitions: of shape `(L, L)`: score of going from tag i to tag j.
    :param start: of shape `(L,)`: score of beginning a sentence with a tag.
    :param end: of shape `(L,)`: score of ending a sentence with a tag.
    :raises SettingsError: if the shapes do not fit the tags.
    """

    tags: tuple[str, ...]
    transitions: Floats = field(repr=False)
    start: Floats = field(repr=False)
    end: Floats = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", tuple(self.tags))
        n_tags = len(self.tags)
        for name, shape in (("transitions", (n_tags, n_tags)), ("start", (n_tags,)), ("end", (n_tags,))):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != shape:
                raise SettingsError(f"{n_tags} tags need {name} of shape {shape}, not {values.shape}")
            object.__setattr__(self, name, values)

    def constrained(self, scheme: str = "BIO") -> Chain:
        """The chain in which no sentence can hold what the scheme forbids.

        In BIO an inside tag only follows a tag of the same label; in BIOES also every begun span must be ended.

        :param scheme: `BIO` or `BIOES`.
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

    def lattice(self, emissions: ArrayLike, bounds: ArrayLike | None = None) -> Lattice:
        """Forward-backward.

        :param emissions: score of each tag at each token, of shape `(n, L)`.
        :param bounds: where sentences begin, of shape `(n_sentences + 1,)`; one sentence if not given.
        :raises SettingsError: if the bounds do not cut the tokens into sentences.
        """
        return Lattice.of(self, emissions, Lines.of(bounds, len(np.asarray(emissions))))

    def best_path(self, emissions: ArrayLike, bounds: ArrayLike | None = None) -> Integers:
        """The most probable tags, as indices of shape `(n,)`; parameters as for `lattice`."""
        return self.lattice(emissions, bounds).best_path(np.asarray(emissions))

    def log_partition(self, emissions: ArrayLike) -> float:
        """The logarithm of the sum of exp(score) over all tag sequences of one sentence; 0 for an empty one."""
        return float(self.lattice(emissions).log_z.sum())

    def marginals(self, emissions: ArrayLike, bounds: ArrayLike | None = None) -> Floats:
        """The probability of each tag at each token, of shape `(n, L)`; parameters as for `lattice`."""
        return self.lattice(emissions, bounds).marginals()

    def spans(
        self,
        emissions: ArrayLike,
        threshold: float,
        bounds: ArrayLike | None = None,
        *,
        always: Collection[TokenSpan] = (),
    ) -> list[tuple[int, int, str, float]]:
        """Spans and their probabilities: see `submodels.chain_spans.spans_of`; other parameters as for `lattice`."""
        return spans_of(self.lattice(emissions, bounds), threshold, always)


def line_bounds(table: FeatureTable) -> NDArray[np.int32]:
    """The sentences of a note, those of one line joined as long as they have at most 1,000 tokens, as bounds.

    An abbreviation within an address is easily taken for the end of a sentence, and no tag sequence can then say the
    whole address; a chain takes the line at once.

    :returns: of shape `(n_sequences + 1,)`.
    """
    text, (starts, ends) = table.document.text, table.offsets
    bounds = table.sentences[:1].tolist()
    for begin, end in pairwise(table.sentences[1:].tolist()):
        gap = text[ends[begin - 1] : starts[begin]]
        if "\n" in gap or "\r" in gap or end - bounds[-1] > _LONGEST:
            bounds.append(begin)
    return np.array([*bounds, *table.sentences[1:][-1:]], dtype=np.int32)
