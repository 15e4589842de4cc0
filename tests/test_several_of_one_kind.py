"""Several submodels of one kind under different names, wherever names are used."""

from pathlib import Path

import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.experiments.ablation import variants_of
from phistack.ensemble.experiments.speed import measure_speed
from phistack.ensemble.stacking.subsets import subset_name
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training
from tests.annotated import small_corpus

SUBMODELS = {
    "strict": {"kind": "regex", "min_precision": 0.9},
    "wide-crf": {"kind": "crf.v1", "max_iterations": 5, "threshold": 0.01},
    "crf": {"max_iterations": 5},
    "regex": {},
}
NAMES = ("regex", "crf", "strict", "wide-crf")
SETTINGS = EngineSettings(submodels=SUBMODELS, folds=2)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("several")


@pytest.fixture(scope="module")
def training(home: Path) -> Training:
    return train_bundle(small_corpus(), home / "engine", SETTINGS, cache=home / "cache")[0]


def test_stacker_candidates_and_bundle_go_by_name(training: Training, home: Path) -> None:
    engine = load_bundle(home / "engine")
    assert engine.names == training.engine.names == tuple(training.out_of_fold) == NAMES
    assert {f"vote:{name}" for name in NAMES} <= set(engine.stacker.features_.columns)
    for name, notes in training.out_of_fold.items():
        assert {candidate.source for candidates in notes for candidate in candidates} == {name}
    manifest = read_manifest(home / "engine")
    assert manifest["kinds"] == {"regex": "regex.v1", "crf": "crf.v1", "strict": "regex.v1", "wide-crf": "crf.v1"}
    assert list(manifest["figures"]["strict"]) == [*NAMES, "stack"]
    assert {f"submodels/{name}/settings.json" for name in NAMES} <= set(manifest["files"])
    documents = small_corpus().documents
    assert list(engine.annotate(documents)) == list(training.engine.annotate(documents))


def test_a_subset_is_loaded_and_measured_by_name(training: Training, home: Path) -> None:
    chosen = ("crf", "wide-crf")
    documents = small_corpus().documents[:2]
    expected = [document.spans for document in training.engine.only(chosen).annotate(documents)]
    assert list(measure_speed(home / "engine", chosen, documents).spans) == expected
    assert len(training.engine.subset_stackers) == 14
    assert "crf+strict+wide-crf" in map(subset_name, training.engine.subset_stackers)


def test_folds_are_kept_by_name_and_used_again(training: Training, home: Path) -> None:
    kept = {path.name for path in (home / "cache").iterdir() if ".bundle" not in path.name}
    assert len(kept) == 2 * len(NAMES)
    train_bundle(small_corpus(), home / "again", SETTINGS, cache=home / "cache", jobs=2)
    assert {path.name for path in (home / "cache").iterdir() if ".bundle" not in path.name} == kept
    assert read_manifest(home / "again") == read_manifest(home / "engine")


def test_an_ablation_leaves_out_each_name_and_what_another_holds() -> None:
    settings = EngineSettings(submodels={**SUBMODELS, "tbed": {}, "own-start": {"kind": "tbed", "start": "empty"}})  # type: ignore[dict-item]
    left_out = [row.name for row in variants_of(settings, groups=False) if row.part == "without a submodel"]
    alone = ("regex", "tbed", "crf", "strict", "wide-crf", "own-start")
    assert left_out == [*(f"without {name}" for name in alone), "without regex and tbed", "without strict and tbed"]


def test_only_a_name_of_its_own_changes_the_seed() -> None:
    tasks = list(tasks_of(SETTINGS, [], [[], []]))
    seeds = {task.name: task.seed for task in tasks}
    assert {task.name for task in tasks[: len(seeds)]} == {*seeds}, "one of each comes first"
    assert [task.cost for task in tasks[len(seeds) :]] == sorted(
        (task.cost for task in tasks[len(seeds) :]), reverse=True
    )
    assert (seeds["regex"], seeds["crf"]) == (SETTINGS.seed, SETTINGS.seed)
    assert len(set(seeds.values())) == 3
