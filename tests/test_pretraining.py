"""Networks that learn from invented notes before they learn from those of a training."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.notes import LANGUAGES
from phistack.ensemble.training.fit_tasks import pretraining_tasks
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Proposed, propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Corpus, Span
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Pretraining, new_submodel
from phistack.submodels.blstm.encoder import Encoder
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.weights import first_weights, transferred_weights
from phistack.submodels.registry import KINDS, usual_name

SMALL = {
    "networks": 2, "epochs": 2, "least_steps": 4, "lstm_size": 8, "word_size": 8, "channels": 2, "kernels": (2, 3),
    "foreseen_words": 20, "feature_size": 1, "learning_rate": 0.03,
}  # fmt: skip
NETWORK = {**SMALL, "networks": 1, "threshold": 0.002, "invented_notes": 4}
SETTINGS = EngineSettings(folds=2, submodels={"regex": {}, "blstm": NETWORK})
PAPERS = ("anonymate2019", "berg2019-lstm", "liu2017", "trienes2020-bilstm-crf", "zhao2020")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthesize(8, seed=6)


@pytest.fixture(scope="module")
def tables(corpus: Corpus) -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings()).fit(corpus.documents)


@pytest.fixture(scope="module")
def first(tables: list[FeatureTable]) -> BlstmSubmodel:
    """Networks that learned from other notes, with other labels."""
    notes = synthesize(6, seed=9, registers="all").documents
    return BlstmSubmodel(**SMALL, invented_notes=0).fit(tables[0].space.tables(notes), seed=3)


def found(proposed: Proposed) -> list[list[tuple[Span, float]]]:
    return [[(c.span, c.score) for c in note] for note in proposed.out_of_fold["blstm"]]


def test_what_was_learned_of_words_characters_and_values_is_transferred_weights(
    tables: list[FeatureTable], first: BlstmSubmodel
) -> None:
    joined = first.encoder_.joined(Encoder.of(tables, first.encoder_.columns))
    model = BlstmSubmodel(**SMALL)
    model.encoder_, model.tags_, model.word_size_, model.language_models_ = joined, ("O", "B-X"), 8, None
    weights = first_weights(model._sizes(), 1, transferred_weights(first.weights_[0], first.encoder_, joined))
    earlier = first.weights_[0]
    for name in ("forward", "backward", "kernel2", "kernel3_bias"):
        assert np.array_equal(weights[name], earlier[name]), name
    # What each token of a note is read as is the same by either encoder, as far as the first one knows it.
    old, new = (encoder.encode(tables[0], {}) for encoder in (first.encoder_, joined))
    assert np.array_equal(weights["word"][new.words][old.words > 1], earlier["word"][old.words][old.words > 1])
    unknown = np.isin(old.features, first.encoder_.offsets)
    read, known = weights["feature"][new.features], earlier["feature"][old.features]
    assert np.array_equal(read[~unknown], known[~unknown])
    assert np.array_equal(weights["feature"][joined.offsets[:-1]], earlier["feature"][first.encoder_.offsets[:-1]])
    assert not {"dense", "transitions"}.intersection(
        k.name for k in transferred_weights(earlier, first.encoder_, joined)
    )


def test_a_network_that_learned_before_begins_better(tables: list[FeatureTable], first: BlstmSubmodel) -> None:
    """With next to no steps of its own, it knows the words that only the invented notes have."""
    started = BlstmSubmodel(**SMALL, invented_notes=6)
    started.warm_start(SavedFiles.written_by(first.save), tables[0].space)
    started.fit(tables, seed=1)
    alone = BlstmSubmodel(**SMALL, invented_notes=6).fit(tables, seed=1)
    assert set(first.encoder_.words) <= set(started.encoder_.words)
    assert not set(first.encoder_.words) <= set(alone.encoder_.words)
    assert not np.array_equal(started.weights_[0]["forward"], alone.weights_[0]["forward"])
    again = BlstmSubmodel(**SMALL, invented_notes=6)
    again.warm_start(SavedFiles.written_by(first.save), tables[0].space)
    assert all(
        np.array_equal(a[name], b[name])
        for a, b in zip(started.weights_, again.fit(tables, seed=1).weights_, strict=True)
        for name in a
    )


def test_a_fit_forgets_what_it_began_from(tables: list[FeatureTable], first: BlstmSubmodel) -> None:
    model = BlstmSubmodel(**SMALL, invented_notes=6)
    model.warm_start(SavedFiles.written_by(first.save), tables[0].space)
    assert np.array_equal(
        model.fit(tables, seed=1).fit(tables, seed=1).weights_[0]["forward"],
        BlstmSubmodel(**SMALL, invented_notes=6).fit(tables, seed=1).weights_[0]["forward"],
    )


def test_a_training_begins_with_invented_notes_in_any_number_of_processes(corpus: Corpus) -> None:
    one, two = (propose(corpus, SETTINGS, jobs=jobs) for jobs in (1, 2))
    assert ("blstm", "pretraining") in one.seconds
    assert ("regex", "pretraining") not in one.seconds
    assert found(one) == found(two)
    without = {"regex": {}, "blstm": {**NETWORK, "invented_notes": 0}}
    alone = propose(corpus, EngineSettings(folds=2, submodels=without))
    assert ("blstm", "pretraining") not in alone.seconds
    assert found(alone) != found(one)


def test_a_language_without_invented_notes_has_no_pretraining(corpus: Corpus) -> None:
    assert "fr" not in LANGUAGES
    settings = EngineSettings(FeatureSettings(language="fr"), SETTINGS.submodels, folds=2)
    assert ("blstm", "pretraining") not in propose(corpus, settings).seconds


def test_where_all_folds_are_in_the_cache_nothing_is_learned_again(corpus: Corpus, tmp_path: Path) -> None:
    first = propose(corpus, SETTINGS, cache=tmp_path)
    again = propose(corpus, SETTINGS, cache=tmp_path)
    assert all(spent.cached for spent in again.seconds.values())
    assert ("blstm", "pretraining") not in again.seconds
    assert found(again) == found(first)
    more = {"regex": {}, "blstm": {**NETWORK, "invented_notes": 5}}
    other = propose(corpus, EngineSettings(folds=2, submodels=more), cache=tmp_path)
    assert not any(spent.cached for (name, _), spent in other.seconds.items() if name == "blstm")


def test_the_systems_of_the_papers_learn_from_annotated_notes_alone() -> None:
    networks = [
        new_submodel(name, given)
        for paper in PAPERS
        for name, given in EngineSettings.preset(paper).submodels.items()
        if given.get("kind", name) == "blstm"
    ]
    assert len(networks) >= len(PAPERS)
    assert all(network.pretraining() is None for network in networks)


@pytest.mark.parametrize("kind", KINDS.names)
def test_a_pretraining_is_a_submodel_of_the_same_kind_without_one(kind: str) -> None:
    name = usual_name(kind)
    start = new_submodel(name, {}).pretraining()
    assert start is None or new_submodel(name, dict(start.changes)).pretraining() is None
    if name == "blstm":
        assert start == Pretraining(400, start.changes if start else {})


def test_no_note_of_a_pretraining_is_one_that_a_user_tries(corpus: Corpus) -> None:
    space = FeatureSpace(FeatureSettings())
    space.fit(corpus.documents)
    every: Sequence[Any] = [*pretraining_tasks(SETTINGS, space)]
    texts = {table.document.text for task in every for table in task.training}
    assert texts
    assert not texts & {d.text for d in synthesize(50, seed=0, registers="all").documents}
