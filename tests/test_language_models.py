"""Character language models: their contextual string embeddings, how they are learned and saved."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.ensemble.training.unlabelled import learn_language_models, sentences_of
from phistack.features.character_models import CharacterModels, model_shapes
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable, line_bounds
from phistack.features.documents import Document
from phistack.features.errors import BundleError, SettingsError, TrainingError
from phistack.features.formats import write_corpus
from phistack.features.saved_files import SavedFiles
from phistack.submodels.blstm.character_training import LanguageModelPlan, perplexity, train_models
from phistack.submodels.blstm.inference import states_in
from phistack.submodels.blstm.lstm import BidirectionalLstm
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.chain.crf import Lines

Command = Callable[..., tuple[int, str, str]]
NOTES = synthesize(8, seed=4, language="nl")
SMALL = LanguageModelPlan(units=6, vector=4, epochs=2)
QUICK: dict[str, Any] = {
    "networks": 1, "epochs": 2, "least_steps": 0, "lstm_size": 6, "word_size": 4, "columns": (), "contextual": True,
    "replacement": 0.0, "language_model": 0.0,
}  # fmt: skip


def random_models(units: int = 5, vector: int = 3, characters: str = "abcdeJn .,0") -> CharacterModels:
    generator = np.random.default_rng(1)
    shapes = model_shapes(len(characters) + 2, vector, units)
    weights = {name: generator.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}
    return CharacterModels(list(characters), weights)


MODELS = random_models()


def table_of(text: str, **given: Any) -> FeatureTable:
    [table] = FeatureSpace(FeatureSettings(**given, without=("gazetteers",))).fit([Document("1", text)])
    return table


@settings(max_examples=15)
@given(st.text(alphabet="abJn. \n\u0301x", max_size=60), st.sampled_from(["liu", "zhao2020"]))
def test_a_token_has_the_state_after_its_last_character_and_the_one_before_its_first(text: str, tokeniser: str) -> None:
    """Beside the LSTM that trains networks, sentence by sentence."""
    table = table_of(text, tokeniser=tokeniser)
    expected = np.zeros((len(table), MODELS.size), dtype=np.float32)
    starts, ends = table.offsets
    for a, b in pairwise(table.sentences.tolist()):
        ids = MODELS.ids(table.document.text[starts[a] : ends[b - 1]])
        run = BidirectionalLstm(MODELS.weights["word"][ids], Lines.of(None, len(ids)), MODELS.weights)
        for token in range(a, b):
            ahead = run.output[1 + ends[token] - 1 - starts[a], : MODELS.units]
            back = run.output[1 + starts[token] - starts[a], MODELS.units :]
            expected[token] = np.concatenate([ahead, back])
    [found] = states_in(MODELS, [(table, 0, len(table))])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_forward_state_knows_what_is_before_and_the_backward_state_what_is_behind() -> None:
    one, two, three = (table_of(text) for text in ("Jan aan bed", "Jan aan den", "Ben aan bed"))
    a, b, c = (found[1] for found in states_in(MODELS, [(t, 0, 3) for t in (one, two, three)]))
    ahead, back = slice(MODELS.units), slice(MODELS.units, None)
    np.testing.assert_allclose(a[ahead], b[ahead], atol=1e-6)
    np.testing.assert_allclose(a[back], c[back], atol=1e-6)
    assert abs(a[back] - b[back]).max() > 1e-3 < abs(a[ahead] - c[ahead]).max()


def test_some_sentences_of_a_note_have_what_they_have_in_the_whole() -> None:
    table = table_of("Jan bad. An en de. Ben.")
    bounds = table.sentences.tolist()
    [whole], parts = (
        states_in(MODELS, [(table, 0, len(table))]), states_in(MODELS, [(table, a, b) for a, b in pairwise(bounds)])
    )  # fmt: skip
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-6)


# Training


def test_training_makes_characters_foreseeable() -> None:
    sentences = ["aabb aabb", "bbaa bbaa", "aabb"] * 40
    plan = LanguageModelPlan(units=12, vector=4, epochs=40, learning_rate=0.03)
    models = train_models(sentences, plan, seed=1)
    untrained = train_models(sentences, replace(plan, epochs=0), seed=1)
    assert perplexity(models, sentences) < 2.0 < 3.0 < perplexity(untrained, sentences)
    again = train_models(sentences, plan, seed=1)
    assert again.digest == models.digest != train_models(sentences, plan, seed=2).digest


def test_rare_characters_are_unknown_and_no_text_is_an_error() -> None:
    models = train_models(["aaa", "aab"], replace(SMALL, epochs=1), seed=0)
    assert models.characters == ["a"] and models.ids("ab").tolist() == [0, 2, 1, 0]
    with pytest.raises(TrainingError, match="no character occurs 3 times"):
        train_models(["ab"], SMALL, seed=0)
    with pytest.raises(TrainingError, match="no text to learn from"):
        learn_language_models([Document("1", " \n")], SMALL)


def test_every_twentieth_note_says_how_well_they_foresee() -> None:
    notes = [replace(document, id=f"{i}") for i, document in enumerate(NOTES.documents * 3)][:20]
    models = learn_language_models(notes, replace(SMALL, epochs=1))
    assert models.trained["perplexity"] == pytest.approx(perplexity(models, list(sentences_of(notes[19:]))), abs=1e-3)
    assert models.trained["characters"] == sum(map(len, sentences_of(notes[:19])))
    assert "perplexity" not in learn_language_models(notes[:5], replace(SMALL, epochs=1)).trained


# Files


def test_the_folder_is_read_as_it_was_written_and_damage_is_one_sentence(tmp_path: Path) -> None:
    MODELS.write(tmp_path / "lm")
    again = CharacterModels.read(tmp_path / "lm")
    assert again.digest == MODELS.digest and again.size == 10
    with pytest.raises(SettingsError, match="lm"):
        MODELS.write(tmp_path / "lm")
    weights, state = tmp_path / "lm" / "language_models.npz", tmp_path / "lm" / "language_models.json"
    whole, described = weights.read_bytes(), state.read_text()
    for path, content, reported in (
        (weights, whole[:-9] + b"123456789", "is not the one that language_models.json names"),
        (state, "{", "language_models.json cannot be read"),
        (state, described.replace(".v1", ".v2"), "not of the format"),
        (state, described.replace('"units": 5', '"units": 6'), "does not fit"),
        (state, described.replace('"a"', '"aa"'), "cannot be read"),
    ):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(SettingsError, match=rf"folder of language models .*lm cannot be used: .*{reported}"):
            CharacterModels.read(tmp_path / "lm")
        weights.write_bytes(whole)
        state.write_text(described)
    weights.unlink()
    with pytest.raises(SettingsError, match="No such file"):
        FeatureSpace(FeatureSettings(language_models=str(tmp_path / "lm"))).fit(NOTES.documents)


# In the network


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> FeatureSpace:
    folder = tmp_path_factory.mktemp("models") / "lm"
    learn_language_models(NOTES.documents, SMALL).write(folder)
    return FeatureSpace(FeatureSettings(language="nl", language_models=str(folder), without=("gazetteers",)))


@pytest.fixture(scope="module")
def tables(space: FeatureSpace) -> list[FeatureTable]:
    return space.fit(NOTES.documents)


@pytest.fixture(scope="module")
def model(tables: list[FeatureTable]) -> BlstmSubmodel:
    return BlstmSubmodel(**QUICK, kernels=()).fit(tables)


def test_some_lines_are_read_as_in_the_whole_note(model: BlstmSubmodel, tables: list[FeatureTable]) -> None:
    lines = [np.arange(len(line_bounds(table)) - 1) % 3 == 0 for table in tables]
    found = model.propose_in(tables, lines)
    whole = {(n, c.span) for n, note in enumerate(model.propose(tables)) for c in note}
    assert any(found) and {(n, c.span) for n, note in enumerate(found) for c in note} <= whole


@pytest.mark.parametrize("trainer", ["numpy", "tensorflow"])
def test_both_trainers_take_the_options_of_the_preset(tables: list[FeatureTable], trainer: str) -> None:
    options: dict[str, Any] = {
        "optimiser": "sgd", "schedule": "halve on plateau", "learning_rate": 0.1, "locked_dropout": True,
        "dropout": 0.5, "batch_rows": 8, "average": 0.0, "easy_below": 0.0, "window": 1, "kernels": (),
        "trainer": trainer,
    }  # fmt: skip
    trained = BlstmSubmodel(**{**QUICK, "epochs": 3}, **options).fit(tables, seed=1)
    assert all(np.isfinite(values).all() for values in trained.weights_[0].values())
    assert trained.settings()["batch_rows"] == 8


def test_training_ends_where_the_rate_has_fallen_below_the_least(tables: list[FeatureTable]) -> None:
    """With a rate below the least, it ends after one epoch, just as a training of one epoch."""
    options: dict[str, Any] = {"optimiser": "sgd", "learning_rate": 0.01, "average": 0.0, "kernels": ()}
    ended, one = (
        BlstmSubmodel(**{**QUICK, "epochs": epochs}, **options, schedule=schedule, least_rate=0.02).fit(tables)
        for epochs, schedule in ((50, "halve on plateau"), (1, "constant"))
    )
    for name, values in one.weights_[0].items():
        np.testing.assert_array_equal(ended.weights_[0][name], values)


def test_replaced_mentions_bring_their_states(tables: list[FeatureTable]) -> None:
    trained = BlstmSubmodel(**{**QUICK, "replacement": 0.5, "epochs": 1}).fit(tables)
    assert all(np.isfinite(values).all() for values in trained.weights_[0].values())


def test_other_language_models_are_other_features(space: FeatureSpace, tmp_path: Path) -> None:
    MODELS.write(tmp_path / "other")
    other = FeatureSpace(replace(space.settings, language_models=str(tmp_path / "other")))
    without = FeatureSpace(replace(space.settings, language_models=""))
    for one in (other, without):
        one.fit(NOTES.documents)
    space.fit(NOTES.documents)
    assert len({one.representations_.digest for one in (space, other, without)}) == 3


def test_a_network_cannot_be_read_without_its_language_models(model: BlstmSubmodel, tables: list[FeatureTable]) -> None:
    saved = SavedFiles.written_by(model.save)
    again = BlstmSubmodel.load(saved, tables[0].space)
    np.testing.assert_array_equal(again.emissions(tables)[0], model.emissions(tables)[0])
    bare = FeatureSpace(FeatureSettings(language="nl", without=("gazetteers",)))
    bare.fit(NOTES.documents)
    with pytest.raises(BundleError):
        BlstmSubmodel.load(saved, bare)


# The command, and a bundle


def test_what_the_command_writes_an_engine_is_trained_with_and_keeps(phistack: Command, tmp_path: Path) -> None:
    write_corpus(NOTES, tmp_path / "notes.jsonl", format="jsonl")
    options = ("--size", 6, "--vector", 4, "--epochs", 1)
    for out in ("lm", "again"):
        status, shown, error = phistack("language-model", tmp_path / "notes.jsonl", tmp_path / out, *options)
        assert status == 0 and "protect them as you protect the notes" in shown, error
    for name in ("language_models.json", "language_models.npz"):
        assert (tmp_path / "lm" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    network = (
        "contextual = true\ninvented_notes = 3\nnetworks = 1\nepochs = 1\nleast_steps = 0\nlstm_size = 6\n"
        "word_size = 4\nkernels = []\n"
    )
    where = json.dumps(str(tmp_path / "lm"))
    config = tmp_path / "lm.toml"
    config.write_text(f"folds = 2\n[features]\nlanguage_models = {where}\n[submodels.blstm]\n{network}")
    bundle = tmp_path / "engine"
    status, _, error = phistack("train", tmp_path / "notes.jsonl", "--model", bundle, "--config", config)
    assert status == 0, error
    (tmp_path / "lm").rename(tmp_path / "gone")
    assert len(list(load_bundle(bundle).annotate(NOTES.documents))) == len(NOTES)
    status, _, error = phistack("language-model", tmp_path / "notes.jsonl", tmp_path / "again", *options)
    assert status == 1 and "again" in error


def test_settings_that_cannot_work_are_refused_before_any_note_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FeatureSpace, "fit", lambda *given: pytest.fail("notes were read"))
    preset = EngineSettings.preset("trienes2020-bilstm-crf")
    crf = EngineSettings(submodels={"regex": {}, "crf": {"c1": -1.0}})
    for chosen, said in ((preset, "there are no language models: make them"), (crf, "setting c1 must lie between")):
        with pytest.raises(SettingsError, match=said):
            train(NOTES, chosen)


def test_without_language_models_the_preset_says_which_command_makes_them(phistack: Command, tmp_path: Path) -> None:
    write_corpus(NOTES, tmp_path / "notes.jsonl", format="jsonl")
    status, _, error = phistack(
        "train", tmp_path / "notes.jsonl", "--model", tmp_path / "e", "--preset", "trienes2020-bilstm-crf"
    )
    assert status == 1 and "`phistack language-model NOTES models`" in error.splitlines()[-1]
    assert not (tmp_path / "e").exists()
