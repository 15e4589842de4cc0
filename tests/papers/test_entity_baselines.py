"""The baselines by entity: what was PHI in training is PHI again."""

from pathlib import Path

import pytest

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.papers.plan import entity_baselines
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Corpus
from phistack.features.errors import TrainingError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from phistack.features.text_words import Phrases
from tests.annotated import corpus_of
from tests.fixture_types import Phistack

LABELS = LabelSet.named("i2b2-2014")


def found(corpus: Corpus) -> list[tuple[str, str]]:
    return [(note.text[s.start : s.end], s.label) for note in corpus.documents for s in note.spans]


TRAINING = corpus_of("[Ann Lee|PATIENT], [Ann|DOCTOR], [Florence|CITY], [Florence|PATIENT], [Florence|CITY]")


def test_an_entity_of_one_label_is_found_by_both_and_the_longest_first() -> None:
    baselines = entity_baselines(TRAINING, corpus_of("Ann  Lee saw Ann, not Annette or ann, in Florence"))
    sure = [("Ann  Lee", "PATIENT"), ("Ann", "DOCTOR")]
    assert found(baselines["unambiguous"]) == sure
    assert found(baselines["most frequent"]) == [*sure, ("Florence", "CITY")]


def test_the_spans_of_the_test_notes_are_not_looked_at() -> None:
    bare = entity_baselines(TRAINING, corpus_of("Ann in Rome"))
    marked = entity_baselines(TRAINING, corpus_of("Ann in [Rome|CITY]"))
    assert bare == marked


def test_on_its_own_training_notes_the_most_frequent_label_is_at_least_as_good() -> None:
    notes = synthesize(10, seed=2)
    scores = {name: evaluate(notes, found).strict.f1.value for name, found in entity_baselines(notes, notes).items()}
    assert 0 < scores["unambiguous"] <= scores["most frequent"] < 1


def test_notes_without_phi_teach_nothing() -> None:
    with pytest.raises(TrainingError, match="nothing to find again"):
        entity_baselines(corpus_of("Ann"), TRAINING)


def test_phrases_do_not_overlap_each_other_or_what_is_taken() -> None:
    phrases = Phrases({"a b": 1, "b c": 2, "c": 3, "": 4})
    assert list(phrases.find("a b c")) == [(0, 3, 1), (4, 5, 3)]
    assert list(phrases.find("a b c", bytearray(b"\1\0\0\0\0"))) == [(2, 5, 2)]


def test_the_command_scores_both_and_writes_what_they_found(tmp_path: Path, phistack: Phistack) -> None:
    write_corpus(synthesize(8, seed=1), tmp_path / "train", format="i2b2")
    write_corpus(synthesize(4, seed=2), tmp_path / "test", format="i2b2")
    status, out, _ = phistack("baseline", tmp_path / "train", tmp_path / "test", "--out", tmp_path / "found")
    assert status == 0 and "unambiguous" in out and "most frequent" in out
    assert len(read_corpus(tmp_path / "found" / "most-frequent")) == 4
