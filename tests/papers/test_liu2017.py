"""The parts of the system of Liu 2017: features of the SVM, shapes, postal codes, and networks with features."""

import numpy as np

from phistack.ensemble.stacking.meta_features import MetaFeatures
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.trainer import train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import kind_of
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.registry import newest

PRESET = EngineSettings.preset("liu2017")


def test_the_ten_features_of_the_svm_tell_the_methods_apart() -> None:
    names = MetaFeatures(tuple(PRESET.submodels), ("DATE",), PRESET.stacker.features).columns
    votes = [name for name in names if name.split(":")[-1] in PRESET.submodels]
    assert len(votes) == 3 and len(names) - len(votes) + 1 == 10


def test_shapes_are_those_of_the_example() -> None:
    space = FeatureSpace()
    [table] = space.fit([Document("1", "Hospital")])
    assert [space.values(name)[table.column(name)[0]] for name in ("shape", "short_shape")] == ["Aaaaaaaa", "Aa"]


def test_postal_codes_are_those_of_a_state() -> None:
    space = FeatureSpace(FeatureSettings(extra=("zip",)))
    [table] = space.fit([Document("1", "Boston 02139-4307 or 00000 and 2139 in 99950, not 99951")])
    found = [word for word, i in zip(table.words, table.column("zip"), strict=True) if space.values("zip")[i]]
    assert found == ["02139", "99950"]


def test_a_network_of_no_columns_reads_those_of_extra_neither() -> None:
    space = FeatureSpace(FeatureSettings(extra=("zip",)))
    space.fit([Document("1", "Boston 02139")])
    assert BlstmSubmodel(columns=()).columns_in(space) == []
    assert BlstmSubmodel(columns=("number",)).columns_in(space) == ["number", "zip"]


def test_the_preset_trains_both_networks_and_the_crf_in_one_engine() -> None:
    small = {"epochs": 1, "least_steps": 0, "lstm_size": 6, "character_lstm": 3, "word_size": 8}
    fewer = {
        "folds": 2,
        "features": {"pos": "", "ner": ""},
        "submodels": {"bi-lstm": small, "bi-lstm-fea": {**small, "feature_layer": 5}, "crf": {"max_iterations": 15}},
    }
    training = train(synthesize(10, seed=1), EngineSettings.from_dict(merged(PRESET.to_dict(), fewer)))
    assert training.engine.names == ("crf", "bi-lstm", "bi-lstm-fea")
    assert {newest(kind_of(name, given)) for name, given in PRESET.submodels.items()} == {"crf.v1", "blstm.v1"}
    assert all(c.chosen for proposals in training.out_of_fold.values() for note in proposals for c in note)
    assert any(training.engine.stacker.out_of_fold_)


def test_features_after_the_lstm_are_saved() -> None:
    notes = synthesize(3, seed=1)
    space = FeatureSpace(FeatureSettings())
    tables = space.fit(notes.documents)
    small = {"networks": 1, "epochs": 1, "least_steps": 0, "lstm_size": 6, "columns": ("section", "number", "city")}
    model = BlstmSubmodel(**small, feature_layer=5, scheme="BIO").fit(tables)
    assert model.weights_[0]["dense"].shape == (5, len(model.tags_))
    again = BlstmSubmodel.load(SavedFiles.written_by(model.save), space)
    np.testing.assert_array_equal(again.emissions(tables)[0], model.emissions(tables)[0])
