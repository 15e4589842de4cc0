"""A preset is the paper's system and nothing else: no repeats, no SVM, no rules that the paper does not have."""

from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.stacking.candidates import chosen_spans
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import PRESETS, EngineSettings, merged
from phistack.ensemble.training.trainer import train
from phistack.features.documents import Document
from phistack.features.errors import MissingResourceError, SettingsError

ALONE: dict[str, tuple[str, dict[str, Any]]] = {
    "berg2019-crf": ("sv", {"submodels": {"crf": {"max_iterations": 15}}}),
    "trienes2020-rules": ("nl", {}),
    "trienes2020-crf": ("nl", {"submodels": {"crf": {"max_iterations": 15}}}),
    "tjongkimsang2019": ("nl", {"features": {"ner": ""}}),
}


def settings_of(preset: str, language: str, changes: dict[str, Any]) -> EngineSettings:
    given = merged({"folds": 2, "features": {"language": language}}, changes)
    return EngineSettings.from_dict(merged(EngineSettings.preset(preset).to_dict(), given))


@pytest.mark.parametrize("preset", ALONE)
def test_an_engine_of_one_system_marks_what_that_chose_and_nothing_else(preset: str, tmp_path: Path) -> None:
    language, changes = ALONE[preset]
    training, test = synthesize(12, seed=1, language=language), synthesize(6, seed=2, language=language).documents
    engine = train(training, settings_of(preset, language, changes)).engine
    tables = engine.space.tables(test)
    [submodel] = engine.submodels
    proposed = zip(submodel.propose(tables), tables, strict=True)
    chosen = [tuple(chosen_spans(candidates, table.view)) for candidates, table in proposed]
    assert any(chosen) and [note.spans for note in engine.annotate(test)] == chosen
    save_bundle(engine, tmp_path / "engine", self_test=self_test(engine), trained_on={}, figures={})
    again = load_bundle(tmp_path / "engine")
    assert [note.spans for note in again.annotate(test)] == chosen
    assert [note.spans for note in again.with_options(recall="high").annotate(test)] == chosen


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
