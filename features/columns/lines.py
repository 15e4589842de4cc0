"""The lines of a note as sequences of tokens.

line_bounds(table)      [0, 12, 31]: tokens 0 to 11 are one sequence, 12 to 30 the other
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from features.arrays import Integers32
from features.columns.table import FeatureTable

__all__ = ["line_bounds"]

_LONGEST = 1_000
"""Tokens of a sequence; a line of more is cut where a sentence ends. Within a sequence step follows step, while
sequences go side by side: one line without end would take many times as long as the same tokens in such lines."""


def line_bounds(table: FeatureTable) -> Integers32:
    """The sentences of a note, those of one line joined as long as they have at most 1,000 tokens, as bounds.

    An abbreviation within an address is easily taken for the end of a sentence, and no tag sequence can then say the
    whole address; a sequence model takes the line at once.

    :returns: of shape `(n_sequences + 1,)`.
    """
    text, (starts, ends) = table.document.text, table.offsets
    bounds = table.sentences[:1].tolist()
    for begin, end in pairwise(table.sentences[1:].tolist()):
        gap = text[ends[begin - 1] : starts[begin]]
        if "\n" in gap or "\r" in gap or end - bounds[-1] > _LONGEST:
            bounds.append(begin)
    return np.array([*bounds, *table.sentences[1:][-1:]], dtype=np.int32)
