"""A whole training on notes of any shape and layout, on other people's corpora, and with every preset.

Rounds and sizes are small, for speed; the code is that of the defaults, in two processes where stated.
"""

import pickle
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.ensemble.command_line.groups import TrainingOptions
from phistack.ensemble.evaluation import evaluate_systems
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.settings import PRESETS, EngineSettings
from phistack.ensemble.training.trainer import out_of_fold_corpora, train
from phistack.ensemble.training.unlabelled import learn_language_models
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import TrainingError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from phistack.submodels.base import kind_of
from phistack.submodels.blstm.character_training import LanguageModelPlan
from tests.odd_shapes import LAYOUTS, SHAPES, laid_out
from tests.test_submodels_any_shape import QUICK

QUICK_SUBMODELS = {"regex": {}, "tbed": {"max_rules": 30}, "crf": {"max_iterations": 8}, "blstm": QUICK["blstm"]}
FAST = ("regex", "tbed", "crf")
PLAIN = SHAPES["one line"]()
COURTS = Path(__file__).parents[1].parent / "shared" / "corpora"


def corpus_of(documents: Any, language: str = "en") -> Any:
    labels = {span.label: "OTHER" for document in documents for span in document.spans}
    return Corpus(tuple(documents), LabelSet("custom", labels, language=language))


def quick(names: Any = FAST, language: str = "en", folds: int = 5) -> Any:
    submodels = {name: QUICK_SUBMODELS[name] for name in names}
    return EngineSettings(features=FeatureSettings(language=language), submodels=submodels, folds=folds)


