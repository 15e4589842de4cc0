"""The preset liu2017 has the system of Liu 2017, value by value, but for what docs/papers/liu2017.md says."""

from typing import Any

import numpy as np
import pytest

from phistack.ensemble.stacking.meta_features import MetaFeatures
from phistack.ensemble.stacking.svm import KERNELS, KernelSettings
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.trainer import train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.labels import LabelSet
from phistack.features.saved_files import SavedFiles
from phistack.features.tokens import Tokeniser
from phistack.submodels.base import kind_of, new_submodel
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.crf.templates import usable
from phistack.submodels.registry import newest

PRESET = EngineSettings.preset("liu2017")
NGRID = EngineSettings.preset("liu2017-ngrid")
PARTS: dict[str, Any] = {name: new_submodel(name, given) for name, given in PRESET.submodels.items()}
CRF, NETWORK, WITH_FEATURES = (PARTS.get(name) for name in ("crf", "bi-lstm", "bi-lstm-fea"))
READ = set(CRF.declared)
ALL_COLUMNS = FeatureSettings(pos="nltk", ner="nltk", extra=("zip",), vectors="v", clusters="c").columns


def grams(name: str, n: int) -> set[tuple[tuple[str, int], ...]]:
    """All runs of n neighbours within two tokens on either side."""
    return {tuple((name, first + i) for i in range(n)) for first in range(-2, 4 - n)}


def crossed(*offsets: int) -> tuple[tuple[str, int], ...]:
    """The word with parts of speech."""
    return (("word", 0), *(("pos", offset) for offset in offsets))


def own(*names: str) -> set[tuple[tuple[str, int], ...]]:
    """Columns of the token alone."""
    return {((name, 0),) for name in names}


PAPER = [
    # Tokens
    ("runs of digits, of letters, single others", PRESET.features.tokeniser, "liu"),
    ("the example", Tokeniser(PRESET.features.tokeniser).cut("1/20/71Total time of visit (in minutes):")[0],
     ["1", "/", "20", "/", "71", "Total", "time", "of", "visit", "(", "in", "minutes", ")", ":"]),
    ("Stanford taggers, or NLTK's", (PRESET.features.pos, PRESET.features.ner), ("nltk", "nltk")),
    # CRF
    ("kinds of crosses", len(READ), 24 + 7 + 3 + 10 + 6 + 2 + 2 + 5 + 4),
    ("words", grams("word", 1) | grams("word", 2) | grams("word", 3) <= READ, True),
    ("parts of speech", grams("pos", 1) | grams("pos", 2) | grams("pos", 3) <= READ, True),
    ("word x POS", {cross for cross in READ if {"word", "pos"} == {name for name, _ in cross}}, {
        crossed(0), crossed(-1), crossed(1), crossed(-1, 0), crossed(0, 1), crossed(-1, 1), crossed(-1, 0, 1),
    }),
    ("sentence", own("sentence_length", "end_mark", "unmatched_bracket") <= READ, True),
    ("affixes", own(*(f"{a}{n}" for a in ("prefix", "suffix") for n in (1, 2, 3, 4, 5))) <= READ, True),
    ("orthography", own("all_upper", "has_upper", "punctuation", "has_digit") <= READ, True),
    ("shapes, section, entities", own("shape", "short_shape", "section", "ner") <= READ, True),
    ("word representations", own("brown4", "brown6", "brown10", "brown20", "vector_cluster") <= READ, True),
    ("country, state, city, zip", own("country", "region", "city", "zip") <= READ, True),
    ("every cross can be read", usable(CRF.declared, ALL_COLUMNS), CRF.declared),
    ("CRFsuite's defaults", (CRF.algorithm, CRF.c1, CRF.c2), ("lbfgs", 0.0, 1.0)),
    ("all tokens, each sentence alone", (CRF.others, CRF.min_count, CRF.join_sentences), (1.0, 1, False)),
    # Networks
    ("BI-LSTM without features", NETWORK.columns, ()),
    ("features of BI-LSTM-FEA", set(WITH_FEATURES.columns), {
        "sentence_length", "end_mark", "unmatched_bracket", "section", "ner", "country", "region", "city", "zip",
    }),
    ("features after the LSTM, through a hidden layer", WITH_FEATURES.feature_layer > 0, True),
    ("pre-trained word embeddings", (NETWORK.pretrained, WITH_FEATURES.pretrained), (True, True)),
    *(
        (f"Lample 2016: {name}", (getattr(NETWORK, name), getattr(WITH_FEATURES, name)), (value, value))
        for name, value in (
            ("word_size", 100), ("character_size", 25), ("character_lstm", 25), ("lstm_size", 100),
            ("dropout", 0.5), ("clip", 5.0),
            ("schedule", "constant"),
        )
    ),
    ("BIO", (CRF.scheme, NETWORK.scheme, WITH_FEATURES.scheme), ("BIO",) * 3),
    ("each sentence alone", (NETWORK.window, WITH_FEATURES.window), (1, 1)),
    ("nothing of ours in the networks", {
        getattr(network, name)
        for network in (NETWORK, WITH_FEATURES)
        for name in ("average", "word_dropout", "value_dropout", "replacement", "language_model", "easy_below")
    }, {0.0}),
    # Ensemble
    ("methods", tuple(PRESET.submodels), ("crf", "bi-lstm", "bi-lstm-fea")),
    ("what the methods chose", {part.threshold for part in PARTS.values()}, {1.0}),
    ("features of the SVM", PRESET.stacker.features, "liu2017"),
    ("LIBSVM's kernel and defaults", KERNELS[PRESET.stacker.kernel], (KernelSettings(0.1, 1.0, 1.0),)),
    # Rules after the SVM, on N-GRID alone; no shipped pattern finds BIOID
    ("no rules", PRESET.stacker.rule_labels, ()),
    ("contacts and identifiers on N-GRID", {*NGRID.stacker.rule_labels, "BIOID"},
     {label for label, category in LabelSet.named("ngrid-2016").categories.items() if category in {"CONTACT", "ID"}}),
    ("nothing of ours", (PRESET.stacker.weigh_forms, PRESET.stacker.seek_again, PRESET.cascade), (False,) * 3),
]  # fmt: skip


@pytest.mark.parametrize(("what", "ours", "paper"), PAPER, ids=[what for what, *_ in PAPER])
def test_the_preset_has_the_values_of_the_paper(what: str, ours: object, paper: object) -> None:
    assert ours == paper


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
