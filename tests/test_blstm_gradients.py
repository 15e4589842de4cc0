"""Training in NumPy, against TensorFlow and finite differences: the loss, its gradient, and Keras's optimisers."""

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
from phistack.features.documents import Document
from phistack.submodels.blstm.gradients import FlatBatch, Gradients, _kept, loss_and_gradients, read
from phistack.submodels.blstm.inference import emissions_of
from phistack.submodels.blstm.layers import WordPrediction, scored
from phistack.submodels.blstm.optimisers import Adam, Rates, Sgd
from phistack.submodels.blstm.rows import EncodedNote
from phistack.submodels.blstm.settings import BlstmSettings
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.tensorflow_reading import load_tensorflow
from phistack.submodels.blstm.tensorflow_reading import read as read_by_tensorflow
from phistack.submodels.blstm.weights import first_weights, network_shapes
from phistack.submodels.chain.crf import Lines
from tests.annotated import annotated
from tests.invented_names import FEW_NAMES

# OpenBLAS may set the flag of an invalid value for finite matrices of one row; a wrong result fails its comparison.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in matmul:RuntimeWarning")

ROOT = Path(__file__).parents[1]

SMALL: Any = {"word_size": 6, "character_size": 3, "kernels": (2, 3), "channels": 4, "feature_size": 2, "lstm_size": 5}


def drawn_note(lengths: list[int], random: np.random.Generator) -> EncodedNote:
    """A note of lines of such lengths, each a tag sequence."""
    n, bounds = sum(lengths), np.cumsum([0, *lengths]).astype(np.int32)
    words, tags, spellings = (random.integers(0, most, n).astype(np.int32) for most in (9, 5, 6))
    values = random.integers(0, 8, (n, 2)).astype(np.int32)
    states = random.normal(size=(n, 3)).astype(np.float32)
    return EncodedNote(words, spellings, values, bounds, bounds, tags, states)


VARIANTS: dict[str, Any] = {
    "plain": {},
    "LSTM over characters": {"kernels": (), "character_lstm": 3},
    "layer of features": {"feature_layer": 3},
    "no chain": {"crf": False},
    "language models": {"kernels": (3, 2), "states": 3},
    "all but a CNN": {"kernels": (), "feature_layer": 3, "states": 3},
}


def drawn(
    variant: str, lengths: list[list[int]], seed: int, random: np.random.Generator
) -> tuple[dict[str, Any], list[EncodedNote], Any]:
    """The weights of a variant, notes, and the spellings of their words."""
    changes = {"states": 0, **VARIANTS[variant]}
    states = changes.pop("states")
    sizes = BlstmSettings(**SMALL | changes)
    shapes = network_shapes(sizes, words=9, characters=7, values=8, columns=2, tags=5, states=states)
    notes = [drawn_note(of_note, random) for of_note in lengths]
    characters = random.integers(0, 7, (6, 9)).astype(np.int32)
    return first_weights(shapes, seed), [n if states else replace(n, states=None) for n in notes], characters


def batch_of(notes: list[EncodedNote], characters: Any) -> FlatBatch:
    return FlatBatch([(number, 0, len(note.words)) for number, note in enumerate(notes)], notes, characters)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=6)
@given(
    lengths=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_tensorflow_computes_the_same(variant: str, lengths: list[list[int]], seed: int) -> None:
    load_tensorflow(1)
    weights, notes, characters = drawn(variant, lengths, seed % 1000, np.random.default_rng(seed))
    prediction = WordPrediction.of(notes, words=3, weight=0.4)
    weights |= prediction.first_weights(SMALL["lstm_size"], 1)
    batch = batch_of(notes, characters)
    (loss, of_rows, ours), (other, of_other_rows, theirs) = (
        loss_and_gradients(
            weights, batch, prediction=prediction, dropout=0.5, generator=np.random.default_rng(7), read=way
        )
        for way in (read, read_by_tensorflow)
    )
    assert loss == pytest.approx(other, rel=1e-4)
    assert np.allclose(of_rows, of_other_rows, rtol=1e-3, atol=1e-3)
    assert np.allclose(ours.words, theirs.words, rtol=1e-3, atol=1e-4)
    assert ours.dense.keys() == theirs.dense.keys() == weights.keys() - {"word"}
    for name, gradient in ours.dense.items():
        assert np.allclose(gradient, theirs.dense[name], rtol=1e-3, atol=1e-4), name


@pytest.mark.parametrize("variant", VARIANTS)
def test_annotating_reads_as_training_does(variant: str) -> None:
    weights, notes, characters = drawn(variant, [[3, 2, 4], [1], [5, 5]], 1, np.random.default_rng(3))
    notes = [replace(note, words=note.spellings) for note in notes]  # a word follows from its spelling
    batch = batch_of(notes, characters)
    values = weights["feature"][batch.features].reshape(len(batch.words), -1)
    after = np.concatenate([*([] if "hidden" in weights else [values]), batch.states], axis=1)
    output, _ = read(weights, batch, weights["word"][batch.words], after, np.ones((1, 1), dtype=np.float32))
    expected, _ = scored(output, values, weights)
    blocks = ((), ()) if "hidden" in weights else ((1,), (0,))
    found = emissions_of([weights], notes, characters, blocks, window=100)
    assert np.allclose(np.concatenate(found), expected, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1), locked=st.booleans())
