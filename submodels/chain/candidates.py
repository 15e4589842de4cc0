"""Candidates from the scores of a linear chain.

for part in batches(tables):
    propose(chain, emissions[part], tables[part], [line_bounds(t) for t in tables[part]], "crf")   a list a note
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phistack.features.arrays import Floats, Integers
from phistack.features.documents import Span
from phistack.features.tags import OUTSIDE, decode
from phistack.features.tokens import TokenOffsets
from phistack.submodels.base import Candidate
from phistack.submodels.chain.crf import Chain
from phistack.submodels.chain.lattice import Lattice
from phistack.submodels.chain.spans import spans_of

_BATCH_TOKENS = 20_000


class HasTokens(Protocol):
    """A note, or a part of one, with the offsets of its tokens."""

    @property
    def offsets(self) -> TokenOffsets: ...

    def __len__(self) -> int: ...


def batches(tables: Sequence[HasTokens], n_tokens: int = _BATCH_TOKENS) -> Iterator[slice]:
    """Slices of consecutive notes with at most `n_tokens` tokens together, or of one longer note."""
    lengths = [len(table) for table in tables]
    first = tokens = 0
    for number, length in enumerate(lengths):
        if number > first and tokens + length > n_tokens:
            yield slice(first, number)
            first, tokens = number, 0
        tokens += length
    if tables:
        yield slice(first, len(tables))


def propose(
    chain: Chain,
    emissions: ArrayLike,
    tables: Sequence[HasTokens],
    bounds: Sequence[NDArray[np.integer[Any]]],
    source: str,
    threshold: float = 0.05,
    *,
    is_phi: Floats | None = None,
) -> list[list[Candidate]]:
    """The candidates of notes: the spans of the best paths, and the other probable spans.

    :param emissions: score of each tag at each token, over all notes, of shape `(n_tokens, L)`.
    :param bounds: for each note the first tokens of its tag sequences, then its number of tokens.
    :param source: the name of the submodel.
    :param threshold: the least probability of a span off the best path.
    :param is_phi: an array to fill with the probability of PHI at each token: `(n_tokens,)`.
    :returns: for each note sorted by place and label, with the span's probability as score; those on the best path
        are `chosen`.
    """
    # (n_notes + 1,) first tokens of the notes, and (n_sequences + 1,) those of the sequences, over all notes.
    begins = np.cumsum([0, *map(len, tables)]).tolist()
    inner = [begin + of_note[:-1] for begin, of_note in zip(begins, bounds, strict=False)]
    edges = np.concatenate([*inner, begins[-1:]])
    emissions = np.asarray(emissions)
    found: list[list[Candidate]] = [[] for _ in tables]
    offsets = [(table.offsets[0].tolist(), table.offsets[1].tolist()) for table in tables]
    for first, last, label, probability, chosen in _spans(chain, emissions, edges, threshold, is_phi):
        number = bisect_right(begins, first) - 1
        (starts, ends), begin = offsets[number], begins[number]
        span = Span(starts[first - begin], ends[last - begin - 1], label)
        found[number].append(Candidate(span, source, probability, chosen))
    return found


def _spans(
    chain: Chain, emissions: NDArray[Any], edges: Integers, threshold: float, is_phi: Floats | None
) -> Iterator[tuple[int, int, str, float, bool]]:
    """First token, token after the last, label, probability, and whether it is on the best path, in order.

    Works through batches of sequences, so one long note takes no more memory than many short ones.
    """
    first = 0
    while first < len(edges) - 1:
        last = max(first + 1, int(edges.searchsorted(edges[first] + _BATCH_TOKENS, side="right")) - 1)
        begin, own = int(edges[first]), edges[first : last + 1] - edges[first]
        scores = emissions[begin : int(edges[last])]
        lattice = Lattice.over(chain, scores, own)
        if is_phi is not None:
            is_phi[begin : int(edges[last])] = 1 - lattice.probability(OUTSIDE)
        best = [chain.tags[tag] for tag in lattice.best_path().tolist()]
        chosen = set(decode(best, scheme="BIOES", begins=set(own.tolist())))
        for start, stop, label, probability in spans_of(lattice, threshold, chosen):
            yield begin + start, begin + stop, label, probability, (start, stop, label) in chosen
        first = last
