"""Some lines of a note, and the rows that have to be read for them.

    excerpt = Excerpt.of(table, wanted, window=64)      wanted: for each line whether it is one of them
    excerpt.rows                                        the rows of the whole note that hold one, unchanged
    excerpt.bounds                                      the lines alone, end to end, as tag sequences

The network sees a line with what is around it in its row. As rows are those of the whole note, it says of the lines
what it would say if it read everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.lines import line_bounds
from phistack.features.columns.table import FeatureTable
from phistack.features.tokens import TokenOffsets
from phistack.submodels.base import LineMask
from phistack.submodels.blstm.encoder import rows_between


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a note.

    :param rows: first token and token after the last of each row that holds a token of the lines.
    :param places: where the tokens of the lines are among those of the rows, end to end: `(n_tokens,)`.
    :param offsets: starts and ends of the tokens of the lines in the text.
    :param bounds: where the lines begin among their tokens, then the number of these.
    """

    rows: list[tuple[int, int]] = field(repr=False)
    places: Integers = field(repr=False)
    offsets: TokenOffsets = field(repr=False)
    bounds: Integers32 = field(repr=False)

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, table: FeatureTable, wanted: LineMask, window: int) -> Self:
        """The wanted lines of a note; `window` as in `rows_of`."""
        bounds = line_bounds(table)
        lengths = np.diff(bounds)
        # (n_tokens,) of the note: whether the token is wanted, and whether its row is read for it.
        is_wanted = np.repeat(wanted, lengths)
        rows = [row for row in rows_between(bounds, table.sentences, window) if is_wanted[slice(*row)].any()]
        read = [np.arange(*row) for row in rows]
        tokens = np.concatenate([np.zeros(0, dtype=np.int64), *read])
        places = np.flatnonzero(is_wanted[tokens])
        starts, ends = table.offsets
        own = np.cumsum([0, *lengths[wanted]], dtype=np.int32)
        return cls(rows, places, (starts[tokens[places]], ends[tokens[places]]), own)
