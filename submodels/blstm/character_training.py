"""Training of character language models on sentences.

    models = train_models(sentences, LanguageModelPlan(units=128), seed=1)
    perplexity(models, others)

The forward LSTM predicts each character from those before it, the backward LSTM from those after it. LSTM, loss and
Adam are those of the tagging network (`submodels.blstm.lstm`, `word_prediction`, `optimisers`), over characters instead
of words.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from phistack.features.arrays import Integers32
from phistack.features.character_models import UNKNOWN, CharacterModels, model_shapes
from phistack.features.errors import TrainingError
from phistack.features.reporting import report
from phistack.submodels.blstm.gradients import Gradients, added_up
from phistack.submodels.blstm.layers import WordPrediction
from phistack.submodels.blstm.lstm import BidirectionalLstm
from phistack.submodels.blstm.optimisers import Adam, Rates
from phistack.submodels.blstm.rows import batches_of
from phistack.submodels.blstm.weights import first_weights
from phistack.submodels.chain.crf import Lines

_LOG = logging.getLogger("phistack")
_CLIP = 1.0
_AVERAGE = 0.99
_LONGEST_ROW = 250
"""In characters; a longer sentence is read in several rows."""
_BATCHES_OF_AN_EPOCH, _SMALLEST_BATCH, _LARGEST_BATCH = 100, 512, 4096
"""With little text, batches are made small enough for about this many; the sizes are in characters."""
_UNKNOWN_SHARE = 0.001
"""Share of characters read as unknown, so the models learn to read unknown ones."""


@dataclass(frozen=True, slots=True)
class LanguageModelPlan:
    """How language models are trained.

    :param units: of the LSTM in each direction; Akbik 2018 has 2048.
    :param vector: length of a character's vector.
    :param epochs: passes over the sentences.
    :param learning_rate: the highest; it rises and falls.
    :param least_count: characters that occur less often are unknown.
    """

    units: int = 128
    vector: int = 32
    epochs: int = 10
    learning_rate: float = 0.006
    least_count: int = 3


def train_models(
    sentences: Sequence[str], plan: LanguageModelPlan, *, seed: int, reported: Callable[[float, str], None] = report
) -> CharacterModels:
    """Train both models.

    :param reported: is called before each step with the share done and a description.
    :raises TrainingError: if no character occurs often enough.
    """
    counts = Counter[str]()
    for sentence in sentences:
        counts.update(sentence)
    characters = sorted(character for character, n in counts.items() if n >= plan.least_count)
    if not characters:
        raise TrainingError(f"no character occurs {plan.least_count} times in the notes; give more notes")
    shapes = model_shapes(len(characters) + 2, plan.vector, plan.units)
    models = CharacterModels(characters, first_weights(shapes, seed))
    generator = np.random.default_rng(seed)
    adam = Adam(models.weights, _CLIP)
    task = WordPrediction(np.arange(len(characters) + 2, dtype=np.int32), 1.0)
    rows = _rows(models, sentences)
    n_of_batch = min(_LARGEST_BATCH, max(_SMALLEST_BATCH, sum(map(len, rows)) // _BATCHES_OF_AN_EPOCH))
    rates = Rates("rise and fall", plan.learning_rate)
    done = 0
    for epoch in range(plan.epochs):
        batches = _batches([rows[i] for i in generator.permutation(len(rows))], n_of_batch)
        batches = [batches[i] for i in generator.permutation(len(batches))]
        lost = n_asked = 0.0
        for place, batch in enumerate(batches):
            share = (epoch + place / len(batches)) / plan.epochs
            reported(share, f"epoch {epoch + 1} of {plan.epochs}")
            ids = np.concatenate(batch)
            ids = np.where(generator.random(len(ids)) < _UNKNOWN_SHARE, np.int32(UNKNOWN), ids)
            loss, gradients = _loss_and_gradients(adam, task, ids, batch)
            adam.step(gradients, rate=rates.at(share), kept=min(_AVERAGE, done / (done + 10)))
            done, lost, n_asked = done + 1, lost + loss, n_asked + 2 * (len(ids) - len(batch))
        _LOG.info("language models: epoch %d of %d, perplexity %.2f", epoch + 1, plan.epochs, np.exp(lost / n_asked))
    return CharacterModels(characters, dict(adam.averaged()))


def perplexity(models: CharacterModels, sentences: Sequence[str]) -> float:
    """The models' perplexity on sentences: exp of the mean loss of both directions.

    :raises TrainingError: if there is no sentence.
    """
    rows = _rows(models, sentences)
    if not rows:
        raise TrainingError("there is no sentence to measure language models on")
    task = WordPrediction(np.arange(len(models.characters) + 2, dtype=np.int32), 1.0)
    lost = n_asked = 0.0
    for batch in _batches(rows, 16_384):
        ids = np.concatenate(batch)
        lines = _lines(batch)
        output = BidirectionalLstm(models.weights["word"][ids], lines, models.weights).output
        lost += task.loss_and_gradients(output, ids, lines.first, models.weights)[0]
        n_asked += 2 * (len(ids) - len(batch))
    return float(np.exp(lost / n_asked))


def _loss_and_gradients(
    adam: Adam, task: WordPrediction, ids: Integers32, batch: Sequence[Integers32]
) -> tuple[float, Gradients]:
    """The loss of all characters of a batch, and the gradient of its mean."""
    adam.read(ids)
    lines, weights = _lines(batch), adam.weights
    lstm = BidirectionalLstm(weights["word"][ids], lines, weights)
    loss, of_output, of_task = task.loss_and_gradients(lstm.output, ids, lines.first, weights)
    of_inputs, of_lstm = lstm.back(of_output, weights)
    share = np.float32(1 / len(ids))
    distinct, places = np.unique(ids, return_inverse=True)
    of_characters = added_up(places, of_inputs, len(distinct)) * share
    dense = {name: gradient * share for name, gradient in {**of_task, **of_lstm}.items()}
    return loss, Gradients(dense, distinct, of_characters)


def _lines(batch: Sequence[Integers32]) -> Lines:
    bounds = np.cumsum([0, *map(len, batch)])
    return Lines.of(bounds, int(bounds[-1]))


def _rows(models: CharacterModels, sentences: Sequence[str]) -> list[Integers32]:
    """The ids of each sentence; one that is too long for a row is cut."""
    return [
        ids[first : first + _LONGEST_ROW]
        for ids in map(models.ids, sentences)
        for first in range(0, len(ids), _LONGEST_ROW)
        if len(ids) - first > 1
    ]


def _batches(rows: Sequence[Integers32], tokens: int) -> list[list[Integers32]]:
    """All rows, in batches of about the same length."""
    ranges = [(number, 0, len(row)) for number, row in enumerate(rows)]
    return [[rows[number] for number, _, _ in batch] for batch in batches_of(ranges, tokens=tokens)]
