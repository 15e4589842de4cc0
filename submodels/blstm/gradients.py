"""The loss of the BLSTM-CNN-CRF network and its gradient, in NumPy, for training on a processor.

    batch = FlatBatch(ranges, notes, characters)
    loss, of_rows, gradients = loss_and_gradients(weights, batch)
    of_rows                         what the tags of each row cost
    gradients.dense["dense"]        of the shape of the weight
    gradients.words                 of the words `gradients.ids`, those of the batch

    word embedding ─┐
    character CNN  ─┼─ dropout ─ bidirectional LSTM ─ dropout ─ dense ─ emissions ─ CRF
    feature embeddings ─┘

Ma and Hovy 2016, with an embedding of each feature column added to the input as in Zhao 2020. As in Liu 2017, an LSTM
may read the characters, and a hidden layer may join the features to the states after the LSTM. Tokens lie end to end,
so nothing is computed for padding. TensorFlow may read the input up to the LSTM; a test compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from phistack.features.arrays import Floats, Floats32, Integers, Integers32
from phistack.submodels.blstm.layers import WordPrediction, scored, spelled
from phistack.submodels.blstm.lstm import BidirectionalLstm
from phistack.submodels.blstm.rows import EncodedNote, TokenRange
from phistack.submodels.blstm.weights import NetworkWeights
from phistack.submodels.chain.crf import Chain, Lines
from phistack.submodels.chain.lattice import Lattice


class Gradients(NamedTuple):
    """The gradient of the loss.

    :param dense: name of a weight -> its gradient.
    :param ids: of words, sorted.
    :param words: the gradient of the vectors of these, `(len(ids), size)`; that of all others is zero.
    """

    dense: Mapping[str, Floats32]
    ids: Integers32
    words: Floats32


class FlatBatch:
    """The tokens of some rows of notes, end to end.

    :param ranges: the rows, each a sequence for the LSTM.
    :param characters: the spelling of all words, as `Encoder.spell` gives it.
    """

    def __init__(self, ranges: Sequence[TokenRange], notes: Sequence[EncodedNote], characters: Integers32) -> None:
        parts = [(notes[number], slice(first, last)) for number, first, last in ranges]
        bounds = np.cumsum([0, *(part.stop - part.start for _, part in parts)])
        # (n,), (n, n_columns) and (n,): ids.
        self.words, self.features, self.tags, spellings = (
            np.concatenate([getattr(note, name)[part] for note, part in parts])
            for name in ("words", "features", "tags", "spellings")
        )
        # (n_words, n_characters): of the distinct words, into which `spellings`, (n,), are indices.
        distinct, self.spellings = np.unique(spellings, return_inverse=True)
        self.characters = characters[distinct]
        # (n, n_states): of the language models.
        self.states: Floats32 = np.concatenate([note.states_of(part) for note, part in parts])
        self.rows = Lines.of(bounds, len(self.words))
        lines = [
            note.lines[(note.lines > part.start) & (note.lines < part.stop)] - part.start + begin
            for (note, part), begin in zip(parts, bounds[:-1], strict=True)
        ]
        # Where tag sequences begin, and `n` at the end.
        self.sequences: Integers = np.unique(np.concatenate([bounds, *lines]))


ReadBack = Callable[[Floats32], tuple[Floats32, Floats32, dict[str, Floats32]]]
Read = Callable[[NetworkWeights, FlatBatch, Floats32, Floats32, Floats32], tuple[Floats32, ReadBack]]
"""A function like `read`; `submodels.blstm.tensorflow_reading` has another."""


def read(
    weights: NetworkWeights, batch: FlatBatch, before: Floats32, after: Floats32, kept: Floats32
) -> tuple[Floats32, ReadBack]:
    """The LSTM's output over word vectors, spellings and all else, side by side.

    :param before: the vectors of words, of shape `(n, size)`.
    :param after: all that follows the spellings in the input, of shape `(n, length)`.
    :param kept: factors of the input.
    :returns: the output, of shape `(n, 2 * units)`, and a function from its gradient to those of `before`, `after` and
        the weights of LSTM and spellings by name.
    """
    vectors, spelling_back = spelled(batch.characters, weights)
    inputs = np.concatenate([before, vectors[batch.spellings], after], axis=1) * kept
    lstm = BidirectionalLstm(inputs, batch.rows, weights)

    def back(of_output: Floats32) -> tuple[Floats32, Floats32, dict[str, Floats32]]:
        of_inputs, of_lstm = lstm.back(of_output, weights)
        of_inputs *= kept
        edges = np.cumsum([before.shape[1], vectors.shape[1]])
        of_before, of_spellings, of_after = np.split(of_inputs, edges, axis=1)
        of_vectors = added_up(batch.spellings, of_spellings, len(vectors))
        return of_before, of_after, {**of_lstm, **spelling_back(of_vectors)}

    return lstm.output, back


def loss_and_gradients(
    weights: NetworkWeights,
    batch: FlatBatch,
    *,
    dropout: float = 0.0,
    locked: bool = False,
    generator: np.random.Generator | None = None,
    prediction: WordPrediction | None = None,
    read: Read = read,
) -> tuple[float, Floats, Gradients]:
    """What training minimises, and its gradient.

    :param dropout: rate for the input of the LSTM and for its output.
    :param locked: whether dropout sets the same numbers to zero at all tokens of a row (Gal and Ghahramani 2016).
    :param generator: for dropout.
    :param prediction: a second task, whose loss is added.
    :param read: computes the output of the LSTM.
    :returns: the mean loss of the tag sequences, with that of the second task; the negative log-likelihood of the gold
        tags of each row, of shape `(n_rows,)`; the gradient of the loss.
    """
    # (n, columns * feature): with a feature layer, the features follow after the LSTM, otherwise it reads them.
    values = weights["feature"][batch.features].reshape(len(batch.words), -1)
    before = weights["word"][batch.words]
    after = np.concatenate([*([] if "hidden" in weights else [values]), batch.states], axis=1)
    units = weights["forward_bias"].size // 4
    lengths = (len(weights["forward"]) - units, 2 * units)
    kept_inputs, kept_output = (_kept(batch.rows, length, dropout, generator, locked=locked) for length in lengths)
    output, read_back = read(weights, batch, before, after, kept_inputs)
    output = output * kept_output
    # (n, n_tags): the scores of the tags; their gradient is the probability of each tag, minus 1 for the gold one.
    scores, tags_back = scored(output, values, weights)
    of_rows, of_scores, gradients = (_tags_loss if "transitions" in weights else _softmax_loss)(scores, batch, weights)
    loss = float(of_rows.sum())
    of_output, of_values, of_layers = tags_back(of_scores)
    gradients |= of_layers
    if prediction is not None:
        other, of_states, more = prediction.loss_and_gradients(output, batch.words, batch.rows.first, weights)
        loss, of_output, gradients = loss + other, of_output + of_states, gradients | more
    of_words, of_after, of_reading = read_back(of_output * kept_output)
    of_values = np.ascontiguousarray(of_after[:, : values.shape[1]] if of_values is None else of_values)
    n_values, size = weights["feature"].shape
    of_feature = added_up(batch.features.ravel(), of_values.reshape(-1, size), n_values)
    gradients |= {**of_reading, "feature": of_feature}
    ids, places = np.unique(batch.words, return_inverse=True)
    share = np.float32(1 / (len(batch.sequences) - 1))
    dense = {name: gradient * share for name, gradient in gradients.items()}
    return loss * float(share), of_rows, Gradients(dense, ids, added_up(places, of_words, len(ids)) * share)


def _kept(rows: Lines, length: int, rate: float, generator: np.random.Generator | None, *, locked: bool) -> Floats32:
    """The factors of dropout, of shape `(n, length)`: 0 for dropped numbers, more than 1 for the rest."""
    if not rate or generator is None:
        return np.ones((1, 1), dtype=np.float32)
    shape = (len(rows.first) if locked else len(rows.line), length)
    kept = (generator.random(shape, dtype=np.float32) >= rate) * np.float32(1 / (1 - rate))
    return kept[rows.line] if locked else kept


def _tags_loss(
    scores: Floats32, batch: FlatBatch, weights: NetworkWeights
) -> tuple[Floats, Floats32, dict[str, Floats32]]:
    """The negative log-likelihood of the gold tags of each row, its gradient by the scores, and by the chain's weights.

    A gradient is the expected counts minus the observed ones (Lafferty, McCallum and Pereira 2001).
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

    :param tokens: for each loss, a token of its row.
    """
    return np.bincount(rows.line[tokens], losses).astype(np.float64)[np.argsort(rows.first)]


def added_up(ids: Integers | Integers32, rows: Floats32, n: int) -> Floats32:
    """The sum of the rows of each id, of shape `(n, size)`."""
    from scipy.sparse import csr_array

    order = np.argsort(ids, kind="stable")
    begins = np.searchsorted(ids[order], np.arange(n + 1))
    summed: Floats32 = csr_array((np.ones(len(ids), dtype=np.float32), order, begins), shape=(n, len(ids))) @ rows
    return summed
