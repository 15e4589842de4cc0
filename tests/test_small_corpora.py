"""Small and odd corpora can be trained on, and the stack is not worse than its best submodel by more than chance.

The corpora are invented (`tests.invented_corpora`). All settings are the defaults, but that most trainings have two
folds and that the network, where it takes part, is one only and learns for a few steps; both are for speed.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.evaluation import evaluate_systems
from phistack.ensemble.stacking.folds import training_folds
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training, out_of_fold_corpora, train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import read_corpus, write_corpus
from tests import invented_corpora as invented

QUICK_NETWORK = {"networks": 1, "epochs": 2, "least_steps": 40, "invented_notes": 0}
WITHOUT_PHI = "Der Blutdruck war gut eingestellt. Die Medikation blieb unverändert.\n"


@pytest.fixture(scope="module")
def letters() -> Corpus:
    return invented.german_letters(8)


def trained(
    corpus: Corpus, submodels: tuple[str, ...] = ("regex", "tbed", "crf"), language: str = "de", folds: int = 2
) -> tuple[Training, dict[str, float]]:
    """The training and the strict out-of-fold F1 of each submodel and the stack."""
    settings = EngineSettings(features=FeatureSettings(language=language), folds=folds).only(submodels)
    if "blstm" in submodels:
        settings = replace(settings, submodels={**settings.submodels, "blstm": QUICK_NETWORK})
    training = train(corpus, settings)
    reports = evaluate_systems(corpus, out_of_fold_corpora(training, corpus))
    return training, {name: report.strict.f1.value for name, report in reports.items()}


def changed(corpus: Corpus, change: Callable[..., Any]) -> Corpus:
    """The corpus with another text and other spans in each document; labels that are new are taken as they are."""
    documents = tuple(change(number, document) for number, document in enumerate(corpus.documents))
    labels = {span.label: "OTHER" for document in documents for span in document.spans}
    return replace(corpus, documents=documents, label_set=corpus.label_set.extended(labels))


def with_characters(document: Document, change: Callable[..., Any]) -> Document:
    """Each character replaced by some others; the spans follow."""
    pieces = [change(character) for character in document.text]
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece))
    spans = tuple(Span(starts[span.start], starts[span.end], span.label) for span in document.spans)
    return Document(document.id, "".join(pieces), spans, document.group)


def only_label(label: Any) -> Any:
    return lambda number, document: document.with_spans(span for span in document.spans if span.label == label)


def label_once(number: Any, document: Any) -> Any:
    return document.with_spans(span for span in document.spans if number == 0 or span.label != "STREET")


def mostly_without_phi(number: Any, document: Any) -> Any:
    return document if number < 3 else Document(document.id, WITHOUT_PHI * number)


def first_span(number: Any, document: Any) -> Any:
    return document.with_spans(document.spans[:1])


def nested(number: Any, document: Any) -> Any:
    return document.with_spans([*document.spans, *(Span(span.start, span.start + 1, "X") for span in document.spans)])


def off_the_grid(number: Any, document: Any) -> Any:
    return document.with_spans(Span(start, start + 3, "X") for start in range(7, len(document.text) - 5, 97))


def by_characters(change: Any) -> Any:
    return lambda number, document: with_characters(document, change)


ODD = {
    "one label": only_label("DATE"),
    "a label once": label_once,
    "mostly without PHI": mostly_without_phi,
    "one PHI a document": first_span,
    "nested PHI": nested,
    "PHI that tokens cannot express": off_the_grid,
    "Windows line ends": by_characters(lambda character: "\r\n" if character == "\n" else character),
    "no line ends": by_characters(lambda character: " " if character == "\n" else character),
    "upper case": by_characters(lambda character: character.upper()),
    "characters beyond the basic plane": by_characters(lambda c: {" ": " \U0001f9d1", "e": "\U00020000"}.get(c, c)),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_corpus_can_be_trained_on(name: str, letters: Corpus) -> None:
    corpus = changed(letters, ODD[name])
    training, f1 = trained(corpus)
    # Two decisions more or less, where there are eight PHI in all.
    assert f1["stack"] >= max(f1.values()) - 0.14
    for document in training.engine.annotate([document.with_spans(()) for document in corpus.documents]):
        assert all(document.text[span.start : span.end].strip() for span in document.spans)


@pytest.mark.slow
def test_all_submodels_find_something_in_few_letters(letters: Corpus) -> None:
    _, f1 = trained(letters, ("regex", "tbed", "crf", "blstm"))
    assert min(f1[name] for name in ("tbed", "crf", "stack")) > 0.8
    assert f1["regex"] > 0.5
    assert f1["blstm"] > 0.3
    assert f1["stack"] >= max(f1.values()) - 0.02


def test_the_defaults_serve_legal_prose_in_long_lines(tmp_path: Path) -> None:
    write_corpus(invented.spanish_legal_prose(12), tmp_path / "prose", format="brat")
    corpus = read_corpus(tmp_path / "prose", accept_unknown_labels=True)
    _, f1 = trained(corpus, language="es", folds=3)
    assert f1["tbed"] > 0.8 and f1["crf"] > 0.9
    assert f1["stack"] >= max(f1.values()) - 0.02


def test_the_defaults_serve_letters_in_xml(tmp_path: Path) -> None:
    write_corpus(invented.german_letters(12), tmp_path / "letters", format="i2b2")
    _, f1 = trained(read_corpus(tmp_path / "letters"), folds=3)
    assert f1["tbed"] > 0.8 and f1["crf"] > 0.9
    assert f1["stack"] >= max(f1.values()) - 0.02


def test_a_document_of_15000_tokens_is_one_like_others(letters: Corpus) -> None:
    long = invented.joined("long", invented.german_letters(90).documents[10:])
    corpus = replace(letters, documents=(*letters.documents, long))
    training, f1 = trained(corpus, ("regex", "tbed"))
    assert len(training.engine.space.table(long).document.text.split()) > 9_000
    assert f1["stack"] >= max(f1.values()) - 0.02


def test_fewer_patients_than_folds_give_fewer_folds(letters: Corpus, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="phistack"):
        folds = training_folds(letters.documents[:3], n_folds=5)
    assert len(folds) == 3
    assert "the corpus has 3 patients only, so there are 3 folds, not 5" in caplog.text
