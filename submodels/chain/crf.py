"""The tags and transition scores of a linear-chain conditional random field.

    chain = Chain(("O", "B-AGE", "I-AGE"), transitions, start, end).constrained("BIO")
    Lattice.over(chain, emissions)      tags and probabilities: see submodels.chain.lattice

A tag sequence y of a sentence has the score `start[y_1] + sum of transitions[y_i, y_i+1] + sum of emissions[i, y_i] +
end[y_n]`, and its probability is proportional to exp(score) (Lafferty, McCallum and Pereira 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from phistack.features.arrays import Floats
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
