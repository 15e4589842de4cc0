"""Training of character language models on sentences.

    models = train_models(sentences, LanguageModelPlan(units=128), seed=1)
    perplexity(models, others)         how many characters each state hesitates between, on average

Each character is foreseen by the forward LSTM from those before it and by the backward LSTM from those after it. LSTM,
loss and Adam are those of the tagging network (`submodels.blstm.lstm`, `word_prediction`, `adam`), read over characters
in the place of words.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from phistack.features.arrays import Floats32, Integers32
from phistack.features.character_models import UNKNOWN, CharacterModels, model_shapes
from phistack.features.errors import TrainingError
from phistack.features.reporting import report
from phistack.submodels.blstm.adam import Adam
from phistack.submodels.blstm.encoder import TokenRange, batches_of
from phistack.submodels.blstm.gradients import Gradients, Rows, added_up
from phistack.submodels.blstm.lstm import BidirectionalLstm
from phistack.submodels.blstm.schedules import rates_of
from phistack.submodels.blstm.weights import NetworkWeights
from phistack.submodels.blstm.word_prediction import WordPrediction
from phistack.submodels.chain.lines import Lines

_LOG = logging.getLogger("phistack")
_CLIP = 1.0
_AVERAGE = 0.99
_BATCHES_OF_AN_EPOCH, _SMALLEST_BATCH = 100, 512
_UNKNOWN_SHARE = 0.001
"""Share of characters read as unknown, so that the models have met such a one."""


@dataclass(frozen=True, slots=True)
class LanguageModelPlan:
    """How language models are trained.

    :param units: of the LSTM in each direction; Akbik 2018 has 2048.
    :param vector: length of a character's vector.
    :param epochs: passes over the sentences.
    :param longest: characters of a row; a longer sentence is read in several.
    :param batch_characters: of a batch; less where there is little text.
    :param learning_rate: the highest; it rises and falls.
    :param least_count: characters that occur less often are unknown.
    """

    units: int = 128
    vector: int = 32
    epochs: int = 10
    longest: int = 250
    batch_characters: int = 4096
    learning_rate: float = 0.006
    least_count: int = 3


def train_models(
    sentences: Sequence[str], plan: LanguageModelPlan, *, seed: int, reported: Callable[[float, str], None] = report
) -> CharacterModels:
    """Train both models.

    :param reported: is called before each step with the share that is done, and in words what is being done.
    :raises TrainingError: if no character occurs often enough.
    """
    counts = Counter[str]()
    for sentence in sentences:
        counts.update(sentence)
    characters = sorted(character for character, n in counts.items() if n >= plan.least_count)
    if not characters:
        raise TrainingError(f"no character occurs {plan.least_count} times in the notes; give more notes")
    models = CharacterModels(characters, _first_weights(len(characters) + 2, plan, seed))
    generator = np.random.default_rng(seed)
    adam = Adam(models.weights, _CLIP)
    task = WordPrediction(np.arange(len(characters) + 2, dtype=np.int32), 1.0)
    rows = _rows(models, sentences, plan.longest)
    n_of_batch = min(plan.batch_characters, max(_SMALLEST_BATCH, sum(map(len, rows)) // _BATCHES_OF_AN_EPOCH))
    rates = rates_of("rise and fall", highest=plan.learning_rate, patience=1, least=0.0)
    done = 0
    for epoch in range(plan.epochs):
        batches = _batches(rows, n_of_batch, generator)
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


def perplexity(models: CharacterModels, sentences: Sequence[str], *, longest: int = 250) -> float:
    """How many characters each state hesitates between: exp of the mean loss of both directions.

    :raises TrainingError: if there is no sentence.
    """
    rows = _rows(models, sentences, longest)
    if not rows:
        raise TrainingError("there is no sentence to measure language models on")
    task = WordPrediction(np.arange(len(models.characters) + 2, dtype=np.int32), 1.0)
    lost = n_asked = 0.0
    for ranges in batches_of(_ranges(rows), tokens=16_384):
        batch = [rows[number] for number, _, _ in ranges]
        ids = np.concatenate(batch)
        lines = _lines(batch)
        output = BidirectionalLstm.run(models.weights["word"][ids], lines, models.weights).output
        lost += task.loss_and_gradients(output, ids, lines.first, models.weights)[0]
        n_asked += 2 * (len(ids) - len(batch))
    return float(np.exp(lost / n_asked))


def _loss_and_gradients(
    adam: Adam, task: WordPrediction, ids: Integers32, batch: Sequence[Integers32]
) -> tuple[float, Gradients]:
    """The loss of all characters of a batch, and the gradient of its mean."""
    adam.read(ids)
    lines, weights = _lines(batch), adam.weights
    lstm = BidirectionalLstm.run(weights["word"][ids], lines, weights)
    loss, of_output, of_task = task.loss_and_gradients(lstm.output, ids, lines.first, weights)
    of_inputs, of_lstm = lstm.back(of_output, weights)
    share = np.float32(1 / len(ids))
    distinct, places = np.unique(ids, return_inverse=True)
    of_characters = added_up(places, of_inputs, len(distinct)) * share
    dense = {name: gradient * share for name, gradient in {**of_task, **of_lstm}.items()}
    return loss, Gradients(dense, Rows(distinct, of_characters))


def _lines(batch: Sequence[Integers32]) -> Lines:
    bounds = np.cumsum([0, *map(len, batch)])
    return Lines.of(bounds, int(bounds[-1]))


def _rows(models: CharacterModels, sentences: Sequence[str], longest: int) -> list[Integers32]:
    """The ids of each sentence, in pieces where it is too long for one row."""
    return [
        ids[first : first + longest]
        for ids in map(models.ids, sentences)
        for first in range(0, len(ids), longest)
        if len(ids) - first > 1
    ]


def _ranges(rows: Sequence[Integers32]) -> list[TokenRange]:
    return [(number, 0, len(row)) for number, row in enumerate(rows)]


def _batches(rows: Sequence[Integers32], tokens: int, generator: np.random.Generator) -> list[list[Integers32]]:
    """All rows, in batches of about the same length in random order."""
    ranges = _ranges(rows)
    batches = batches_of([ranges[i] for i in generator.permutation(len(ranges))], tokens=tokens)
    return [[rows[number] for number, _, _ in batches[i]] for i in generator.permutation(len(batches))]


def _first_weights(n_characters: int, plan: LanguageModelPlan, seed: int) -> NetworkWeights:
    """Random weights as those of the tagging network: uniform, 1 for the bias of forget gates and 0 for others."""
    random = np.random.default_rng(seed)
    weights: dict[str, Floats32] = {}
    for name, shape in model_shapes(n_characters, plan.vector, plan.units).items():
        if len(shape) == 1:
            weights[name] = np.repeat(np.array([0, 0, 1, 0], dtype=np.float32), plan.units)
        else:
            bound = np.sqrt(3 / shape[1] if name == "word" else 6 / sum(shape))
            weights[name] = random.uniform(-bound, bound, shape).astype(np.float32)
    return weights
