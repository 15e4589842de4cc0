"""Two annotations of the same notes: agreement against scikit-learn's kappa, and every check on its own case; and
labels of a corpus that contradict each other."""

import csv
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.evaluation.agreement import CHECKS, Agreement, agree
from phistack.ensemble.evaluation.contradictions import contradictions
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.features.tokens import Tokeniser
from tests.annotated import annotated, corpus_of
from tests.fixture_types import Phistack
from tests.invented_names import FEW_NAMES as NAMES

LABELS = LabelSet.named("i2b2-2014")


def found(agreement: Agreement, check: str) -> list[tuple[str, str, str]]:
    return [(doubt.text, doubt.label, doubt.instead) for doubt in agreement.doubts if doubt.check == check]


@settings(max_examples=8)
@given(seed=st.integers(0, 99))
def test_agreement_is_the_same_whichever_annotation_comes_first(seed: int) -> None:
    chance = random.Random(seed)
    first = synthesize(4, seed=seed)
    second = first.with_spans([[s for s in note.spans if chance.random() < 0.8] for note in first.documents])
    one, other = agree(first, second), agree(second, first)
    assert one.score.f1.value == other.score.f1.value == evaluate(first, second).strict.f1.value
    assert one.kappa == pytest.approx(other.kappa)
    assert {t.score.name: t.kappa for t in one.types} == pytest.approx({t.score.name: t.kappa for t in other.types})


def test_tokens_are_counted_by_the_label_of_the_span_that_holds_any_of_them() -> None:
    first = corpus_of("Dr. [Ann Lee|DOCTOR] in [Ames|CITY]")
    second = corpus_of("Dr. Ann [Lee|DOCTOR] in [Ames|STATE]")
    agreement = agree(first, second)
    expected = cohen_kappa_score(["", "", "D", "D", "", "C"], ["", "", "", "D", "", "S"])
    assert len(Tokeniser("liu")("Dr. Ann Lee in Ames")[0]) == agreement.n_tokens == 6
    assert agreement.kappa == pytest.approx(expected)


def test_the_same_annotation_twice_agrees_in_all() -> None:
    notes = synthesize(3, seed=1)
    agreement = agree(notes, notes)
    assert agreement.kappa == agreement.score.f1.value == 1.0
    assert {doubt.check for doubt in agreement.doubts} <= {
        "same string, other label",
        "touching spans",
        "unmarked elsewhere",
    }


def test_differences_are_sorted_by_what_the_other_annotation_has() -> None:
    first = corpus_of("[Ann Lee|DOCTOR] saw [Bo Roe|PATIENT] in [Ames|CITY] and Ulm")
    second = corpus_of("Ann [Lee|DOCTOR] saw [Bo Roe|DOCTOR] in Ames and [Ulm|CITY]")
    agreement = agree(first, second)
    assert found(agreement, "one annotator only") == [("Ames", "CITY", ""), ("Ulm", "CITY", "")]
    assert found(agreement, "other label") == [("Bo Roe", "PATIENT", "DOCTOR"), ("Bo Roe", "DOCTOR", "PATIENT")]
    assert found(agreement, "other extent") == [("Ann Lee", "DOCTOR", "4-7 DOCTOR"), ("Lee", "DOCTOR", "0-7 DOCTOR")]


def test_strings_with_two_labels_touching_spans_and_strings_left_unmarked_are_found() -> None:
    notes = corpus_of(
        "[Florence|PATIENT] came", "[Florence|PATIENT] left", "from [Florence|CITY]",
        "[Jan|PATIENT] [Jansen|PATIENT]", "Jansen or Jansens",
    )  # fmt: skip
    agreement = agree(notes, notes)
    assert found(agreement, "same string, other label") == [("Florence", "CITY", "PATIENT")] * 2
    assert found(agreement, "touching spans") == [("Jan", "PATIENT", "4-10")] * 2
    assert found(agreement, "unmarked elsewhere") == [("Jansen", "PATIENT", "")]


def test_other_texts_and_missing_notes_are_refused() -> None:
    first = corpus_of("Ann", "Bo")
    with pytest.raises(EvaluationError, match="the texts of gold and system differ"):
        agree(first, corpus_of("Ann", "Bob"))
    less = replace(first, documents=first.documents[:1])
    with pytest.raises(EvaluationError, match="missing"):
        agree(first, less)
    assert agree(first, less, allow_missing=True).n_documents == 1


