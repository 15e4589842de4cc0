"""Candidates from the scores of a linear chain, and how probable spans are under it.

    for part in batches(tables):
        propose(chain, emissions[part], tables[part], [line_bounds(t) for t in tables[part]], "crf")   a list a note
    spans_of(lattice, 0.05)       [(3, 5, "AGE", 0.91), ...]: tokens 3 and 4, and no other, are one age

The probability of a span is that of beginning and reaching its last token, minus that of continuing beyond it. Tag
sequences are decoded as in `features.tags.decode`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phistack.features.arrays import Floats, Integers
from phistack.features.documents import Span
from phistack.features.tags import OUTSIDE, decode
from phistack.features.tokens import TokenOffsets
from phistack.submodels.base import Candidate
from phistack.submodels.chain.crf import Chain
from phistack.submodels.chain.lattice import Lattice, transition_weights

_BATCH_TOKENS = 20_000

TokenSpan = tuple[int, int, str]
"""First token, token after the last, label."""


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
    for first, last, label, probability, chosen in _spans_of_batches(chain, emissions, edges, threshold, is_phi):
        number = bisect_right(begins, first) - 1
        (starts, ends), begin = offsets[number], begins[number]
        span = Span(starts[first - begin], ends[last - begin - 1], label)
        found[number].append(Candidate(span, source, probability, chosen))
    return found


def _spans_of_batches(
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


def spans_of(lattice: Lattice, threshold: float, always: Iterable[TokenSpan] = ()) -> list[tuple[int, int, str, float]]:
    """Spans and their exact probabilities.

    :param threshold: the least probability, above 0.
    :param always: spans to return whatever their probability, each within one sequence.
    :returns: first token, token after the last, label, probability; sorted.
    """
    found = dict(_probable_spans(lattice, threshold))
    found |= {span: _probability(lattice, *span) for span in always if span not in found}
    return sorted((*span, probability) for span, probability in found.items())


def _probable_spans(lattice: Lattice, threshold: float) -> Iterator[tuple[TokenSpan, float]]:
    """`alive[i, t]` is the probability that the span begun at `first[i]` is still going on, with tag t."""
    labels, of_label = _labels(lattice.chain.tags)
    # (n_alive,) tokens, (n_alive, L) and (n_alive, n_labels): the spans followed, all of one length.
    first = np.flatnonzero(1 - lattice.probability(OUTSIDE) >= threshold)
    alive = _begun(lattice, first)
    masses, length = alive @ of_label, 1
    while True:
        kept = masses.max(axis=1, initial=0.0) >= threshold
        first, alive, masses = first[kept], alive[kept], masses[kept]
        if not len(first):
            return
        # (n_alive, n_labels): the probability of ending here is that of reaching here, minus that of going on.
        alive = _extended(lattice, alive, first + length)
        longer = alive @ of_label
        found = masses - longer
        rows, columns = np.nonzero(found >= threshold)
        probabilities = np.clip(found[rows, columns], 0.0, 1.0).tolist()
        for begin, column, probability in zip(first[rows].tolist(), columns.tolist(), probabilities, strict=True):
            yield (begin, begin + length, labels[column]), probability
        masses, length = longer, length + 1


def _probability(lattice: Lattice, first: int, last: int, label: str) -> float:
    """The probability of one span, by the same steps."""
    labels, of_label = _labels(lattice.chain.tags)
    alive = _begun(lattice, np.array([first]))
    for token in range(first + 1, last):
        alive = _extended(lattice, alive, np.array([token]))
    ending = alive @ of_label - _extended(lattice, alive, np.array([last])) @ of_label
    return float(np.clip(ending[0, labels.index(label)], 0.0, 1.0))


def _begun(lattice: Lattice, tokens: Integers) -> Floats:
    """The probability that a span begins at a token with each tag, of shape `(len(tokens), L)`."""
    tags = lattice.chain.tags
    between = transition_weights(lattice.chain)
    # (n_later, L): of all paths to a tag, the share that begin a span there. The first token of a sequence always
    # begins one.
    places = lattice.lines.place[tokens]
    later = places >= len(lattice.lines.first)
    before = lattice.forward[lattice.lines.place[tokens[later] - 1]]
    begun = lattice.probabilities[places]
    begun[later] *= (before @ (between * ~_continues(tags))) / (before @ between)
    return begun


def _extended(lattice: Lattice, alive: Floats, tokens: Integers) -> Floats:
    """The probabilities that the same spans go on in `tokens`, those after their last."""
    lines = lattice.lines
    between = transition_weights(lattice.chain)
    # (n_inside,): spans end with their sequence.
    inside = tokens <= lines.last[lines.line[tokens - 1]]
    places = lines.place[tokens[inside]]
    # (n_inside, L): the weight of all continuations from a tag at the next token. A span's probability is divided among
    # the next tags by transition and continuation, and kept only where the span goes on.
    ahead = lattice.weights[places] * lattice.backward[places]
    longer = np.zeros_like(alive)
    longer[inside] = (alive[inside] / (ahead @ between.T)) @ (between * _continues(lattice.chain.tags)) * ahead
    return longer


@lru_cache(maxsize=8)
def _continues(tags: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether the second tag continues the span of the first, as in `decode`; of shape `(L, L)`."""
    of_label = _labels(tags)[1]
    found = np.zeros((len(tags), len(tags)), dtype=np.bool_)
    for i, j in np.argwhere(of_label @ of_label.T).tolist():
        # BIOES decodes the tags of both schemes.
        found[i, j] = len(decode([tags[i], tags[j]], scheme="BIOES")) == 1
    return found


@lru_cache(maxsize=8)
def _labels(tags: tuple[str, ...]) -> tuple[list[str], Floats]:
    """The labels, sorted, and the label of each tag as 0 or 1, of shape `(L, n_labels)`."""
    names = [tag.partition("-")[2] for tag in tags]
    labels = sorted(set(names) - {""})
    return labels, np.array([[float(name == label) for label in labels] for name in names]).reshape(len(tags), -1)
