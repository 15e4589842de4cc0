"""The presets of Berg and Dalianis 2019 have their systems, value by value, and the lemma is that of the language."""

from typing import Any

import pytest

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.trainer import out_of_fold_corpora, train
from phistack.features import errors
from phistack.features.columns.installed import installed_column
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.errors import PackageError
from phistack.submodels.base import kind_of, new_submodel

NOTES = synthesize(14, seed=1, language="sv")
LSTM_PRESET, CRF_PRESET = EngineSettings.preset("berg2019-lstm"), EngineSettings.preset("berg2019-crf")
LSTM: Any = new_submodel("lstm", LSTM_PRESET.submodels["lstm"])
CRF: Any = new_submodel("crf", CRF_PRESET.submodels["crf"])
NAMES = ("n_letters", "n_digits", "n_others", "honorific", "hospital", "number_pattern")
FEATURES = (
    *("lemma", "lower", "prefix4", "prefix8", "suffix4", "suffix8", "pos", "starts_upper", "first_name", "city"),
    *NAMES,
)

PAPER = [
    ("one LSTM", [kind_of(name, given) for name, given in LSTM_PRESET.submodels.items()], ["blstm"]),
    ("no CRF layer", LSTM.crf, False),
    ("word vectors of 300 dimensions, given", (LSTM.word_size, LSTM.pretrained), (300, True)),
    ("characters by an LSTM", LSTM.character_lstm > 0, True),
    ("no features", LSTM.columns, ()),
    ("learning rate 0.001, decay 0.9", (LSTM.learning_rate, LSTM.decay, LSTM.schedule), (0.001, 0.9, "constant")),
    ("dropout", LSTM.dropout, 0.5),
    ("batch size", LSTM.batch_rows, 64),
    ("at most 20 epochs", (LSTM.epochs, LSTM.least_steps), (20, 0)),
    ("early stopping of 3 on a tenth", (LSTM.patience, LSTM.development), (3, 0.1)),
    ("BIOES", (LSTM.scheme, CRF.scheme), ("BIOES", "BIOES")),
    ("ten folds by record", (LSTM_PRESET.folds, CRF_PRESET.folds), (10, 10)),
    ("nothing of ours", {
        getattr(LSTM, name)
        for name in ("average", "word_dropout", "value_dropout", "replacement", "language_model", "easy_below")
    }, {0.0}),
    ("one network, each sentence alone", (LSTM.networks, LSTM.window), (1, 1)),
    ("one CRF", tuple(CRF_PRESET.submodels), ("crf",)),
    ("columns on request", CRF_PRESET.features.extra, ("lemma", *NAMES)),
    ("features at a window of 5", {(name, i) for name in FEATURES for i in range(-2, 3)}
     - {atom for cross in CRF.declared for atom in cross}, set()),
    ("every cross of the CRF can be read", {n for c in CRF.declared for n, _ in c} - {"pos"}
     <= set(CRF_PRESET.features.columns), True),
    ("L-BFGS", CRF.algorithm, "lbfgs"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "ours", "paper"), PAPER, ids=[what for what, *_ in PAPER])
def test_the_presets_have_the_values_of_the_paper(what: str, ours: object, paper: object) -> None:
    assert ours == paper


def test_the_crf_trains_and_scores_on_swedish_notes() -> None:
    small = {"folds": 2, "features": {"language": "sv"}, "submodels": {"crf": {"max_iterations": 30}}}
    notes = synthesize(30, seed=1, language="sv")
    training = train(notes, EngineSettings.from_dict(merged(CRF_PRESET.to_dict(), small)))
    assert evaluate(notes, out_of_fold_corpora(training, notes)["crf"]).strict.f1.value > 0.5


def test_the_lstm_trains_and_scores_on_swedish_notes() -> None:
    sizes = {"word_size": 16, "lstm_size": 24, "character_lstm": 8, "character_size": 8, "learning_rate": 0.03}
    small = {
        "folds": 2,
        "features": {"language": "sv"},
        "submodels": {"lstm": {**sizes, "epochs": 16, "batch_rows": 8, "patience": 16}},
    }
    training = train(NOTES, EngineSettings.from_dict(merged(LSTM_PRESET.to_dict(), small)))
    assert evaluate(NOTES, out_of_fold_corpora(training, NOTES)["lstm"]).strict.recall.value > 0.1


@pytest.mark.parametrize(
    ("language", "word", "lemma"),
    [
        ("sv", "Barnen", "barn"),
        ("nl", "kinderen", "kind"),
        ("en", "went", "go"),
        ("sv", "2012", "2012"),
        ("sv", "%", "%"),
    ],
)
def test_lemmas_are_those_of_the_language(language: str, word: str, lemma: str) -> None:
    space = FeatureSpace(FeatureSettings(language=language, extra=("lemma",)))
    [table] = space.fit([Document("1", word)])
    assert [space.values("lemma")[i] for i in table.column("lemma")] == [lemma]


def test_without_the_lemmatiser_the_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed_column.cache_clear()
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(PackageError, match=r"column lemma needs simplemma; .* pip install '\.\[lemmas\]'"):
        FeatureSettings(extra=("lemma",))
