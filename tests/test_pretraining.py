"""Networks that learn from invented notes before they learn from the training notes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.notes import LANGUAGES
from phistack.ensemble.training.fit_tasks import fingerprints, pretraining_tasks
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Proposed, propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.discretion import Discretion
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Pretraining, new_submodel
from phistack.submodels.blstm.encoder import Encoder
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.weights import first_weights, transferred_weights
from phistack.submodels.registry import KINDS, usual_name
from tests.fixture_types import Phistack

SMALL = {
    "networks": 2, "epochs": 2, "least_steps": 4, "lstm_size": 8, "word_size": 8, "channels": 2, "kernels": (2, 3),
    "foreseen_words": 20, "feature_size": 1, "learning_rate": 0.03,
}  # fmt: skip
NETWORK = {**SMALL, "networks": 1, "threshold": 0.002, "invented_notes": 4}
SETTINGS = EngineSettings(folds=2, submodels={"regex": {}, "blstm": NETWORK})
GENERAL = Corpus(
    tuple(
        Document(f"news {n}", text, (Span(0, len(name), "PER"), Span(len(text) - 6, len(text) - 1, "LOC")))
        for n, name in enumerate(("Zorbix", "Queldov", "Vranmink"))
        for text in (f"{name} plays, {name} wins, and the Fenwick crowd of Fenwick cheers {name} in Oslow.",)
    ),
    LabelSet("news", {"PER": "NAME", "LOC": "LOCATION"}, "en"),
)


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
    weights = first_weights(model._shapes(), 1, transferred_weights(first.weights_[0], first.encoder_, joined))
    earlier = first.weights_[0]
    for name in ("forward", "backward", "kernel2", "kernel3_bias"):
        assert np.array_equal(weights[name], earlier[name]), name
    # Both encoders read each token alike, as far as the first one knows it.
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
    """With hardly any steps of its own, it knows the words that only the invented notes have."""
    started = BlstmSubmodel(**SMALL, invented_notes=6)
    started.warm_start(SavedFiles.written_by(first.save), tables[0].space)
    started.fit(tables, seed=1)
    alone = BlstmSubmodel(**SMALL, invented_notes=6).fit(tables, seed=1)
    assert set(first.encoder_.words) <= set(started.encoder_.words)
    assert not set(first.encoder_.words) <= set(alone.encoder_.words)
    assert not np.array_equal(started.weights_[0]["forward"], alone.weights_[0]["forward"])
    begun = [{name: values.copy() for name, values in weights.items()} for weights in started.weights_]
    assert np.array_equal(started.fit(tables, seed=1).weights_[0]["forward"], alone.weights_[0]["forward"])
    started.warm_start(SavedFiles.written_by(first.save), tables[0].space)
    for before, again in zip(begun, started.fit(tables, seed=1).weights_, strict=True):
        assert all(np.array_equal(before[name], again[name]) for name in before)


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


def reading(*paths: Path, **others: Any) -> EngineSettings:
    network = {**NETWORK, "pretraining_notes": [*map(str, paths)], **others}
    return EngineSettings.from_dict({"folds": 2, "submodels": {"regex": {}, "blstm": network}})


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    write_corpus(GENERAL, path, format="jsonl")
    return path


def started(settings: EngineSettings, tables: Sequence[FeatureTable]) -> list[Document]:
    """The notes of the only pretraining."""
    (task,) = pretraining_tasks(settings, tables[0].space, [table.document for table in tables])
    return [table.document for table in task.training]


def test_annotated_text_with_labels_of_its_own_comes_beside_the_invented_notes(
    corpus: Corpus, tables: list[FeatureTable], news: Path
) -> None:
    notes = started(reading(news), tables)
    assert [note.id for note in notes[:3]] == ["news 0", "news 1", "news 2"] and len(notes) == 7
    assert {"PER", "LOC"} < {span.label for note in notes for span in note.spans}
    assert started(reading(news, invented_notes=0), tables) == notes[:3]
    assert started(reading(), tables) == notes[3:]
    learned = propose(corpus, reading(news))
    labels = {span.label for note in found(learned) for span, _ in note}
    assert labels and not labels & {"PER", "LOC"}


def test_a_language_without_invented_notes_begins_with_annotated_text(tables: list[FeatureTable], news: Path) -> None:
    french = EngineSettings.from_dict({**reading(news).to_dict(), "features": {"language": "fr"}})
    assert [note.id for note in started(french, tables)] == ["news 0", "news 1", "news 2"]


def test_no_note_of_a_training_is_read_before_its_folds(
    tables: list[FeatureTable], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    same_text = Document("another id", tables[0].document.text, tables[0].document.spans)
    same_patient = Document("x", "Ann Hill left.", (Span(0, 8, "PER"),), tables[1].document.group)
    labels = LabelSet("both", dict.fromkeys({"PER", "LOC", *(s.label for s in same_text.spans)}, "NAME"), "en")
    mixed = Corpus((same_text, *GENERAL.documents, same_patient), labels)
    write_corpus(mixed, tmp_path / "mixed.jsonl", format="jsonl")
    notes = started(reading(tmp_path / "mixed.jsonl", invented_notes=0), tables)
    assert [note.id for note in notes] == ["news 0", "news 1", "news 2"]
    assert "2 of the 5 notes in" in caplog.text and same_text.text not in caplog.text
    write_corpus(Corpus((same_text,), labels), tmp_path / "own.jsonl", format="jsonl")
    with pytest.raises(CorpusError, match=r"own\.jsonl has no annotated notes to pretrain on, or only those"):
        started(reading(tmp_path / "own.jsonl"), tables)


def test_a_private_network_keeps_no_word_of_it_that_few_patients_share(corpus: Corpus, news: Path) -> None:
    space = FeatureSpace(FeatureSettings())
    space.fit(corpus.documents, Discretion.of(corpus.documents, 5, lambda word: False))
    (task,) = pretraining_tasks(reading(news), space)
    private = Encoder.of(task.training, ())
    space.discretion_ = None
    assert {"fenwick", "zorbix"} <= set(Encoder.of(task.training, ()).words)
    assert private.words and {"fenwick", "zorbix"}.isdisjoint(private.words)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no"),
        ('{"id": "1", "text": "Ann left."}\n', "no annotated notes to pretrain on"),
        ("nothing known", "news.jsonl"),
        ('{"id": "1", "text": "Ann", "spans": [{"start": 0, "end": 9, "label": "PER"}]}\n', "ends beyond the text"),
    ],
)
def test_what_cannot_be_learned_first_is_one_sentence(
    text: str | None, said: str, corpus: Corpus, tmp_path: Path, phistack: Phistack
) -> None:
    write_corpus(corpus, tmp_path / "notes.jsonl", format="jsonl")
    if text is not None:
        (tmp_path / "news.jsonl").write_text(text)
    common = ("train", tmp_path / "notes.jsonl", "--model", tmp_path / "engine", "--pretrain", tmp_path / "news.jsonl")
    status, _, error = phistack(*common, "--submodels", "regex,blstm")
    assert status == 1 and said in error and "Traceback" not in error and not (tmp_path / "engine").exists()
    with pytest.raises(SettingsError, match=r"^none of the submodels regex learns from --pretrain; add blstm to them$"):
        EngineSettings(submodels={"regex": {}}).with_pretraining([tmp_path])


def test_the_bundle_says_what_it_began_with_and_holds_no_sentence_of_it(
    corpus: Corpus, news: Path, tmp_path: Path, phistack: Phistack
) -> None:
    write_corpus(corpus, tmp_path / "notes.jsonl", format="jsonl")
    (tmp_path / "small.toml").write_text(reading(epochs=1, lstm_size=4).only(("blstm",)).to_toml(complete=False))
    common = ("train", tmp_path / "notes.jsonl", "--config", tmp_path / "small.toml", "--jobs", 1)
    status, _, error = phistack(*common, "--model", out := tmp_path / "engine", "--pretrain", news)
    assert status == 0, error
    facts = read_manifest(out)["trained_on"]
    assert facts["pretrained on"] == str(news)
    assert facts["fingerprints"] == fingerprints((*corpus.documents, *GENERAL.documents))
    assert f"| pretrained on | {news} |" in (out / "MODEL_CARD.md").read_text()
    assert not any(b"plays, " in file.read_bytes() for file in out.rglob("*") if file.is_file())
