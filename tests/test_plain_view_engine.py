"""The engine decides on a note as on the plain one, whatever invisible characters or spellings it has.

The notes are synthetic and German, which have accents.
"""

import unicodedata
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.ensemble.deidentification import redact
from phistack.ensemble.experiments.parts import answers_of
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import score_on
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import out_of_fold_corpora, train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Document, Span
from phistack.features.plain_view import plain_view

SUBMODELS = {"regex": {}, "tbed": {"max_rules": 20}, "crf": {"max_iterations": 15}}
SETTINGS = EngineSettings(features=FeatureSettings(language="de"), submodels=SUBMODELS, folds=2)
INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202c\u2060\u2066\u2069\ufe0f\ufeff\0\U000e0061"
NOTES = synthesize(12, seed=1, language="de")
TRAINED_ON = replace(NOTES, documents=NOTES.documents[:8])
UNSEEN = NOTES.documents[8:]


@pytest.fixture(scope="module")
def training() -> Any:
    return train(TRAINED_ON, SETTINGS)


def disguised(document: Any, seed: Any) -> Any:
    """The note with invisible characters added and others written differently; the spans follow."""
    random = Random(seed)
    offsets, pieces = [0], []
    for character in document.text:
        pieces.append("".join(c + _invisible(random) for c in random.choice(_forms(character))))
        offsets.append(offsets[-1] + len(pieces[-1]))
    spans = (Span(offsets[span.start], offsets[span.end], span.label) for span in document.spans)
    return replace(document, text="".join(pieces), spans=tuple(spans))


def _forms(character: Any) -> Any:
    forms = [character, unicodedata.normalize("NFD", character)]
    if character == " ":
        forms.append("\u00a0")
    elif character.isascii() and character.isprintable():
        forms.append(chr(ord(character) + 0xFEE0))
    if character.isdigit():
        forms.append("٠١٢٣٤٥٦٧٨٩"[int(character)])
    return forms


def _invisible(random: Any) -> Any:
    return random.choice(INVISIBLE) if random.random() < 0.1 else ""


def as_read(document: Any) -> Any:
    return plain_view(document).document


def all_disguised(corpus: Any) -> Any:
    return replace(corpus, documents=tuple(disguised(document, i) for i, document in enumerate(corpus.documents)))


def of_view(document: Any, decisions: Any) -> Any:
    """Decisions on a note as (span of the plain view, probability, accepted)."""
    return [(*as_read(document.with_spans([d.span])).spans, d.probability, d.accepted) for d in decisions]


@settings(max_examples=15)
@given(st.integers(0, len(UNSEEN) - 1), st.integers(0, 10**6))
def test_decisions_are_those_on_the_plain_note(training: Any, number: int, seed: int) -> None:
    note = UNSEEN[number]
    other = disguised(note, seed)
    [plain], [found] = training.engine.decide([note]), training.engine.decide([other])
    assert any(decision.accepted for decision in plain)
    assert of_view(other, found) == of_view(note, plain)
    assert all(vote.span == decision.span for decision in found for vote in decision.votes)


def test_a_joiner_inside_and_beside_a_name_goes_with_it(training: Any) -> None:
    plain = "Rückfragen an Dr. Anselm Birkenhof, Station 3."
    spelled = plain.replace("Anselm", "\u200dAn\u200dselm\u200d").replace("hof", "hof\u200b")
    [found] = training.engine.annotate([Document("n", plain)])
    [other] = training.engine.annotate([Document("n", spelled)])
    assert "Birkenhof" not in redact(found)
    assert redact(other) == redact(found)


def test_training_reads_the_plain_view_too(training: Any) -> None:
    corpus = all_disguised(TRAINED_ON)
    other = train(corpus, SETTINGS)
    assert of_view(UNSEEN[0], *other.engine.decide(UNSEEN[:1])) == of_view(
        UNSEEN[0], *training.engine.decide(UNSEEN[:1])
    )
    expected, found = out_of_fold_corpora(training, TRAINED_ON), out_of_fold_corpora(other, corpus)
    for name, plain in expected.items():
        assert tuple(map(as_read, found[name].documents)) == plain.documents


@pytest.mark.parametrize("unseen", [(), UNSEEN[:2]])
def test_experiments_answer_in_the_note_as_it_was_written(unseen: Any) -> None:
    corpus = all_disguised(TRAINED_ON)
    others = tuple(disguised(document, 7) for document in unseen)
    plain = answers_of(TRAINED_ON, SETTINGS, unseen=unseen)
    answers = answers_of(corpus, SETTINGS, unseen=others)
    for name in plain:
        for note, spans, expected in zip(others or corpus.documents, answers[name], plain[name], strict=True):
            assert as_read(note.with_spans(spans)).spans == tuple(sorted(expected))


def test_scores_of_the_demonstration_are_those_of_the_note_as_it_was_written(training: Any) -> None:
    gold = replace(NOTES, documents=UNSEEN)
    other = all_disguised(gold)
    # Gold spans without the invisible characters at their ends would be a different test.
    notes = (plain_view(note) for note in other.documents)
    other = replace(other, documents=tuple(n.with_spans(map(v.in_note, v.document.spans)) for n, v in
                                           zip(other.documents, notes, strict=True)))  # fmt: skip
    expected, found = score_on(training.engine, gold), score_on(training.engine, other)
    for name, report in expected.items():
        assert found[name].score("i2b2 strict").f1 == report.score("i2b2 strict").f1
