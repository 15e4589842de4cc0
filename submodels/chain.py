"""Inference in a linear-chain conditional random field: the best tags, and how probable tags and spans are.

    chain = Chain(("O", "B-AGE", "I-AGE"), transitions, start, end).constrained("BIO")
    chain.best_path(emissions)          (n,) indices of tags
    chain.marginals(emissions)          (n, L) probability of each tag at each token
    chain.spans(emissions, 0.05)        [(3, 5, "AGE", 0.91), ...]: tokens 3 and 4, and no other, are one age

A tag sequence y of a sentence has the score `start[y_1] + sum of transitions[y_i, y_i+1] + sum of emissions[i, y_i] +
end[y_n]`, and its probability is proportional to exp(score) (Lafferty, McCallum and Pereira 2001). Sums over all
sequences are taken by the forward-backward algorithm, in log space. What a tag sequence says is what
`features.tags.decode` reads from it.

Every method works on one sentence, or on many laid end to end: `bounds` is then the index of the first token of each
sentence, followed by the number of tokens, as in `FeatureTable.sentences`. The CRF and the BLSTM-CNN-CRF share this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from features.documents import Span
from features.errors import SettingsError
from features.table import FeatureTable
from features.tags import OUTSIDE, SCHEMES, decode
from submodels.base import Candidate

__all__ = ["IMPOSSIBLE", "Chain", "TokenSpan", "line_bounds", "propose"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TokenSpan = tuple[int, int, str]
"""First token, token after the last, label."""

IMPOSSIBLE = -10_000.0
"""The score of a transition that a tagging scheme forbids."""

# exp of this is still above zero, so that a sum over sequences is never the logarithm of zero.
_SMALLEST = -500.0


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

    def best_path(self, emissions: ArrayLike, bounds: ArrayLike | None = None) -> Integers:
        """The most probable tags (Viterbi 1967).

        :param emissions: score of each tag at each token, of shape `(n, L)`.
        :param bounds: where sentences begin, of shape `(n_sentences + 1,)`; one sentence if not given.
        :returns: indices of tags, of shape `(n,)`.
        """
        scores = np.array(emissions, dtype=np.float64)
        sentences = _Sentences.of(bounds, len(scores))
        from_tag = np.zeros(scores.shape, dtype=np.int64)
        scores[sentences.first] += self.start
        for now in sentences.later:
            arriving = scores[now - 1][:, :, None] + self.transitions
            from_tag[now] = arriving.argmax(axis=1)
            scores[now] += arriving.max(axis=1)
        path = np.zeros(len(scores), dtype=np.int64)
        path[sentences.last] = (scores[sentences.last] + self.end).argmax(axis=1)
        for now in reversed(sentences.later):
            path[now - 1] = from_tag[now, path[now]]
        return path

    def log_partition(self, emissions: ArrayLike) -> float:
        """The logarithm of the sum of exp(score) over all tag sequences of one sentence; 0 for an empty one."""
        lattice = _Lattice.of(self, emissions, None)
        return float(lattice.log_z[0]) if len(lattice.log_z) else 0.0

    def marginals(self, emissions: ArrayLike, bounds: ArrayLike | None = None) -> Floats:
        """The probability of each tag at each token, of shape `(n, L)`; parameters as for `best_path`."""
        lattice = _Lattice.of(self, emissions, bounds)
        return np.exp(lattice.forward + lattice.backward - lattice.log_z[:, None])

    def spans(
        self,
        emissions: ArrayLike,
        threshold: float,
        bounds: ArrayLike | None = None,
        *,
        always: Collection[TokenSpan] = (),
    ) -> list[tuple[int, int, str, float]]:
        """Spans and the exact probability that the tags say this span: it begins here, ends there, and is one.

        A span is as probable as that it begins and goes on up to its last token, less that it goes on beyond.

        :param threshold: in (0, 1]; the least probability of interest.
        :param always: spans that are wanted whatever their probability; they have to lie within one sentence.
        :returns: first token, token after the last, label, probability; sorted.
        """
        lattice = _Lattice.of(self, emissions, bounds)
        return sorted(lattice.spans(threshold, frozenset(always)))


def propose(
    chain: Chain,
    emissions: ArrayLike,
    table: FeatureTable,
    source: str,
    threshold: float = 0.05,
    *,
    bounds: NDArray[np.integer[Any]] | None = None,
) -> list[Candidate]:
    """The candidates of one note: the spans of the best path, and the other spans that are probable enough.

    :param emissions: score of each tag at each token of the note, of shape `(n_tokens, L)`.
    :param source: the name of the submodel.
    :param threshold: the least probability of a span off the best path.
    :param bounds: where the model's sequences begin, such as `line_bounds`; the table's sentences if not given.
    :returns: sorted by place and label; the score is the span's probability, `chosen` are those on the best path.
    """
    sequences = table.sentences if bounds is None else bounds
    path = chain.best_path(emissions, sequences)
    chosen = set(_decoded(chain.tags, path, sequences.tolist()))
    starts, ends = table.offsets
    return [
        Candidate(
            Span(int(starts[first]), int(ends[last - 1]), label), source, probability, (first, last, label) in chosen
        )
        for first, last, label, probability in chain.spans(emissions, threshold, sequences, always=chosen)
    ]


def line_bounds(table: FeatureTable) -> NDArray[np.int32]:
    """The sentences of a note, those of one line joined, as bounds.

    An abbreviation within an address is easily taken for the end of a sentence, and no tag sequence can then say the
    whole address; a chain can take the line at once, as its cost grows with the number of tokens only.

    :returns: of shape `(n_sequences + 1,)`.
    """
    text, (starts, ends) = table.document.text, table.offsets
    inner = table.sentences[1:-1].tolist()
    gaps = [text[ends[i - 1] : starts[i]] for i in inner]
    kept = [i for i, gap in zip(inner, gaps, strict=True) if "\n" in gap or "\r" in gap]
    return np.array([*table.sentences[:1], *kept, *table.sentences[1:][-1:]], dtype=np.int32)


def _decoded(tags: tuple[str, ...], path: Integers, bounds: list[int]) -> Iterator[TokenSpan]:
    """The spans of a best path; none runs from one sentence into the next."""
    names = [tags[i] for i in path.tolist()]
    for begin, stop in pairwise(bounds):
        for first, last, label in decode(names[begin:stop], scheme="BIOES"):
            yield begin + first, begin + last, label


@dataclass(frozen=True, eq=False)
class _Sentences:
    """Sentences laid end to end, the longest first, so that the i-th tokens of all that have one are a prefix.

    :param first: index of the first token of each sentence.
    :param last: index of the last token of each sentence.
    :param later: the second tokens of all sentences that have one, then the third tokens, and so on.
    """

    first: Integers
    last: Integers
    later: list[Integers]

    @classmethod
    def of(cls, bounds: ArrayLike | None, n_tokens: int) -> _Sentences:
        edges = np.array([0, n_tokens] if bounds is None else bounds, dtype=np.int64)
        lengths = np.diff(edges)
        if len(edges) == 0 or edges[0] != 0 or edges[-1] != n_tokens or (lengths < 0).any():
            raise SettingsError(f"the sentence bounds do not cut {n_tokens} tokens into sentences")
        order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        first, last = edges[:-1][order], edges[1:][order] - 1
        offsets = np.arange(1, lengths.max(initial=1))
        numbers = len(order) - np.sort(lengths[order]).searchsorted(offsets, side="right")
        return cls(first, last, [first[:n] + i for i, n in zip(offsets.tolist(), numbers.tolist(), strict=True)])


@dataclass(frozen=True, eq=False)
class _Lattice:
    """What forward-backward leaves; all arrays of shape `(n, L)` but the last two.

    :param forward: log sum over the tags up to a token, its own emission included.
    :param backward: log sum over the tags after a token.
    :param begun: the part of `forward` in which a span begins at the token.
    :param ahead: emissions + backward.
    :param log_z: log partition of each token's sentence, of shape `(n,)`.
    :param stop: index after the last token of each token's sentence, of shape `(n,)`.
    """

    chain: Chain
    forward: Floats
    backward: Floats
    begun: Floats
    ahead: Floats
    log_z: Floats
    stop: Integers

    @classmethod
    def of(cls, chain: Chain, emissions: ArrayLike, bounds: ArrayLike | None) -> _Lattice:
        scores = np.array(emissions, dtype=np.float64)
        sentences = _Sentences.of(bounds, len(scores))
        forward, begun = _forward(chain, scores, sentences)
        backward = _backward(chain, scores, sentences)
        finals, largest = _scaled(forward[sentences.last] + chain.end)
        log_z, stop = np.zeros(len(scores)), np.zeros(len(scores), dtype=np.int64)
        log_partitions = np.log(finals.sum(axis=1)) + largest[:, 0]
        for first, last, value in zip(sentences.first, sentences.last, log_partitions, strict=True):
            log_z[first : last + 1], stop[first : last + 1] = value, last + 1
        return cls(chain, forward, backward, begun, scores + backward, log_z, stop)

    def spans(self, threshold: float, always: frozenset[TokenSpan]) -> Iterator[tuple[int, int, str, float]]:
        """See `Chain.spans`; `alive[i, t]` is the probability that the i-th span considered is still going on in t."""
        labels, of_label = _labels(self.chain.tags)
        wanted_until = np.zeros(len(self.stop), dtype=np.int64)
        for begin, stop, _ in always:
            wanted_until[begin] = max(wanted_until[begin], stop)
        alive = np.exp(self.begun + self.backward - self.log_z[:, None])
        masses = alive @ of_label
        first: Integers = np.arange(len(self.stop), dtype=np.int64)
        last: Integers = first + 1
        while len(first):
            kept = (masses.max(axis=1, initial=0.0) >= threshold) | (wanted_until[first] >= last)
            first, last, alive, masses = first[kept], last[kept], alive[kept], masses[kept]
            alive = self._extended(alive, last)
            longer = alive @ of_label
            for row, column in np.argwhere(masses > 0).tolist():
                span = (int(first[row]), int(last[row]), labels[column])
                probability = float(masses[row, column] - longer[row, column])
                if probability >= threshold or span in always:
                    yield *span, min(max(probability, 0.0), 1.0)
            last, masses = last + 1, longer

    def _extended(self, alive: Floats, last: Integers) -> Floats:
        """The probabilities of the same spans going on in the token `last`, which is beyond the sentence for some."""
        sources, targets = np.nonzero(_continues(self.chain.tags))
        inside = last < self.stop[last - 1]
        then = np.where(inside, last, last - 1)
        step = self.chain.transitions[sources, targets] + self.ahead[then][:, targets]
        step -= self.backward[last - 1][:, sources]
        onwards = alive[:, sources] * np.exp(np.minimum(step, 0.0)) * inside[:, None]
        return onwards @ np.eye(len(self.chain.tags))[targets]


def _forward(chain: Chain, scores: Floats, sentences: _Sentences) -> tuple[Floats, Floats]:
    """`forward` and `begun` of the lattice."""
    weights = np.exp(np.maximum(chain.transitions, _SMALLEST))
    begin_weights = weights * ~_continues(chain.tags)
    forward = scores.copy()
    forward[sentences.first] += chain.start
    begun = forward.copy()
    for now in sentences.later:
        arriving, largest = _scaled(forward[now - 1])
        forward[now] += np.log(arriving @ weights) + largest
        with np.errstate(divide="ignore"):  # a tag to which only its own span leads begins none
            begun[now] += np.log(arriving @ begin_weights) + largest
    return forward, begun


def _backward(chain: Chain, scores: Floats, sentences: _Sentences) -> Floats:
    """`backward` of the lattice."""
    weights = np.exp(np.maximum(chain.transitions, _SMALLEST)).T
    backward = np.zeros_like(scores)
    backward[sentences.last] = chain.end
    for now in reversed(sentences.later):
        leaving, largest = _scaled(scores[now] + backward[now])
        backward[now - 1] = np.log(leaving @ weights) + largest
    return backward


def _scaled(logs: Floats) -> tuple[Floats, Floats]:
    """exp of rows, each divided by its largest value, and the logarithms of these, of shape `(n, 1)`."""
    largest = logs.max(axis=1, keepdims=True, initial=-np.inf)
    return np.exp(logs - largest), largest


@lru_cache(maxsize=8)
def _continues(tags: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether the second tag goes on with the span of the first, as `decode` reads them; of shape `(L, L)`."""
    found = np.zeros((len(tags), len(tags)), dtype=np.bool_)
    for i, first in enumerate(tags):
        for j, second in enumerate(tags):
            # BIOES reads the tags of both schemes.
            found[i, j] = OUTSIDE not in (first, second) and len(decode([first, second], scheme="BIOES")) == 1
    return found


def _labels(tags: tuple[str, ...]) -> tuple[list[str], Floats]:
    """The labels, sorted, and which tag has which, of shape `(L, n_labels)`."""
    names = [tag.partition("-")[2] for tag in tags]
    labels = sorted(set(names) - {""})
    return labels, np.array([[float(name == label) for label in labels] for name in names]).reshape(len(tags), -1)
