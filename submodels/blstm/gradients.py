"""The loss of the BLSTM-CNN-CRF network and its gradient, in NumPy, for training on a processor.

    batch = FlatBatch.of(ranges, notes, characters)
    loss, gradients = loss_and_gradients(weights, batch, sizes)
    loss.of_rows                    what the tags of each row cost
    gradients.dense["dense"]        of the shape of the weight
    gradients.words                 Rows(ids, values): of the words of the batch alone

The network is that of `submodels.blstm.network` in Keras; a test compares them. Tokens lie end to end, so nothing is
computed for padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from phistack.features.arrays import Floats, Floats32, Integers, Integers32
from phistack.submodels.blstm.layers import CharacterLstm, Spelling, TagLayers, WordPrediction
from phistack.submodels.blstm.lstm import BidirectionalLstm
from phistack.submodels.blstm.rows import EncodedNote, TokenRange
from phistack.submodels.blstm.weights import NetworkSizes, NetworkWeights
from phistack.submodels.chain.crf import Chain, Lines
from phistack.submodels.chain.lattice import Lattice


class Rows(NamedTuple):
    """A gradient that is zero but for some rows.

    :param ids: of the rows, sorted.
    :param values: of shape `(len(ids), size)`.
    """

    ids: Integers32
    values: Floats32


class Loss(NamedTuple):
    """What training minimises.

    :param total: mean of the tag sequences, with the loss of the second task.
    :param of_rows: the negative log-likelihood of the gold tags of each row, of shape `(n_rows,)`.
    """

    total: float
    of_rows: Floats


class Gradients(NamedTuple):
    """The gradient of the loss.

    :param dense: name of a weight -> its gradient.
    :param words: of the vectors of words.
    """

    dense: Mapping[str, Floats32]
    words: Rows


@dataclass(frozen=True)
class FlatBatch:
    """The tokens of some rows, end to end.

    :param words: ids, of shape `(n,)`.
    :param spellings: places in `characters`, of shape `(n,)`.
    :param characters: of the distinct words, of shape `(n_words, n_characters)`.
    :param features: value ids, of shape `(n, n_columns)`.
    :param tags: ids, of shape `(n,)`.
    :param rows: each is one sequence for the LSTM.
    :param sequences: where tag sequences begin, and `n` at the end.
    :param states: of the language models, of shape `(n, n_states)`.
    """

    words: Integers32 = field(repr=False)
    spellings: Integers = field(repr=False)
    characters: Integers32 = field(repr=False)
    features: Integers32 = field(repr=False)
    tags: Integers32 = field(repr=False)
    rows: Lines
    sequences: Integers = field(repr=False)
    states: Floats32 = field(repr=False)

    @classmethod
    def of(cls, ranges: Sequence[TokenRange], notes: Sequence[EncodedNote], characters: Integers32) -> Self:
        """Some rows of notes; `characters` is the spelling of all words, as `Encoder.spell` gives it."""
        parts = [(notes[number], slice(first, last)) for number, first, last in ranges]
        bounds = np.cumsum([0, *(part.stop - part.start for _, part in parts)])
        lines = [
            note.lines[(note.lines > part.start) & (note.lines < part.stop)] - part.start + begin
            for (note, part), begin in zip(parts, bounds[:-1], strict=True)
        ]
        words, spellings, features, tags = (
            np.concatenate([getattr(note, name)[part] for note, part in parts])
            for name in ("words", "spellings", "features", "tags")
        )
        distinct, places = np.unique(spellings, return_inverse=True)
        sequences = np.unique(np.concatenate([bounds, *lines]))
        states = np.concatenate([note.states_of(part) for note, part in parts])
        rows = Lines.of(bounds, len(words))
        return cls(words, places, characters[distinct], features, tags, rows, sequences, states)


def loss_and_gradients(
    weights: NetworkWeights,
    batch: FlatBatch,
    sizes: NetworkSizes,
    *,
    dropout: float = 0.0,
    locked: bool = False,
    generator: np.random.Generator | None = None,
    prediction: WordPrediction | None = None,
) -> tuple[Loss, Gradients]:
    """What training minimises, and its gradient.

    :param dropout: rate for the input of the LSTM and for its output.
    :param locked: whether dropout sets the same numbers to zero at all tokens of a row (Gal and Ghahramani 2016).
    :param generator: for dropout.
    :param prediction: a second task, whose loss is added.
    """
    n = len(batch.words)
    # (n, word + spelling + columns * feature + states): the vectors of word, spelling and all feature values and the
    # states of language models, side by side; with a feature layer, the features follow after the LSTM.
    spelling: Spelling | CharacterLstm
    if sizes.character_lstm:
        spelling = CharacterLstm.of(batch.characters, weights)
    else:
        spelling = Spelling.of(batch.characters, weights, sizes.kernels)
    values = weights["feature"][batch.features].reshape(n, -1)
    vectors = [weights["word"][batch.words], spelling.vectors[batch.spellings]]
    vectors += [*([] if sizes.feature_layer else [values]), batch.states]
    rows = batch.rows if locked else None
    inputs, kept_inputs = _dropped(np.concatenate(vectors, axis=1), dropout, generator, rows)
    lstm = BidirectionalLstm.run(inputs, batch.rows, weights)
    output, kept_output = _dropped(lstm.output, dropout, generator, rows)
    # (n, n_tags): the scores of the tags; their gradient is the probability of each tag, less 1 for the gold one.
    layers = TagLayers.of(output, values, weights)
    tags_loss = _tags_loss if sizes.chain else _softmax_loss
    of_rows, of_scores, gradients = tags_loss(layers.scores, batch, weights)
    loss = float(of_rows.sum())
    of_output, after, of_layers = layers.back(of_scores, weights)
    gradients |= of_layers
    if prediction is not None:
        other, of_states, more = prediction.loss_and_gradients(output, batch.words, batch.rows.first, weights)
        loss, of_output, gradients = loss + other, of_output + of_states, gradients | more
    of_inputs, of_lstm = lstm.back(of_output * kept_output, weights)
    of_inputs *= kept_inputs
    edges = np.cumsum([part.shape[1] for part in vectors[:-1]])
    of_words, of_spelling, *before, _ = np.split(of_inputs, edges, axis=1)
    of_values = np.ascontiguousarray(before[0] if after is None else after)
    of_vectors = added_up(batch.spellings, of_spelling, len(spelling.vectors))
    of_feature = added_up(batch.features.ravel(), of_values.reshape(-1, sizes.feature), sizes.values)
    gradients |= {**of_lstm, **spelling.back(of_vectors, weights), "feature": of_feature}
    ids, places = np.unique(batch.words, return_inverse=True)
    share = np.float32(1 / (len(batch.sequences) - 1))
    dense = {name: gradient * share for name, gradient in gradients.items()}
    gradient_of_words = Rows(ids, added_up(places, of_words, len(ids)) * share)
    return Loss(loss * float(share), of_rows), Gradients(dense, gradient_of_words)


def _dropped(
    values: Floats32, rate: float, generator: np.random.Generator | None, rows: Lines | None
) -> tuple[Floats32, Floats32]:
    """The values with some set to zero and the others raised, and the factors.

    :param rows: within which the same numbers are set to zero at all tokens; `None` to draw for each token.
    """
    if not rate or generator is None:
        return values, np.ones((1, 1), dtype=np.float32)
    shape = values.shape if rows is None else (len(rows.first), values.shape[1])
    kept = (generator.random(shape, dtype=np.float32) >= rate) * np.float32(1 / (1 - rate))
    kept = kept if rows is None else kept[rows.line]
    return values * kept, kept


def _tags_loss(
    scores: Floats32, batch: FlatBatch, weights: NetworkWeights
) -> tuple[Floats, Floats32, dict[str, Floats32]]:
    """The negative log-likelihood of the gold tags of each row, its gradient by the scores, and by the chain's weights.

    A gradient is the expected counts less the observed ones (Lafferty, McCallum and Pereira 2001).
    """
    names = ("transitions", "start", "end")
    chain = Chain(tuple(map(str, range(scores.shape[1]))), *(weights[name].astype(np.float64) for name in names))
    lattice, tags = Lattice.over(chain, scores, batch.sequences), batch.tags.astype(np.int64)
    of_scores = lattice.marginals().astype(np.float32)
    of_start, of_end = (of_scores[tokens].sum(axis=0) for tokens in (lattice.lines.first, lattice.lines.last))
    of_transitions = lattice.expected_transitions()
    of_scores[np.arange(len(tags)), tags] -= 1
    np.subtract.at(of_start, tags[lattice.lines.first], 1)
    np.subtract.at(of_end, tags[lattice.lines.last], 1)
    pairs = np.setdiff1d(np.arange(len(tags) - 1), lattice.lines.last)
    np.subtract.at(of_transitions, (tags[pairs], tags[pairs + 1]), 1)
    of_sequences = lattice.log_z - lattice.path_scores(tags)
    gradients = (of_transitions.astype(np.float32), of_start, of_end)
    losses = _by_row(batch.rows, lattice.lines.first, of_sequences)
    return losses, of_scores, dict(zip(names, gradients, strict=True))


def _softmax_loss(
    scores: Floats32, batch: FlatBatch, weights: NetworkWeights
) -> tuple[Floats, Floats32, dict[str, Floats32]]:
    """The same without a chain: the cross-entropy of each token."""
    tokens = np.arange(len(scores))
    below_best = (scores - scores.max(axis=1, keepdims=True)).astype(np.float64)
    log_z = np.log(np.exp(below_best).sum(axis=1))
    of_scores = np.exp(below_best - log_z[:, None]).astype(np.float32)
    of_scores[tokens, batch.tags] -= 1
    return _by_row(batch.rows, tokens, log_z - below_best[tokens, batch.tags]), of_scores, {}


def _by_row(rows: Lines, tokens: Integers, losses: Floats) -> Floats:
    """The sums over each row, of shape `(n_rows,)`, in the order of the text; `Lines` has the longest row first.

    :param tokens: one of each loss.
    """
    return np.bincount(rows.line[tokens], losses).astype(np.float64)[np.argsort(rows.first)]


def added_up(ids: Integers | Integers32, rows: Floats32, n: int) -> Floats32:
    """The sum of the rows of each id, of shape `(n, size)`."""
    from scipy.sparse import csr_array

    order = np.argsort(ids, kind="stable")
    begins = np.searchsorted(ids[order], np.arange(n + 1))
    summed: Floats32 = csr_array((np.ones(len(ids), dtype=np.float32), order, begins), shape=(n, len(ids))) @ rows
    return summed
