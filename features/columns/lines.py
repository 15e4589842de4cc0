"""The lines of a note as sequences of tokens.

line_starts(table)      [0, 12]: two of the sentences open a line
line_bounds(table)      [0, 12, 31]: tokens 0 to 11 are one sequence, 12 to 30 the other
lines_touched(table, [Span(3, 9, "AGE")])       [0], [1]: the span is in the first line
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Span

_LONGEST = 1_000
"""The most tokens of a sequence; longer lines are cut at the ends of sentences, as only sequences are processed in
parallel."""


def line_starts(table: FeatureTable) -> Integers32:
    """The first tokens of those sentences that open a line, of shape `(n_lines,)`."""
    layout, firsts = table.batch.layout, table.sentences[:-1]
    starts: Integers32 = firsts[layout.opens_line[layout.bounds[table.number] + firsts]]
    return starts


def line_bounds(table: FeatureTable) -> Integers32:
    """The bounds of sequences, of shape `(n_sequences + 1,)`: sentences of one line, joined up to 1,000 tokens.

    An abbreviation within an address is easily taken for the end of a sentence, so a sequence model reads whole lines.
    """
    opens_line = set(line_starts(table).tolist())
    bounds = table.sentences[:1].tolist()
    for begin, end in pairwise(table.sentences[1:].tolist()):
        if begin in opens_line or end - bounds[-1] > _LONGEST:
            bounds.append(begin)
    return np.array([*bounds, *table.sentences[1:][-1:]], dtype=np.int32)


def tokens_touched(table: FeatureTable, spans: Sequence[Span]) -> tuple[Integers, Integers]:
    """The first token of each span and the token after its last, each of shape `(n_spans,)`."""
    starts, ends = table.offsets
    first = ends.searchsorted([span.start for span in spans], side="right")
    return first, np.maximum(starts.searchsorted([span.end for span in spans]), first)


def lines_touched(table: FeatureTable, spans: Sequence[Span]) -> tuple[Integers, Integers]:
    """The first line of each span, as in `line_bounds`, and the line after its last, each `(n_spans,)`."""
    first, last = tokens_touched(table, spans)
    starts = line_bounds(table)[:-1]
    begin = np.maximum(starts.searchsorted(first, side="right") - 1, 0)
    return begin, np.maximum(starts.searchsorted(last), begin)
