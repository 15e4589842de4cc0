"""The preset anonymate2019 has the system of Adams et al. 2019, value by value; its policy, column and types."""

from typing import Any

import pytest

from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.evaluation import evaluate_systems
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.trainer import out_of_fold_corpora, train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.submodels.base import new_submodel
from phistack.submodels.crf.templates import named_crosses

PRESET = EngineSettings.preset("anonymate2019")
CRF, NETWORK = (new_submodel(name, given) for name, given in PRESET.submodels.items())
SETTINGS: Any = (CRF, NETWORK)
READ = {name for cross in SETTINGS[0].declared for name, _ in cross}

PAPER = [
    ("a CRF or a BiLSTM with a CRF layer", tuple(PRESET.submodels), ("crf", "bi-lstm")),
    ("words, prefixes and suffixes", {"word", "prefix3", "suffix3"} <= READ, True),
    ("regular expressions", "regex_hit" in READ, True),
    ("clusters of word vectors", "vector_cluster" in READ, True),
    ("nothing else", {n.rstrip("1234") for n in READ}, {"word", "prefix", "suffix", "regex_hit", "vector_cluster"}),
    ("the defaults of CRFsuite", (SETTINGS[0].algorithm, SETTINGS[0].c1, SETTINGS[0].c2), ("lbfgs", 0.0, 1.0)),
    ("IOB", (SETTINGS[0].scheme, SETTINGS[1].scheme), ("BIO", "BIO")),
    ("Lample's network", (SETTINGS[1].crf, SETTINGS[1].character_lstm, SETTINGS[1].lstm_size), (True, 25, 100)),
    ("no features in it", SETTINGS[1].columns, ()),
    ("without HTML", PRESET.features.html, True),
    ("24 types", len(LabelSet.named("anonymate2019").labels), 24),
    ("persons are numbered", Policy.named("anonymate2019").strategies["Person"], "numbered"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "ours", "paper"), PAPER, ids=[what for what, *_ in PAPER])
def test_the_preset_has_the_values_of_the_paper(what: str, ours: object, paper: object) -> None:
    assert ours == paper


def test_without_clusters_the_rest_is_the_same() -> None:
    plain = [cross for cross in named_crosses("anonymate2019") if "vector_cluster" not in dict(cross)]
    assert plain == list(named_crosses("anonymate2019-words"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ann@ward.org", "email"), ("www.ward.org", "url"), ("https://ward.org", "url"), ("10.0.0.12", "ip"),
        ("617 555 0199", "digits"), ("12345", "digits"), ("1234", ""), ("ward", ""),
    ],
)  # fmt: skip
def test_what_regular_expressions_find_is_a_column(text: str, value: str) -> None:
    space = FeatureSpace(FeatureSettings(extra=("regex_hit",)))
    [table] = space.fit([Document("1", f"see {text} there")])
    found = [space.values("regex_hit")[i] for i in table.column("regex_hit")]
    assert set(found[1:-1]) == {value} and found[0] == found[-1] == ""


def test_persons_are_numbered_and_what_identifies_nobody_stays() -> None:
    text = "Ann from Oslo met Bo. Ann speaks Danish."
    marked = [
        ("Ann", "Person", 0),
        ("Oslo", "Location", 9),
        ("Bo", "Person", 18),
        ("Ann", "Person", 22),
        ("Danish", "Language", 33),
    ]
    note = Document("1", text, tuple(Span(start, start + len(t), label) for t, label, start in marked))
    found = Deidentifier(Policy.named("anonymate2019"), LabelSet.named("anonymate2019"), "en", None).apply(
        note, note.spans
    )
    assert found.text == "Person 1 from Location met Person 2. Person 1 speaks Danish."


def test_the_preset_trains_and_scores() -> None:
    notes = synthesize(8, seed=4).mapped("anonymate2019")
    small = {"epochs": 1, "least_steps": 0, "lstm_size": 6, "character_lstm": 3, "word_size": 8}
    fewer = {"folds": 2, "submodels": {"bi-lstm": small, "crf": {"max_iterations": 15}}}
    settings = EngineSettings.from_dict(merged(PRESET.to_dict(), fewer))
    assert tuple(settings.submodels) == ("crf", "bi-lstm")
    training = train(notes, settings.only(("crf",)))
    scores = evaluate_systems(notes, out_of_fold_corpora(training, notes))
    assert scores["crf"].strict.f1.value == scores["stack"].strict.f1.value > 0.3