def trained(documents: Any, names: Any = FAST, language: str = "en", folds: int = 5, jobs: int = 1) -> Any:
    """The strict out-of-fold F1 of all systems; the engine also annotates the notes, and some others."""
    corpus = corpus_of(documents, language)
    training = train(corpus, quick(names, language, folds), jobs=jobs)
    others = [Document("other-1", ""), Document("other-2", "\n"), Document("other-3", "Dr. Gorse 05/12/2019")]
    notes = [*others, *(document.with_spans(()) for document in corpus.documents)]
    annotated = list(training.engine.annotate(notes))
    assert [(note.id, note.text) for note in annotated] == [(note.id, note.text) for note in notes]
    reports = evaluate_systems(corpus, out_of_fold_corpora(training, corpus))
    return {name: report.strict.f1.value for name, report in reports.items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_notes_of_any_shape_can_be_trained_on(shape: Any) -> None:
    f1 = trained(SHAPES[shape](), folds=3)
    assert f1["stack"] >= max(f1.values()) - 0.25


@settings(max_examples=4)
@given(layout=st.sampled_from([*LAYOUTS]), words=st.lists(st.text(max_size=30), min_size=8, max_size=8))
def test_notes_in_any_layout_with_any_words_can_be_trained_on(layout: Any, words: Any) -> None:
    assert trained(laid_out(layout, words), ("regex", "crf"), folds=2)["crf"] >= 0


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one token", "a line of 2,000 tokens", "empty notes"])
def test_all_four_submodels_train_on_them_in_two_processes(shape: Any) -> None:
    assert set(trained(SHAPES[shape](), (*FAST, "blstm"), folds=2, jobs=2)) == {*FAST, "blstm", "stack"}


def _labelled(number: Any, label: Any) -> Any:
    """One note's first span gets another label."""
    return [
        note.with_spans([Span(*note.spans[0].__getstate__()[:2], label), *note.spans[1:]]) if i == number else note  # type: ignore[call-arg, index]
        for i, note in enumerate(PLAIN)
    ]


def test_a_label_in_one_fold_only_is_reported_and_no_obstacle(caplog: pytest.LogCaptureFixture) -> None:
    assert trained(_labelled(0, "NURSE"), folds=3)["stack"] > 0.8
    assert "the label NURSE occurs in one fold only" in caplog.text
    assert trained(_labelled(0, "Birchwood"), folds=3)
    assert "Birchwood" not in caplog.text


def test_a_label_of_its_own_for_every_note_is_no_obstacle() -> None:
    trained(
        [note.with_spans([Span(s.start, s.end, f"L{i}") for s in note.spans]) for i, note in enumerate(PLAIN)], folds=2
    )


def test_two_patients_are_enough_also_where_the_others_have_no_phi() -> None:
    trained(PLAIN[:2])
    trained([*PLAIN[:2], *(note.with_spans(()) for note in PLAIN[2:])], folds=2)


BLANK = Span(4, 5, "DATE")
REFUSED = {
    "no notes": ([], "no annotated PHI"),
    "no PHI": ([note.with_spans(()) for note in PLAIN], "no annotated PHI"),
    "one note": (PLAIN[:1], "all 1 notes of the corpus are of one patient"),
    "one patient": ([replace(note, group="a") for note in PLAIN], "all 8 notes of the corpus are of one patient"),
    "PHI of one patient": ([PLAIN[0], *(n.with_spans(()) for n in PLAIN[1:])], "all PHI of the corpus is in one fold"),
    "PHI of blanks": ([replace(n, text="A bc " * 9, spans=(BLANK,)) for n in PLAIN], "letter, digit or mark"),
    "all but one PHI of blanks": (
        [PLAIN[0], *(replace(n, text="A bc " * 9, spans=(BLANK,)) for n in PLAIN[1:])],
        "all PHI of the corpus is in one fold",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_notes_that_nothing_can_be_learned_from_are_refused_in_a_sentence(case: Any) -> None:
    documents, words = REFUSED[case]
    with pytest.raises(TrainingError, match=words):
        train(corpus_of(documents), quick())


@pytest.mark.parametrize("language", ["de", "es"])
def test_the_defaults_serve_a_dozen_notes(language: str, tmp_path: Path) -> None:
    write_corpus(synthesize(12, seed=2, language=language), tmp_path / "notes", format="brat")
    corpus = read_corpus(tmp_path / "notes", accept_unknown_labels=True)
    settings = EngineSettings.chosen(language=corpus.label_set.language)
    training = train(corpus, replace(settings, folds=3).only(FAST))
    reports = evaluate_systems(corpus, out_of_fold_corpora(training, corpus))
    f1 = {name: report.strict.f1.value for name, report in reports.items()}
    assert f1["stack"] > 0.45 and f1["stack"] >= max(f1.values()) - 0.02


@pytest.mark.parametrize(("name", "language"), [("court-es", "es"), ("court-fr", "fr"), ("court-en", "en")])
def test_a_handful_of_court_decisions_can_be_trained_on(name: Any, language: Any) -> None:
    folder = COURTS / name / "train"
    if not folder.is_dir():
        pytest.skip(f"the corpus {name} is not in {COURTS}")
    shortest = sorted(read_corpus(folder, accept_unknown_labels=True).documents, key=lambda note: len(note.text))[:6]
    f1 = trained(shortest, language=language, folds=2)
    assert f1["stack"] >= max(f1.values()) - 0.1


def without_taggers(features: FeatureSettings, language_models: str = "") -> FeatureSettings:
    """The settings without what needs data that phistack does not contain."""
    return replace(features, pos="", ner="", language_models=language_models)


def test_what_is_sent_to_other_processes_can_be_sent() -> None:
    """All that a fit needs survives pickling, however notes are tokenised, even after everything was computed once."""
    from joblib.externals.loky.backend.reduction import dumps

    of_presets = (EngineSettings.preset(name).features for name in PRESETS.names)
    for features in (FeatureSettings(), *map(without_taggers, of_presets)):
        tables = FeatureSpace(features).fit(PLAIN)
        for task in tasks_of(quick(), tables, [[0, 1, 2, 3], [4, 5, 6, 7]], unseen=tables[:2]):
            again = pickle.loads(dumps(task))
            assert again.key() == task.key()
            assert [table.ids.tolist() for table in again.training] == [table.ids.tolist() for table in task.training]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS.names)
def test_every_preset_is_trained_in_as_many_processes_as_by_default(name: Any, tmp_path: Path) -> None:
    """With fewer rounds and rules, without taggers, and without PHI that is left to rules."""
    reported = tomllib.loads(PRESETS.text(name))
    preset = EngineSettings.preset(name)
    fewer = {"blstm": {"epochs": 1, "least_steps": 1, "invented_notes": 0}, "tbed": {"max_rules": 5}}
    submodels = {name: {**given, **fewer.get(kind_of(name, given), {})} for name, given in preset.submodels.items()}
    assert TrainingOptions().jobs == 2
    learn_language_models(PLAIN, LanguageModelPlan(units=4, vector=4, epochs=1)).write(tmp_path / "models")
    features = without_taggers(preset.features, str(tmp_path / "models"))
    stacker = replace(preset.stacker, rule_labels=())
    settings = replace(preset, submodels=submodels, features=features, stacker=stacker, best_subset=False)
    names = tuple(settings.submodels)
    engines = [(name,) for name in names] if stacker.alone else [names]
    for chosen in engines:
        training = train(corpus_of(PLAIN[:2]), settings.only(chosen), jobs=TrainingOptions().jobs)
        assert training.engine.names == chosen
        assert len(list(training.engine.annotate(PLAIN))) == len(PLAIN)
    assert set(names) == set(reported.get("submodels", preset.submodels))
