"""The parts of Trienes 2020: its column, its search for settings, its network, and its tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.experiments.tuning import SearchSpace, tune
from phistack.ensemble.papers.reproduction import published
from phistack.ensemble.papers.run import PaperRun
from phistack.ensemble.papers.tables import filled
from phistack.ensemble.stacking.folds import training_folds
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.unlabelled import learn_language_models
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import write_corpus
from phistack.submodels.base import new_submodel
from phistack.submodels.blstm.character_training import LanguageModelPlan
from phistack.submodels.chain.crf import IMPOSSIBLE
from tests.fixture_types import Phistack

NOTES = synthesize(12, seed=2, language="nl")
CRF_PRESET, NETWORK_PRESET, RULES_PRESET = (
    EngineSettings.preset(f"trienes2020-{name}") for name in ("crf", "bilstm-crf", "rules")
)
SPACE = SearchSpace.named("trienes2020")


def test_a_word_of_other_characters_than_those_of_ascii_is_known() -> None:
    space = FeatureSpace(FeatureSettings(extra=("ascii",), language="nl"))
    [table] = space.fit([Document("1", "Mevrouw Noë kwam")])
    assert [space.values("ascii")[i] for i in table.column("ascii")] == ["1", "", "1"]


# The search


@pytest.fixture
def small() -> EngineSettings:
    return EngineSettings.from_dict({"folds": 3, "submodels": {"crf": {"max_iterations": 5}}})


def test_every_trial_is_scored_once_on_a_fifth_of_the_patients_that_it_never_saw(small: EngineSettings) -> None:
    space = SearchSpace(SPACE.ranges, trials=2, validation=20)
    found = tune(NOTES, small, "crf", space)
    assert len(found.trials) == 1 + 2 and "on the other 20 %" in found.origin.protocol
    unseen = [NOTES.documents[i] for i in training_folds(NOTES.documents, n_folds=5, seed=small.seed)[0]]
    for trial in found.trials:
        assert trial.counts is not None
        assert trial.counts.tp + trial.counts.fn == sum(len(d.spans) for d in unseen)


def test_a_search_of_the_paper_is_one_command(phistack: Phistack, tmp_path: Any) -> None:
    write_corpus(NOTES, tmp_path / "notes.jsonl", format="jsonl")
    (tmp_path / "few.toml").write_text("[submodels.crf]\nmax_iterations = 3\n")
    status, _shown, error = phistack(
        "tune", tmp_path / "notes.jsonl", "--submodel", "crf", "--space", "trienes2020", "--trials", "2",
        "--preset", "trienes2020-crf", "--config", tmp_path / "few.toml", "--out", tmp_path / "out",
    )  # fmt: skip
    assert status == 0, error
    assert EngineSettings.from_toml(tmp_path / "out" / "settings.toml").submodels["crf"]["templates"] == "trienes2020"


def test_no_path_of_the_crf_goes_from_outside_to_inside() -> None:
    """So there is nothing to repair where the paper repairs it."""
    tables = FeatureSpace(FeatureSettings(language="nl")).fit(NOTES.documents[:4])
    chain = new_submodel("crf", {**CRF_PRESET.submodels["crf"], "max_iterations": 2}).fit(tables).chain_  # type: ignore[attr-defined]
    inside = [i for i, tag in enumerate(chain.tags) if tag.startswith("I-")]
    assert inside and (chain.transitions[chain.tags.index("O"), inside] == IMPOSSIBLE).all()
    assert (chain.start[inside] == IMPOSSIBLE).all()


# The network


def test_the_network_trains_and_scores_on_dutch_notes(tmp_path: Path) -> None:
    """Smaller and for fewer epochs than the paper's, at a higher rate."""
    plan = LanguageModelPlan(units=16, vector=8, epochs=3)
    learn_language_models(synthesize(10, seed=7, language="nl").documents, plan).write(tmp_path / "models")
    fewer = {
        "features": {"language": "nl", "language_models": str(tmp_path / "models")},
        "submodels": {"blstm": {"lstm_size": 24, "word_size": 24, "epochs": 70, "batch_rows": 8, "learning_rate": 0.6}},
    }
    settings = EngineSettings.from_dict(merged(NETWORK_PRESET.to_dict(), fewer))
    tables = FeatureSpace(settings.features).fit(NOTES.documents)
    proposals = new_submodel("blstm", settings.submodels["blstm"]).fit(tables).propose(tables)
    assert all(candidate.chosen for note in proposals for candidate in note)
    assert evaluate(NOTES, NOTES.with_spans([[c.span for c in note] for note in proposals])).strict.f1.value > 0.4


