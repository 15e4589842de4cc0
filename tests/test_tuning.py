"""Random search for the settings of a submodel: what is drawn, how trials are scored, and what comes out."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phistack.ensemble.experiments.tuning as tuning_module
from phistack.ensemble.experiments.parts import alone_answers
from phistack.ensemble.experiments.tuning import SearchSpace, tune
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.fit_runs import run_fits
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from tests.fixture_types import Phistack

PAGE = (Path(__file__).parents[1] / "docs" / "experiments.md").read_text(encoding="utf-8")
CORPUS = synthesize(8, seed=2)
SETTINGS = replace(EngineSettings(folds=2), submodels={"regex": {}, "tbed": {"start": "empty", "max_rules": 8}})
SPACE = SearchSpace({"min_gain": {"from": 2, "to": 9}, "within": ["line", "note"]})


# The space


@given(
    st.floats(-100, 100).flatmap(lambda low: st.tuples(st.just(low), st.floats(low + 0.01, 200))),
    st.integers(1, 20),
    st.integers(0, 99),
)
def test_drawn_values_lie_within_their_ranges(ends: tuple[float, float], trials: int, seed: int) -> None:
    low, high = ends
    space = SearchSpace({"a": {"from": low, "to": high}, "b": {"from": 1, "to": 3}, "c": ["x", "y"]})
    drawn = space.sampled(trials, seed=seed)
    assert len(drawn) == trials and drawn == space.sampled(trials, seed=seed)
    assert drawn[:3] == space.sampled(max(3, trials) + 4, seed=seed)[: len(drawn[:3])], "more trials begin with these"
    for trial in drawn:
        assert list(trial) == ["a", "b", "c"]
        assert low <= trial["a"] <= high and trial["b"] in (1, 2, 3) and trial["c"] in ("x", "y")


def test_a_scale_of_logarithms_draws_as_many_from_each_decade() -> None:
    space = SearchSpace(
        {"a": {"from": 0.0001, "to": 10.0, "scale": "log"}, "n": {"from": 1, "to": 1000, "scale": "log"}}
    )
    drawn = space.sampled(500, seed=0)
    assert all(isinstance(trial["n"], int) for trial in drawn)
    for name, decades in (("a", 5), ("n", 3)):
        counts, _ = np.histogram(np.log10([trial[name] for trial in drawn]), bins=decades)
        assert counts.min() > 0.7 * 500 / decades


def test_lists_alone_are_not_drawn_twice() -> None:
    drawn = SearchSpace({"a": [1, 2], "b": ["x", "y", "z"]}).sampled(50, seed=1)
    assert len({tuple(trial.values()) for trial in drawn}) == len(drawn) == 6


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        ("", "names no setting"),
        ("c2 = 0.5", "range of c2 must be a list"),
        ("c2 = []", "range of c2 must be a list"),
        ("c2 = { from = 1 }", "range of c2 must be a list"),
        ("c2 = { from = 2, to = 1 }", "from a number to a greater one"),
        ("c2 = { from = 'a', to = 'b' }", "from a number to a greater one"),
        ("c2 = { from = 0, to = 1, scale = 'log' }", "begin above 0"),
        ("c2 = { from = 1, to = 2, scale = 'lag' }", "did you mean log"),
        ("c2 = { from = 1, to = 2, scle = 'log' }", "did you mean scale"),
        ("c2 = = 1", "line 1"),
    ],
)
def test_a_space_that_cannot_be_used_is_one_sentence_with_its_file(tmp_path: Path, content: str, reported: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=rf"search space .*space\.toml cannot be used: .*{reported}") as caught:
        SearchSpace.named(str(path))
    assert "\n" not in str(caught.value)


# The search


@pytest.fixture(scope="module")
def tuning(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tune(CORPUS, SETTINGS, "tbed", SPACE, trials=3, cache=tmp_path_factory.mktemp("folds"))


def test_trials_are_scored_out_of_fold_as_an_ablation_scores_the_submodel_alone(tuning: Any) -> None:
    for trial in tuning.trials:
        given = {**SETTINGS.submodels["tbed"], **trial.given}
        alone = replace(SETTINGS, submodels={"tbed": given})
        spans = alone_answers(propose(CORPUS, alone), "tbed")
        right = sum(len({*document.spans} & {*found}) for document, found in zip(CORPUS.documents, spans, strict=True))
        n_marked, n_gold = (
            sum(map(len, notes)) for notes in (spans, [document.spans for document in CORPUS.documents])
        )
        assert trial.measures["f1"] == pytest.approx(2 * right / (n_marked + n_gold))
    assert tuning.trials[0].given == {}
    assert tuning.best.measures["f1"] == max(trial.measures["f1"] for trial in tuning.trials)


def test_the_settings_that_come_out_have_the_best_and_all_that_was_given(tuning: Any, tmp_path: Path) -> None:
    tuning.draw(tmp_path)
    read = EngineSettings.from_toml(tmp_path / "settings.toml")
    assert read == tuning.settings
    assert read.submodels["tbed"] == {**SETTINGS.submodels["tbed"], **tuning.best.given}
    assert read.submodels["regex"] == {}
    assert (tmp_path / "trials.txt").read_text().count("\n| ") == 1 + len(tuning.trials)


def test_a_stopped_search_continues_and_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tuning: Any
) -> None:
    fitted: list[int] = []

    def counted(*arguments: Any, **named: Any) -> Any:
        if len(fitted) == 2:
            raise KeyboardInterrupt
        found = run_fits(*arguments, **named)
        fitted.append(sum(not spent.cached for spent in found.seconds.values()))
        return found

    monkeypatch.setattr(tuning_module, "run_fits", counted)
    with pytest.raises(KeyboardInterrupt):
        tune(CORPUS, SETTINGS, "tbed", SPACE, trials=3, cache=tmp_path / "folds")
    monkeypatch.undo()
    seen = []
    monkeypatch.setattr(
        tuning_module, "run_fits", lambda *given, **named: seen.append(run_fits(*given, **named)) or seen[-1],
    )  # fmt: skip
    again = tune(CORPUS, SETTINGS, "tbed", SPACE, trials=3, cache=tmp_path / "folds")
    assert [all(spent.cached for spent in found.seconds.values()) for found in seen] == [True, True, False, False]
    assert again.trials == tuning.trials


def test_a_trial_that_cannot_work_is_listed_with_its_reason() -> None:
    found = tune(CORPUS, SETTINGS, "tbed", SearchSpace({"min_gain": [0]}), trials=1)
    assert found.best.number == 0 and found.trials[1].counts is None
    assert "min_gain of the rule learner must be at least 1" in found.to_dict()["trials"][1]["reason"]
    assert "Trial 1 cannot work" in found.tables()["table"].note
    broken = replace(SETTINGS, submodels={"tbed": {"min_gain": 0}})
    with pytest.raises(SettingsError, match="no trial can work"):
        tune(CORPUS, broken, "tbed", SearchSpace({"within": ["line"]}), trials=1)


@pytest.mark.parametrize(
    ("arguments", "content", "reported"),
    [
        (["--submodel", "crf"], "c3 = [1.0]", "the submodel crf has no setting c3"),
        (["--submodel", "crf"], "scheme = [3]", "submodel crf is of the wrong type"),
        (["--submodel", "cfr"], "c2 = [1.0]", "no submodel named cfr"),
        (["--submodel", "crf", "--space", "none.toml"], "c2 = [1.0]", "none.toml cannot be used"),
    ],
)
def test_bad_input_ends_in_one_sentence_and_writes_nothing(
    phistack: Phistack, tmp_path: Path, arguments: list[str], content: str, reported: str
) -> None:
    write_corpus(CORPUS, tmp_path / "notes", format="i2b2")
    (tmp_path / "space.toml").write_text(content)
    status, _, error = phistack(
        "tune", tmp_path / "notes", "--out", tmp_path / "out", "--space", tmp_path / "space.toml", *arguments
    )
    assert status == 1 and reported in error and len(error.strip().splitlines()[-1:]) == 1
    assert not list(tmp_path.glob("out*"))


@pytest.mark.slow
def test_the_recipe_of_the_manual_works(phistack: Phistack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = PAGE[PAGE.index("## Which settings are best?") :]
    monkeypatch.chdir(tmp_path)
    [space] = re.findall(r"```toml\n(.*?)```", recipe, re.S)
    Path("space.toml").write_text(space)
    commands = re.findall(r"^\$ phistack (.*)$", recipe, re.M)
    assert [command.split()[0] for command in commands] == ["synthesize", "tune", "train"]
    for command in commands:
        status, _, error = phistack(*command.split())
        assert status == 0, error
    results = json.loads(Path("tuning/results.json").read_text())
    assert [trial["trial"] for trial in results["trials"]] == [0, 1, 2]
    tuned = tomllib.loads(Path("tuning/settings.toml").read_text())["submodels"]["crf"]
    assert tuned == results["trials"][results["best trial"]]["settings"]
    assert len(list(Path("tuning.folds").iterdir())) == 3 * 2, "a fit for each trial and fold"
    assert {path.name for path in Path("tuning").iterdir()} == {
        "results.json", "settings.toml", "table.tex", "trials.txt",
    }  # fmt: skip
