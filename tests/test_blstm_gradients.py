"""Training in NumPy, against Keras on TensorFlow: the loss, its gradient, and Adam."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.columns.settings import FeatureSettings
from features.columns.table import FeatureSpace
from features.documents import Document, Span
from features.errors import SettingsError
from submodels.blstm.adam import Adam
from submodels.blstm.encoder import EncodedNote, batch_of, with_characters
from submodels.blstm.gradients import FlatBatch, Gradients, Rows, loss_and_gradients
from submodels.blstm.keras_training import load_keras
from submodels.blstm.submodel import BlstmSubmodel
from submodels.blstm.weights import NetworkSizes
from submodels.blstm.word_prediction import PREDICTIONS, WordPrediction
from tests.invented_names import FEW_NAMES

ROOT = Path(__file__).parents[1]

SIZES = NetworkSizes(
    words=9,
    characters=7,
    values=8,
    columns=2,
    tags=5,
    word=6,
    character=3,
    kernels=(2, 3),
    channels=4,
    feature=2,
    lstm=5,
)


def drawn_note(lengths: list[int], random: np.random.Generator) -> EncodedNote:
    """A note of lines of such lengths, each a tag sequence."""
    n, bounds = sum(lengths), np.cumsum([0, *lengths]).astype(np.int32)
    words, tags, spellings = (random.integers(0, most, n).astype(np.int32) for most in (9, 5, 6))
    values = random.integers(0, 8, (n, 2)).astype(np.int32)
    return EncodedNote(words, spellings, values, bounds, bounds, tags)


@settings(max_examples=24, deadline=None)
@given(
    notes=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
    sizes=st.sampled_from(
        [
            SIZES,
            replace(SIZES, kernels=(), character_lstm=3),
            replace(SIZES, feature_layer=3),
            replace(SIZES, chain=False),
        ]
    ),
)
def test_loss_and_gradients_are_those_of_keras(notes: list[list[int]], seed: int, sizes: NetworkSizes) -> None:
    load_keras(1)
    import tensorflow as tf

    from submodels.blstm.network import TaggingNetwork

    random = np.random.default_rng(seed)
    drawn = [drawn_note(lengths, random) for lengths in notes]
    ranges = [(number, 0, len(note.words)) for number, note in enumerate(drawn)]
    characters = random.integers(0, 7, (6, 9)).astype(np.int32)
    prediction = WordPrediction.of(drawn, words=3, weight=0.4)
    network = TaggingNetwork(sizes, dropout=0.0, prediction=prediction, seed=seed % 1000)
    batch = with_characters(batch_of(ranges, drawn), characters)
    with tf.GradientTape() as tape:
        loss, of_rows = network.loss(batch)
    names = [*network.weights, *PREDICTIONS]
    variables = [variable.value for variable in network.trained]
    expected = dict(zip(names, map(tf.convert_to_tensor, tape.gradient(loss, variables)), strict=True))
    weights = {name: value.numpy() for name, value in zip(names, variables, strict=True)}
    found, gradients = loss_and_gradients(
        weights, FlatBatch.of(ranges, drawn, characters), sizes, prediction=prediction
    )
    assert found.total == pytest.approx(float(loss), rel=1e-4)
    assert np.allclose(found.of_rows, of_rows.numpy(), rtol=1e-3, atol=1e-3)
    of_words = np.zeros_like(weights["word"])
    of_words[gradients.words.ids] = gradients.words.values
    for name, gradient in {**gradients.dense, "word": of_words}.items():
        assert np.allclose(gradient, expected[name].numpy(), rtol=1e-3, atol=1e-4), name


def test_adam_is_that_of_keras_also_for_words_that_are_seldom_read() -> None:
    load_keras(1)
    import keras

    random = np.random.default_rng(3)
    first = {name: random.normal(size=(6, 2)).astype(np.float32) for name in ("word", "dense")}
    ours = Adam(first, clip=1.0)
    theirs = {name: keras.Variable(value) for name, value in first.items()}
    adam = keras.optimizers.Adam(0.01, global_clipnorm=1.0)
    adam.build(list(theirs.values()))
    average = {name: value.copy() for name, value in first.items()}
    for step in range(60):
        kept, rate = min(0.9, (step + 1) / (step + 4)), 0.01 * (1 + step % 3)
        ids = np.unique(random.integers(0, 6, 2))
        rows, dense = (
            random.normal(size=(len(ids), 2)).astype(np.float32),
            random.normal(size=(6, 2)).astype(np.float32),
        )
        whole = np.zeros((6, 2), dtype=np.float32)
        whole[ids] = rows
        ours.read(ids)
        ours.step(Gradients({"dense": dense}, Rows(ids, rows)), rate=rate, kept=kept)
        adam.learning_rate.assign(rate)
        adam.apply([whole, dense], list(theirs.values()))
        for name, value in average.items():
            value += (1 - kept) * (theirs[name].numpy() - value)
    averaged = ours.averaged()
    assert np.allclose(ours.weights["dense"], theirs["dense"].numpy(), atol=1e-4)
    assert np.allclose(ours.weights["word"], theirs["word"].numpy(), atol=1e-3)
    assert np.allclose(averaged["dense"], average["dense"], atol=1e-4)
    # A word's momentum counts for its average when it is read again, a few steps late.
    assert np.allclose(averaged["word"], average["word"], atol=0.02)


def note(number: int, name: str) -> Document:
    text = f"Patient: {name}\nSeen by Dr. {name}."
    doctor = text.index("Dr. ") + 4
    spans = (Span(9, 9 + len(name), "PATIENT"), Span(doctor, doctor + len(name), "DOCTOR"))
    return Document(f"{100 + number}-01", text, spans, group=f"p{number}")


QUICK = {"networks": 1, "epochs": 2, "least_steps": 60, "lstm_size": 16, "word_size": 16}


@pytest.mark.parametrize("trainer", ["numpy", "tensorflow"])
def test_both_trainers_find_names_that_they_never_saw(trainer: str) -> None:
    tables = FeatureSpace(FeatureSettings()).fit([note(i, name) for i, name in enumerate(FEW_NAMES * 2)])
    model = BlstmSubmodel(**QUICK, learning_rate=0.03, trainer=trainer).fit(tables, seed=1)
    unseen = tables[0].space.tables([note(50, "Gorse")])
    (found,) = model.propose(unseen)
    assert {c.span for c in found if c.chosen} == set(unseen[0].document.spans)


def test_an_unknown_trainer_is_refused() -> None:
    tables = FeatureSpace(FeatureSettings()).fit([note(1, "Rusk")])
    with pytest.raises(SettingsError, match="trainer"):
        BlstmSubmodel(trainer="abacus").fit(tables)


def test_tensorflow_says_on_what_it_trains() -> None:
    program = "from submodels.blstm.keras_training import load_keras; load_keras(0); load_keras(0)"
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stderr.count("TensorFlow trains on ") == 1


def test_training_needs_no_tensorflow() -> None:
    program = (
        "import sys; from features.columns.settings import FeatureSettings; "
        "from features.columns.table import FeatureSpace; "
        "from features.documents import Document, Span; from submodels.blstm.submodel import BlstmSubmodel; "
        "note = Document('a', 'Dr. Gorse', (Span(4, 9, 'DOCTOR'),)); "
        f"BlstmSubmodel(**{QUICK}).fit(FeatureSpace(FeatureSettings()).fit([note])); "
        "print('tensorflow' in sys.modules, 'keras' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]