# Its tables


def test_the_joint_preset_has_the_systems_as_their_own_presets_have_them() -> None:
    joint = EngineSettings.preset("trienes2020")
    for preset in (RULES_PRESET, CRF_PRESET, NETWORK_PRESET):
        [(name, given)] = preset.submodels.items()
        assert joint.submodels[name] == given
    assert set(joint.submodels) == {"crf", "blstm", "deduce"} and joint.features.extra == ("ascii",)


def test_the_tables_have_the_figures_of_the_paper_beside_ours(
    phistack: Phistack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phistack.ensemble.papers.run.find_spec", lambda name: None)
    write_corpus(NOTES, tmp_path / "train.jsonl", format="jsonl")
    write_corpus(synthesize(6, seed=8, language="nl"), tmp_path / "test.jsonl", format="jsonl")
    learn_language_models(NOTES.documents, LanguageModelPlan(units=6, vector=4, epochs=1)).write(tmp_path / "models")
    where = json.dumps(str(tmp_path / "models"))
    config = tmp_path / "small.toml"
    config.write_text(f"[features]\nlanguage_models = {where}\n[submodels.blstm]\nword_size = 8\n")
    status, shown, error = phistack(
        "reproduce", "trienes2020", tmp_path / "train.jsonl", tmp_path / "test.jsonl", "--out", tmp_path / "out",
        "--quick", "--config", config, "--jobs", 1,
    )  # fmt: skip
    assert status == 0, error
    tables = json.loads((tmp_path / "out" / "results.json").read_text())["tables"]
    assert set(tables) == {"3", "5", "5-significance", "6"} and "BiLSTM-CRF, nursing notes" in shown
    figure = json.loads((tmp_path / "out" / "results.json").read_text())["figures"]["2"]
    assert figure["by"] == "sentences" and list(figure["curves"]) == ["crf", "blstm", "deduce"]
    assert [(run["share"], run["sample"], run["run"]) for run in figure["runs"]] == [(40, 1, 1), (100, 1, 1)]
    models = {row["method"]: row for row in tables["5"]}
    # All sentences are the training notes, so that the end of the curve is the table.
    whole = {name: points[-1]["f1"] for name, points in figure["curves"].items()}
    for name, row in (("crf", "CRF"), ("deduce", "DEDUCE (here: our rules)")):
        assert whole[name] == pytest.approx(models[row]["ours"][2])
    assert "40 %" in (tmp_path / "out" / "figure-2.txt").read_text() and "sentences" in shown
    assert {"figure-2.png", "figure-2.svg", "figure-2.tex"} < {path.name for path in (tmp_path / "out").iterdir()}
    assert models["CRF"]["paper"] == ["91.9", "77.5", "84.1"] and models["CRF, i2b2 2014"]["ours"] is None
    gained = {row["model"]: row["ours"] for row in tables["5-significance"]}["CRF less DEDUCE (our rules)"]
    for place, measure in enumerate(("precision", "recall", "f1")):
        difference = models["CRF"]["ours"][place] - models["DEDUCE (here: our rules)"]["ours"][place]
        assert gained[measure]["difference"] == pytest.approx(difference) and 0 < gained[measure]["p"] <= 1
    assert sum(row["training"] for row in tables["3"]) == sum(len(d.spans) for d in NOTES.documents)


def test_the_learning_curve_is_that_of_figure_2() -> None:
    plan = published("trienes2020")["curve"]
    assert (plan["figure"], plan["by"], plan["samples"], plan["runs"]) == (2, "sentences", 3, 3)
    assert plan["shares"] == list(range(10, 101, 10)) and len(plan["quick"]["shares"]) < len(plan["shares"])


def test_tags_that_are_joined_count_as_one() -> None:
    gold = Corpus((Document("1", "abcdef", (Span(0, 1, "Hospital"), Span(2, 3, "Name"))),), NOTES.label_set)
    answers = {("deduce",): [[Span(0, 1, "Care_Institute"), Span(4, 5, "Name")]]}
    declared = {
        "number": 6,
        "title": "",
        "by": "types",
        "first": "tag",
        "measures": ["P", "R"],
        "ours": ["deduce"],
        "figures": {"Named": ["1.0", "2.0"]},
        "joined": {"Named": ["Care_Institute", "Hospital"]},
    }
    made = filled(declared, PaperRun(gold, gold, EngineSettings.preset("trienes2020-rules"), answers))
    assert {row["tag"]: row["ours"] for row in made.rows} == {
        "Named": [1.0, 1.0],
        "Hospital": [0.0, 0.0],
        "Name": [0.0, 0.0],
    }