def test_the_command_shows_text_only_if_asked(tmp_path: Path, phistack: Phistack) -> None:
    write_corpus(corpus_of("[Zelkowitz|DOCTOR] saw Birchwood"), tmp_path / "a.jsonl", format="jsonl")
    write_corpus(corpus_of("Zelkowitz saw [Birchwood|PATIENT]"), tmp_path / "b.jsonl", format="jsonl")
    common = ("agreement", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--label-set", "i2b2-2014")
    _, quiet, _ = phistack(
        *common, "--sheet", tmp_path / "s.csv", "--json", tmp_path / "s.json", "--latex", tmp_path / "s.tex"
    )
    shown = (tmp_path / "s.csv").read_text() + (tmp_path / "s.json").read_text() + (tmp_path / "s.tex").read_text()
    assert "Zelkowitz" not in quiet + shown and "one annotator only" in quiet
    phistack(*common, "--sheet", tmp_path / "t.csv", "--text", "--json", tmp_path / "t.json")
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [(row["annotation"], row["text"]) for row in rows] == [("a.jsonl", "Zelkowitz"), ("b.jsonl", "Birchwood")]
    figures = json.loads((tmp_path / "t.json").read_text())
    assert figures["all"]["f1"]["value"] == 0 and figures["places"][0]["text"] == "Zelkowitz"
    assert {row["check"] for row in rows} <= set(CHECKS)


def counted(*texts: str, context: int = 1) -> tuple[int, int, int, int, int]:
    found = contradictions([annotated(text, str(i)) for i, text in enumerate(texts)], context=context)
    return found.spans, found.contradicted, found.other_label, found.other_extent, found.not_marked


CASES = {
    "all agree": (("by [Lee|DOCTOR] today", "by [Lee|DOCTOR] today"), (2, 0, 0, 0, 0)),
    "another label": (("by [Lee|DOCTOR] today", "by [Lee|PATIENT] today"), (2, 2, 2, 0, 0)),
    "another extent": (("by [Ann Lee|DOCTOR] today", "by Ann [Lee|DOCTOR] today"), (2, 2, 0, 2, 0)),
    "another extent that reaches out": (
        ("saw Dr. [Lee|DOCTOR] today", "saw [Dr. Lee|DOCTOR] today"), (2, 2, 0, 2, 0),
    ),
    "not marked": (("by [Lee|DOCTOR] today", "by Lee today"), (1, 1, 0, 0, 1)),
    "in three ways": (
        ("by [Lee|DOCTOR] today", "by [Lee|PATIENT] today", "by Lee today"), (2, 2, 2, 0, 2),
    ),
    "in the same note": (("by [Lee|DOCTOR] today, by [Lee|PATIENT] today",), (2, 2, 2, 0, 0)),
    "another context": (("by [Lee|DOCTOR] today", "of [Lee|PATIENT] today"), (2, 0, 0, 0, 0)),
    "other words": (("by [Lee|DOCTOR] today", "by [Lea|PATIENT] today"), (2, 0, 0, 0, 0)),
    "at the beginning and the end": (("[Lee|DOCTOR]", "[Lee|PATIENT]"), (2, 2, 2, 0, 0)),
    "no PHI": (("by Lee today",), (0, 0, 0, 0, 0)),
    "an empty note": (("", "by [Lee|DOCTOR]"), (1, 0, 0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_marked_otherwise_between_the_same_words_is_counted(name: str) -> None:
    texts, expected = CASES[name]
    assert counted(*texts) == expected


def test_more_context_finds_less() -> None:
    texts = ("seen by [Lee|DOCTOR] today", "come by [Lee|PATIENT] today", "seen by [Lee|CITY] today")
    assert counted(*texts)[1] == 3
    assert counted(*texts, context=2)[1] == 2


WORDS = st.lists(st.sampled_from(["a", "b", "c", "[a|X]", "[a|Y]", "[b c|X]", "[b|X]"]), max_size=14).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_counts_are_those_of_comparing_every_phi_with_every_place(texts: list[str]) -> None:
    notes = [annotated(text, str(i)) for i, text in enumerate(texts)]
    cut = []
    for document in notes:
        words = document.text.split()
        starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
        phi = [
            (starts.index(s.start), starts.index(s.start) + len(document.text[s.start : s.end].split()), s.label)
            for s in document.spans
        ]
        cut.append((["^", *words, "$"], phi))
    expected = 0
    for words, phi in cut:
        for begin, end, _ in phi:
            window = words[begin : end + 2]
            own = {(a - begin, b - begin, kind) for a, b, kind in phi if a < end and begin < b}
            expected += any(
                others[at : at + len(window)] == window
                and {(a - at, b - at, k) for a, b, k in marked if a < at + end - begin and at < b} != own
                for others, marked in cut for at in range(len(others))
            )  # fmt: skip
    assert contradictions(notes).contradicted == expected


def test_a_training_says_what_its_labels_are_worth_without_text(phistack: Phistack, tmp_path: Path) -> None:
    texts = [f"Seen by Dr. [{name}|DOCTOR] today. Signed Dr. [{NAMES[0]}|DOCTOR] ." for name in NAMES]
    texts.append(f"Seen again. Signed Dr. [{NAMES[0]}|PATIENT] .")
    documents = tuple(annotated(text, f"{100 + i}-01") for i, text in enumerate(texts))
    write_corpus(Corpus(documents, LabelSet.named("i2b2-2014")), tmp_path / "notes", format="i2b2")
    model = tmp_path / "engine"
    options = ("--submodels", "regex", "--folds", 2, "--details")
    status, shown, _ = phistack("train", tmp_path / "notes", "--model", model, *options)
    assert status == 0
    near, far = read_manifest(model)["figures"]["contradictions"]
    assert [(found["context"], found["other_label"]) for found in (near, far)] == [(1, len(texts)), (2, len(texts))]
    card = (model / "MODEL_CARD.md").read_text()
    for found in (near, far):
        assert found["in short"] in shown
        assert found["in short"] in card
    assert not [name for name in NAMES if name in shown + card]


def test_what_is_marked_otherwise_more_often_is_outvoted() -> None:
    texts = ["by [Lee|DOCTOR] today"] * 3 + ["by [Lee|PATIENT] today"] * 2 + ["by Lee today"]
    found = contradictions([annotated(text, str(i)) for i, text in enumerate(texts)])
    assert (found.contradicted, found.outvoted) == (5, 2)
    even = contradictions([annotated(text, str(i)) for i, text in enumerate(texts[1:5])])
    assert (even.contradicted, even.outvoted) == (4, 0)
