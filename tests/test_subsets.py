import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.candidates import pools_of
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import fit_subset_stackers, in_order, subset_name, subsets_of
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training, train
from phistack.features.documents import Span
from phistack.features.errors import BundleError, SettingsError
from phistack.submodels.base import Candidate
from tests.annotated import small_corpus
from tests.tampering import change_json, rehash

SETTINGS = replace(
    EngineSettings(folds=2).only(("regex", "tbed", "crf")),
    submodels={"regex": {}, "tbed": {}, "crf": {"max_iterations": 10}},
)


@pytest.fixture(scope="module")
def training() -> Training:
    return train(small_corpus(8), SETTINGS)


@pytest.fixture(scope="module")
def bundle(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subsets") / "engine"
    save_bundle(training.engine, path, self_test=self_test(training.engine), trained_on={}, figures={})
    return path


def answers(engine: Engine) -> list[list[tuple[Span, float, bool]]]:
    return [[(d.span, d.probability, d.accepted) for d in note] for note in engine.decide(small_corpus(8).documents)]


@given(st.lists(st.text(min_size=1), unique=True, min_size=1, max_size=6))
def test_subsets_are_all_there_once_in_order_and_the_whole_is_last(names: list[str]) -> None:
    subsets = subsets_of(names)
    assert len(set(subsets)) == len(subsets) == 2 ** len(names) - 1
    assert all(subset and list(subset) == [name for name in names if name in subset] for subset in subsets)
    assert subsets[-1] == tuple(names)
    assert [len(subset) for subset in subsets] == sorted(len(subset) for subset in subsets)


def test_chosen_submodels_are_put_in_order_and_unknown_ones_refused() -> None:
    assert in_order(("regex", "tbed", "crf"), ["crf", "regex"]) == ("regex", "crf")
    with pytest.raises(SettingsError, match="no submodel blstm; it has regex, crf"):
        in_order(("regex", "crf"), ["blstm"])
    with pytest.raises(SettingsError, match="at least one"):
        in_order(("regex", "crf"), [])


def test_training_leaves_a_stacker_for_every_subset(training: Training) -> None:
    assert set(training.engine.subset_stackers) == set(subsets_of(("regex", "tbed", "crf"))[:-1])
    assert all(s.kernel_ == training.engine.stacker.kernel_ for s in training.engine.subset_stackers.values())


def test_an_engine_of_a_subset_has_its_submodels_and_its_stacker(training: Training) -> None:
    engine = training.engine.only(["crf", "regex"])
    assert engine.names == engine.stacker.features_.sources == ("regex", "crf")
    assert set(engine.subset_stackers) == {("regex",), ("crf",)}
    assert {vote.source for note in engine.decide(small_corpus(8).documents) for d in note for vote in d.votes} <= {
        *engine.names
    }
    assert training.engine.only(training.engine.names) is training.engine


def test_the_stacker_of_a_subset_is_the_one_that_only_its_candidates_would_train(training: Training) -> None:
    """The oracle: a stacker trained on what the two submodels alone proposed."""
    engine = training.engine
    tables = engine.space.tables(small_corpus(8).documents)
    pools = pools_of(tables, training.out_of_fold, ("regex", "crf"))
    alone = Stacker().fit(tables, pools, sources=("regex", "crf"), kernels=(engine.stacker.kernel_,))
    models = [model for model in engine.submodels if model.name in ("regex", "crf")]
    assert answers(Engine(engine.label_set, engine.space, models, alone)) == answers(engine.only(("regex", "crf")))


def test_training_learns_nothing_from_what_the_engine_leaves_out(training: Training) -> None:
    """A line of dashes that a submodel proposes never reaches a stacker, in training or in the engine."""
    documents = [replace(document, text=f"{document.text}\n{'-' * 60}") for document in small_corpus(8).documents]
    tables = training.engine.space.tables(documents)
    ends = [len(table.document.text) for table in tables]
    dashed = [
        [*note, Candidate(Span(end - 60, end, "DOCTOR"), "crf", 0.9)]
        for note, end in zip(training.out_of_fold["crf"], ends, strict=True)
    ]
    with_dashes = fit_subset_stackers(training.engine.stacker, tables, {**training.out_of_fold, "crf": dashed}, seed=0)
    without = fit_subset_stackers(training.engine.stacker, tables, training.out_of_fold, seed=0)
    assert with_dashes["crf",].figures_ == without["crf",].figures_
    for name, array in without["crf",].svm_.arrays().items():
        assert np.array_equal(with_dashes["crf",].svm_.arrays()[name], array), name


def test_the_stackers_of_subsets_are_the_same_from_any_number_of_processes(training: Training) -> None:
    here, elsewhere = training.engine.subset_stackers, train(small_corpus(8), SETTINGS, jobs=2).engine.subset_stackers
    assert list(here) == list(elsewhere)
    for subset, fitted in elsewhere.items():
        assert fitted.threshold_ == here[subset].threshold_
        assert fitted.out_of_fold_ == here[subset].out_of_fold_
        assert fitted.decided_ == here[subset].decided_
        for name, array in fitted.svm_.arrays().items():
            assert np.array_equal(array, here[subset].svm_.arrays()[name]), (subset, name)


def test_a_training_can_be_cut_down_to_a_subset(training: Training) -> None:
    smaller = training.only(("tbed",))
    assert smaller.engine.names == tuple(smaller.out_of_fold) == ("tbed",)


def test_submodels_that_propose_nothing_have_no_stacker(training: Training) -> None:
    tables = training.engine.space.tables(small_corpus(8).documents)
    silent = {"regex": [[] for _ in tables], "crf": training.out_of_fold["crf"]}
    stackers = fit_subset_stackers(training.engine.stacker, tables, silent, seed=0)
    assert set(stackers) == {("crf",)}
    engine = training.engine
    without = Engine(engine.label_set, engine.space, engine.submodels, engine.stacker, stackers)
    with pytest.raises(BundleError, match="no stacker for regex alone"):
        without.only(("regex",))


@pytest.mark.parametrize("subset", subsets_of(("regex", "tbed", "crf")), ids=subset_name)
def test_a_bundle_gives_every_subset_as_it_was(training: Training, bundle: Path, subset: tuple[str, ...]) -> None:
    engine = load_bundle(bundle, only=reversed(subset))
    assert engine.names == subset
    assert answers(engine) == answers(training.engine.only(subset)) == answers(load_bundle(bundle).only(subset))


def test_a_bundle_without_stackers_of_subsets_says_so(training: Training, tmp_path: Path) -> None:
    engine = training.engine
    old = Engine(engine.label_set, engine.space, engine.submodels, engine.stacker)
    save_bundle(old, tmp_path / "old", self_test=self_test(old), trained_on={}, figures={})
    assert answers(load_bundle(tmp_path / "old")) == answers(engine)
    with pytest.raises(BundleError, match=r"no stacker for crf alone.*train it again"):
        load_bundle(tmp_path / "old", only=("crf",))


def test_the_self_test_is_that_of_the_subset(bundle: Path, tmp_path: Path) -> None:
    spoiled = shutil.copytree(bundle, tmp_path / "spoiled")
    change_json(
        spoiled / "self_test.json", lambda test: test["subsets"]["regex"][0].append([0, 1, "DOCTOR", 1.0, True])
    )
    rehash(spoiled)
    load_bundle(spoiled, only=("crf",))
    with pytest.raises(BundleError, match="self-test"):
        load_bundle(spoiled, only=("regex",))