def test_gradients_are_those_of_finite_differences_under_dropout(variant: str, seed: int, locked: bool) -> None:
    random = np.random.default_rng(seed)
    weights, notes, characters = drawn(variant, [[3, 2], [4]], 1, random)
    batch, prediction = batch_of(notes, characters), WordPrediction.of(notes, words=3, weight=0.4)
    weights |= prediction.first_weights(SMALL["lstm_size"], 1)

    def loss() -> tuple[float, Gradients]:
        found, _, gradients = loss_and_gradients(
            weights, batch, dropout=0.5, locked=locked, generator=np.random.default_rng(7), prediction=prediction
        )
        return found, gradients

    _, gradients = loss()
    # Gradients of characters jump where another window becomes the strongest.
    for name in gradients.dense.keys() - {name for name in weights if name.startswith(("kernel", "character"))}:
        place: Any = tuple(random.integers(0, length) for length in weights[name].shape)
        kept, step = weights[name][place], np.float32(1e-2)
        around = []
        for moved in (kept + step, kept - step):
            weights[name][place] = moved
            around.append(loss()[0])
        weights[name][place] = kept
        assert gradients.dense[name][place] == pytest.approx((around[0] - around[1]) / (2 * step), abs=2e-3), name


def test_locked_dropout_forgets_the_same_numbers_at_all_tokens_of_a_row() -> None:
    rows = Lines.of([0, 3, 7], 7)
    locked, free = (_kept(rows, 40, 0.5, np.random.default_rng(1), locked=locked) for locked in (True, False))
    assert (locked[:3] == locked[0]).all() and (locked[3:] == locked[3]).all()
    assert (locked[0] != locked[3]).any() and set(np.unique(locked)) == {0.0, 2.0}
    assert (free[:3] != free[0]).any()


def test_the_average_of_plain_descent_lags_behind() -> None:
    sgd = Sgd({"word": np.zeros((1, 1), dtype=np.float32), "dense": np.zeros(1, dtype=np.float32)}, clip=10.0)
    for _ in range(2):
        ids, ones = np.array([0], dtype=np.int32), np.ones((1, 1), dtype=np.float32)
        sgd.step(Gradients({"dense": ones[0]}, ids, ones), rate=1.0, kept=0.5)
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
    keras = pytest.importorskip("keras")

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
        ours.step(Gradients({"dense": dense}, ids, rows), rate=rate, kept=kept)
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
    return annotated(f"Patient: [{name}|PATIENT]\nSeen by Dr. [{name}|DOCTOR].", f"{100 + number}-01", f"p{number}")


QUICK = {"networks": 1, "epochs": 2, "least_steps": 60, "lstm_size": 16, "word_size": 16}


@pytest.mark.parametrize("trainer", ["numpy", "tensorflow"])
def test_both_trainers_find_names_that_they_never_saw(trainer: str) -> None:
    tables = FeatureSpace(FeatureSettings()).fit([note(i, name) for i, name in enumerate(FEW_NAMES * 2)])
    model = BlstmSubmodel(**QUICK, learning_rate=0.03, trainer=trainer).fit(tables, seed=1)
    unseen = tables[0].space.tables([note(50, "Gorse")])
    (found,) = model.propose(unseen)
    assert {c.span for c in found if c.chosen} == set(unseen[0].document.spans)


def test_tensorflow_says_on_what_it_trains() -> None:
    program = "from phistack.submodels.blstm.tensorflow_reading import load_tensorflow as load; load(0); load(0)"
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stderr.count("TensorFlow trains on ") == 1


def test_training_and_proposing_need_no_tensorflow() -> None:
    program = (
        "import sys; from phistack.features.columns.settings import FeatureSettings; "
        "from phistack.features.columns.table import FeatureSpace; "
        "from phistack.features.documents import Document, Span; "
        "from phistack.submodels.blstm.submodel import BlstmSubmodel; "
        "note = Document('a', 'Dr. Gorse', (Span(4, 9, 'DOCTOR'),)); "
        f"tables = FeatureSpace(FeatureSettings()).fit([note]); BlstmSubmodel(**{QUICK}).fit(tables).propose(tables); "
        "print('tensorflow' in sys.modules, 'keras' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]
