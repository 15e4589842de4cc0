"""Training in NumPy, against Keras on TensorFlow: the loss, its gradient, and Adam."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.submodels.blstm.gradients import FlatBatch, Gradients, Rows, _dropped, loss_and_gradients
from phistack.submodels.blstm.keras_training import load_keras, padded_batch
from phistack.submodels.blstm.layers import PREDICTIONS, WordPrediction
from phistack.submodels.blstm.optimisers import Adam, Rates, Sgd
from phistack.submodels.blstm.rows import EncodedNote
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.weights import NetworkSizes, first_weights
from phistack.submodels.chain.crf import Lines
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
    states = random.normal(size=(n, 3)).astype(np.float32)
    return EncodedNote(words, spellings, values, bounds, bounds, tags, states)


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
            replace(SIZES, kernels=(), states=3),
            replace(SIZES, feature_layer=3, states=3),
        ]
    ),
)
def test_loss_and_gradients_are_those_of_keras(notes: list[list[int]], seed: int, sizes: NetworkSizes) -> None:
    load_keras(1)
    import tensorflow as tf

    from phistack.submodels.blstm.network import TaggingNetwork

    random = np.random.default_rng(seed)
    drawn = [drawn_note(lengths, random) for lengths in notes]
    if not sizes.states:
        drawn = [replace(note, states=None) for note in drawn]
    ranges = [(number, 0, len(note.words)) for number, note in enumerate(drawn)]
    characters = random.integers(0, 7, (6, 9)).astype(np.int32)
    prediction = WordPrediction.of(drawn, words=3, weight=0.4)
    network = TaggingNetwork(sizes, dropout=0.0, prediction=prediction, seed=seed % 1000)
    batch = padded_batch(ranges, drawn, characters)
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


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), locked=st.booleans())
def test_gradients_are_those_of_finite_differences_under_dropout(seed: int, locked: bool) -> None:
    sizes = replace(SIZES, states=3)
    random = np.random.default_rng(seed)
    drawn = [drawn_note([3, 2], random), drawn_note([4], random)]
    batch = FlatBatch.of([(0, 0, 5), (1, 0, 4)], drawn, random.integers(0, 7, (6, 9)).astype(np.int32))
    weights = {name: values.astype(np.float32) for name, values in first_weights(sizes, 1).items()}

    def loss() -> tuple[float, Gradients]:
        found, gradients = loss_and_gradients(
            weights, batch, sizes, dropout=0.5, locked=locked, generator=np.random.default_rng(7)
        )
        return found.total, gradients

    _, gradients = loss()
    for name in ("forward", "backward", "dense"):
        place: Any = tuple(random.integers(0, length) for length in weights[name].shape)
        if name != "dense":
            place = (len(weights[name]) - sizes.lstm - 1 - int(random.integers(0, 3)), place[1])
        kept, step = weights[name][place], np.float32(1e-2)
        around = []
        for moved in (kept + step, kept - step):
            weights[name][place] = moved
            around.append(loss()[0])
        weights[name][place] = kept
        assert gradients.dense[name][place] == pytest.approx((around[0] - around[1]) / (2 * step), abs=2e-3)


def test_locked_dropout_forgets_the_same_numbers_at_all_tokens_of_a_row() -> None:
    rows = Lines.of([0, 3, 7], 7)
    values = np.ones((7, 40), dtype=np.float32)
    dropped, kept = _dropped(values, 0.5, np.random.default_rng(1), rows)
    assert (dropped[:3] == dropped[0]).all() and (dropped[3:] == dropped[3]).all()
    assert (dropped[0] != dropped[3]).any() and set(np.unique(kept)) == {0.0, 2.0}
    free, _ = _dropped(values, 0.5, np.random.default_rng(1), None)
    assert (free[:3] != free[0]).any()


def test_the_average_of_plain_descent_lags_behind() -> None:
    sgd = Sgd({"word": np.zeros((1, 1), dtype=np.float32), "dense": np.zeros(1, dtype=np.float32)}, clip=10.0)
    for _ in range(2):
        gradient = Rows(np.array([0], dtype=np.int32), np.ones((1, 1), dtype=np.float32))
        sgd.step(Gradients({"dense": np.ones(1, dtype=np.float32)}, gradient), rate=1.0, kept=0.5)
    assert sgd.weights["dense"] == [-2.0] and sgd.averaged()["dense"] == [-1.25] == sgd.averaged()["word"][0]


def test_a_rate_is_halved_after_epochs_without_gain_and_ends_the_training() -> None:
    rates = Rates("halve on plateau", highest=0.1, patience=3, least=0.03)
    seen = []
    for loss in (5.0, 4.0, 4.0, 4.5, 4.0, 3.0, 3.0, 3.0, 3.0):
        rates.epoch_ended(loss)
        seen.append((rates.at(0.5), rates.over))
    assert seen == [(0.1, False)] * 4 + [(0.05, False)] * 4 + [(0.025, True)]


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_steps_are_those_of_keras_also_for_words_that_are_seldom_read(name: str) -> None:
    load_keras(1)
    import keras

    random = np.random.default_rng(3)
    first = {name: random.normal(size=(6, 2)).astype(np.float32) for name in ("word", "dense")}
    ours = Adam(first, clip=1.0) if name == "Adam" else Sgd(first, clip=1.0)
    theirs = {name: keras.Variable(value) for name, value in first.items()}
    optimiser = getattr(keras.optimizers, name)(0.01, global_clipnorm=1.0)
    optimiser.build(list(theirs.values()))
    average = {name: value.copy() for name, value in first.items()}
    for step in range(60):
        kept, rate = min(0.9, (step + 1) / (step + 4)), 0.01 * (1 + step % 3)
        ids = np.unique(random.integers(0, 6, 2))
        rows, dense = (random.normal(size=(n, 2)).astype(np.float32) for n in (len(ids), 6))
        whole = np.zeros((6, 2), dtype=np.float32)
        whole[ids] = rows
        ours.read(ids)
        ours.step(Gradients({"dense": dense}, Rows(ids, rows)), rate=rate, kept=kept)
        optimiser.learning_rate.assign(rate)
        optimiser.apply([whole, dense], list(theirs.values()))
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
    program = "from phistack.submodels.blstm.keras_training import load_keras; load_keras(0); load_keras(0)"
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stderr.count("TensorFlow trains on ") == 1


def test_training_needs_no_tensorflow() -> None:
    program = (
        "import sys; from phistack.features.columns.settings import FeatureSettings; "
        "from phistack.features.columns.table import FeatureSpace; "
        "from phistack.features.documents import Document, Span; "
        "from phistack.submodels.blstm.submodel import BlstmSubmodel; "
        "note = Document('a', 'Dr. Gorse', (Span(4, 9, 'DOCTOR'),)); "
        f"BlstmSubmodel(**{QUICK}).fit(FeatureSpace(FeatureSettings()).fit([note])); "
        "print('tensorflow' in sys.modules, 'keras' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]
