"""A preset is the paper's system and nothing else: no repeats, no SVM, no rules that the paper does not have."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.stacking.candidates import chosen_spans
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import PRESETS, EngineSettings, merged
from phistack.ensemble.training.trainer import train
from phistack.features.documents import Document
from phistack.features.errors import MissingResourceError, SettingsError
from phistack.features.labels import LabelSet
from phistack.features.tokens import Tokeniser
from phistack.submodels.base import kind_of, new_submodel
from phistack.submodels.crf.templates import usable

LSTM = {
    "word_size": 16, "lstm_size": 24, "character_lstm": 8, "character_size": 8, "learning_rate": 0.03, "epochs": 16,
    "batch_rows": 8, "patience": 16,
}  # fmt: skip
ALONE: list[tuple[str, str, str, dict[str, Any], float]] = [
    ("anonymate2019", "crf", "en", {"submodels": {"crf": {"max_iterations": 15}}}, 0.3),
    ("berg2019-crf", "crf", "sv", {"submodels": {"crf": {"max_iterations": 15}}}, 0.3),
    (
        "berg2019-lstm",
        "lstm",
        "sv",
        {"submodels": {"lstm": LSTM}},
        0,
    ),
    ("tjongkimsang2019", "entities", "nl", {"features": {"ner": ""}}, 0.2),
    ("trienes2020-crf", "crf", "nl", {"submodels": {"crf": {"max_iterations": 15}}}, 0.3),
    ("trienes2020-rules", "deduce", "nl", {}, 0.6),
]
"""Preset, its submodel, language, what makes it quick, and the least F1 on 12 notes."""


def settings_of(preset: str, language: str, changes: dict[str, Any]) -> EngineSettings:
    given = merged({"folds": 2, "features": {"language": language}}, changes)
    return EngineSettings.from_dict(merged(EngineSettings.preset(preset).to_dict(), given))


@pytest.mark.parametrize(("preset", "name", "language", "changes", "least"), ALONE, ids=[row[0] for row in ALONE])
def test_an_engine_of_one_system_marks_what_that_chose_and_nothing_else(
    preset: str, name: str, language: str, changes: dict[str, Any], least: float, tmp_path: Path
) -> None:
    own = preset if preset in LabelSet.names() else ""
    training, test = (
        notes.mapped(own) if own else notes for notes in (synthesize(n, seed=n, language=language) for n in (12, 6))
    )
    engine = train(training, settings_of(preset, language, changes).only((name,))).engine
    tables = engine.space.tables(test.documents)
    [submodel] = engine.submodels
    proposed = zip(submodel.propose(tables), tables, strict=True)
    chosen = [tuple(chosen_spans(candidates, table.view)) for candidates, table in proposed]
    assert any(chosen) and [note.spans for note in engine.annotate(test.documents)] == chosen
    assert evaluate(test, test.with_spans(chosen)).strict.f1.value > least
    save_bundle(engine, tmp_path / "engine", self_test=self_test(engine), trained_on={}, figures={})
    again = load_bundle(tmp_path / "engine")
    assert [note.spans for note in again.annotate(test.documents)] == chosen
    assert [note.spans for note in again.with_options(recall="high").annotate(test.documents)] == chosen


SUBMODELS = [
    (preset, name, kind_of(name, given))
    for preset in sorted({*PRESETS.names} - {"record"})
    for name, given in EngineSettings.preset(preset).submodels.items()
]


@pytest.mark.parametrize(("preset", "name"), [row[:2] for row in SUBMODELS if row[2] == "blstm"])
def test_networks_of_papers_have_nothing_of_ours(preset: str, name: str) -> None:
    network: Any = new_submodel(name, EngineSettings.preset(preset).submodels[name])
    ours = ("average", "word_dropout", "value_dropout", "replacement", "language_model", "easy_below")
    assert {getattr(network, setting) for setting in ours} == {0.0}
    assert (network.networks, network.window, network.threshold) == (1, 1, 1.0)
    assert network.pretraining() is None, "it learns from annotated notes alone"


@pytest.mark.parametrize(("preset", "name"), [row[:2] for row in SUBMODELS if row[2] == "crf"])
def test_every_cross_of_a_paper_can_be_read(preset: str, name: str) -> None:
    settings = EngineSettings.preset(preset)
    crf: Any = new_submodel(name, settings.submodels[name])
    whole = replace(settings.features, pos="nltk", ner="nltk", vectors="v", clusters="c")
    assert crf.declared and usable(crf.declared, whole.columns) == crf.declared
    assert crf.threshold == 1.0, "only what it chooses"


@pytest.mark.parametrize(
    ("preset", "text", "tokens"),
    [
        ("liu2017", "1/20/71Total time (in minutes):", "1 / 20 / 71 Total time ( in minutes ) :"),
        ("zhao2020", "48-year-old in Edwin HealthCare", "48 - year - old in Edwin Health Care"),
    ],
)
def test_tokens_are_those_of_the_paper(preset: str, text: str, tokens: str) -> None:
    assert Tokeniser(EngineSettings.preset(preset).features.tokeniser).cut(text)[0] == tokens.split()


@pytest.mark.parametrize("preset", sorted({*PRESETS.names} - {"record"}))
def test_no_preset_of_a_paper_searches_again_or_weighs_forms(preset: str) -> None:
    stacker = EngineSettings.preset(preset).stacker
    assert (stacker.seek_again, stacker.weigh_forms, stacker.structured_text) == (False, False, False)
    assert stacker.alone != preset.startswith(("zhao", "liu")), "two papers have a stacker"


@pytest.mark.parametrize("preset", ["anonymate2019", "trienes2020"])
def test_systems_that_the_paper_does_not_join_are_not_joined(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phistack.ensemble.training.fit_tasks.FitTask.run", lambda task: pytest.fail("began to train"))
    settings = settings_of(preset, "en", {"features": {"language_models": "models"}})
    with pytest.raises(SettingsError, match=r"do not join their submodels; name one of crf, .* with --submodels"):
        train(synthesize(4, seed=1), settings)


def test_without_tensorflow_a_training_with_it_is_refused_before_the_first_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phistack.features.errors.find_spec", lambda name: None)
    monkeypatch.setattr("phistack.ensemble.training.fit_tasks.FitTask.run", lambda task: pytest.fail("began to train"))
    settings = EngineSettings.from_dict({"submodels": {"crf": {}, "blstm": {"trainer": "tensorflow"}}})
    with pytest.raises(MissingResourceError, match=r"trainer `tensorflow` needs tensorflow"):
        train(synthesize(4, seed=1), settings)


def test_a_note_without_anything_chosen_stays_as_it_is() -> None:
    engine = train(synthesize(8, seed=1, language="nl"), settings_of("trienes2020-rules", "nl", {})).engine
    [note] = engine.annotate([Document("1", "Rustige nacht, goed geslapen en gegeten vandaag.")])
    assert note.spans == ()
