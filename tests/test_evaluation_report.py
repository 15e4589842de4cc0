"""A whole evaluation: which documents count, what the report holds, and how it looks."""

import io
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from phistack.ensemble.evaluation import Resampling, evaluate, print_report, read_sentence_counts
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError, LabelError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.features.shown import hashed
from phistack.features.tokens import count_sentences
from tests.fixture_types import Phistack

LABELS = LabelSet("small", {"DOCTOR": "NAME", "PATIENT": "NAME", "CITY": "LOCATION"}, frozenset({"PATIENT", "CITY"}))
TEXT = "Dr. Smith saw Jane Roe in Springfield. She left."
GOLD = (Span(4, 9, "DOCTOR"), Span(14, 22, "PATIENT"), Span(26, 37, "CITY"))


def corpus(*spans_of_documents: tuple[Span, ...], labels: LabelSet = LABELS, text: str = TEXT) -> Corpus:
    return Corpus(tuple(Document(f"{i}-01", text, spans) for i, spans in enumerate(spans_of_documents)), labels)


def random_corpora(documents: int, spans: int, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Gold with spans every 40 characters, and a system that drops, shortens and mislabels some."""
    rng = random.Random(seed)
    text = "word 12 Núñez, and more text of a note. " * spans
    gold, system = [], []
    for i in range(documents):
        truth = [Span(40 * k, 40 * k + 13, rng.choice(LABELS.labels)) for k in range(spans)]
        answer = [
            Span(s.start, s.end - rng.choice([0] * 18 + [1, 5]), rng.choice([s.label] * 18 + ["CITY"]))
            for s in truth
            if rng.random() < 0.95
        ]
        gold.append(Document(f"{i}-01", text, tuple(truth)))
        system.append(Document(f"{i}-01", text, tuple(answer)))
    return Corpus(tuple(gold), LABELS), Corpus(tuple(system), LABELS)


def test_a_perfect_system_scores_one_everywhere() -> None:
    report = evaluate(corpus(GOLD, GOLD[:1]), corpus(GOLD, GOLD[:1]))
    for score in (*report.criteria, *report.categories, *report.types):
        assert {measure.value for measure in score.measures.values()} == {score.f2} == {1}, score.name
        assert (score.counts.fp, score.counts.fn) == (0, 0)
    assert report.strict.f1 == (1, 1, 1)
    assert report.leak.rate == report.coverage.document_leak == report.coverage.document_exposure == 0
    assert report.coverage.character_recall == 1


def test_an_empty_system_and_an_empty_gold_score_zero() -> None:
    for gold, system in ((GOLD, ()), ((), GOLD), ((), ())):
        report = evaluate(corpus(gold), corpus(system), resampling=Resampling(draws=10))
        assert {score.f1.value for score in report.criteria} == {0.0}
    assert report.types == report.categories == ()
    assert report.coverage.character_recall == 0


def test_types_and_categories_come_from_both_sides() -> None:
    report = evaluate(corpus(GOLD[:1]), corpus((Span(4, 9, "PATIENT"), Span(26, 37, "CITY"))))
    assert {score.name: tuple(score.counts) for score in report.types} == {
        "DOCTOR": (0, 0, 1),
        "PATIENT": (0, 1, 0),
        "CITY": (0, 1, 0),
    }
    assert {score.name: tuple(score.counts) for score in report.categories} == {
        "NAME": (0, 1, 1),
        "LOCATION": (0, 1, 0),
    }


def test_a_type_that_only_the_systems_label_set_knows_is_scored() -> None:
    wider = LABELS.extended({"SHIP": "VEHICLE"})
    report = evaluate(corpus(GOLD), corpus((*GOLD, Span(0, 2, "SHIP")), labels=wider))
    assert report.score("i2b2 strict").counts == (3, 1, 0)
    assert [score.name for score in report.types] == ["DOCTOR", "PATIENT", "CITY", "SHIP"]


def test_a_label_of_neither_set_is_an_error_without_text() -> None:
    with pytest.raises(LabelError, match=f"document 0-01: the label of the span 4-9, {hashed('SHIP')}") as raised:
        evaluate(corpus((Span(4, 9, "SHIP"),)), corpus(()))
    assert "Smith" not in str(raised.value)


def test_the_breakdown_adds_up_to_the_strict_row() -> None:
    report = evaluate(*random_corpora(12, 9))
    strict = report.score("i2b2 strict").counts
    for rows in (report.types, report.categories):
        assert tuple(map(sum, zip(*(row.counts for row in rows), strict=True))) == strict


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_the_order_of_documents_and_spans_changes_no_count(rng: Any) -> None:
    gold, system = random_corpora(6, 5)
    documents = [d.with_spans(rng.sample(d.spans, len(d.spans))) for d in system.documents]
    rng.shuffle(documents)
    few, rotated = Resampling(draws=5), Corpus(tuple(documents), LABELS)
    one, other = (evaluate(gold, answers, resampling=few) for answers in (system, rotated))
    assert one.to_dict() == other.to_dict()
    turned = evaluate(Corpus(gold.documents[::-1], LABELS), system, resampling=few)
    assert [score.counts for score in turned.criteria] == [score.counts for score in one.criteria]


def test_missing_and_extra_documents_are_refused_with_a_count_and_the_first_id() -> None:
    one, three = corpus(GOLD), corpus(GOLD, GOLD, GOLD)
    with pytest.raises(EvaluationError, match=r"2 documents of gold are missing .* first is 1-01;.*--allow-missing"):
        evaluate(three, one)
    with pytest.raises(EvaluationError, match=r"2 documents of the system's output are not in gold, the first is 1-01"):
        evaluate(one, three)


def test_missing_documents_can_be_allowed_and_are_named() -> None:
    report = evaluate(corpus(GOLD, GOLD), corpus(GOLD), allow_missing=True)
    assert (report.documents, report.missing, report.extra) == (("0-01",), ("1-01",), ())
    assert report.score("i2b2 strict").counts == (3, 0, 0)
    assert evaluate(corpus(GOLD), corpus(GOLD, GOLD), allow_missing=True).extra == ("1-01",)
    other = Corpus((Document("x", TEXT),), LABELS)
    for gold, system in ((corpus(GOLD), other), (Corpus((), LABELS), Corpus((), LABELS))):
        with pytest.raises(EvaluationError, match="no document in common"):
            evaluate(gold, system, allow_missing=True)


@pytest.mark.parametrize(
    ("changed", "offset"), [("Dr. Smyth", 6), (TEXT + "\n", len(TEXT)), (TEXT[:-1], len(TEXT) - 1)]
)
def test_differing_texts_are_refused_with_the_first_offset_and_no_text(changed: str, offset: int) -> None:
    with pytest.raises(EvaluationError, match=f"document 0-01: .* differ from offset {offset} on") as raised:
        evaluate(corpus(GOLD), corpus((), text=changed))
    assert "Sm" not in str(raised.value)


def test_leak_divides_by_the_sentences_given_or_by_our_own_and_says_which() -> None:
    gold, system = corpus(GOLD, GOLD), corpus(GOLD[:1], GOLD)
    report = evaluate(gold, system, sentence_counts={"0-01": 3, "1-01": 5, "other": 7})
    assert (report.leak.false_negatives, report.leak.rate, report.leak.sentence_source) == (2, 0.25, "reference")
    own = evaluate(gold, system).leak
    assert (own.sentences, own.sentence_source) == (2 * count_sentences(TEXT), "phistack")
    with pytest.raises(EvaluationError, match="the sentence counts lack 1 documents, the first is 1-01"):
        evaluate(gold, system, sentence_counts={"0-01": 3})
    assert evaluate(gold, system, sentence_counts={"0-01": 0, "1-01": 0}).leak.rate == 0


def test_coverage_counts_characters_of_any_label_and_documents() -> None:
    mislabelled = (Span(0, 22, "CITY"), Span(26, 37, "CITY"))
    short = (GOLD[0], GOLD[1], Span(26, 30, "CITY"))
    seen = evaluate(corpus(GOLD, GOLD, GOLD, ()), corpus(GOLD, mislabelled, short, ())).coverage
    assert (seen.covered_characters, seen.phi_characters) == (24 + 24 + 17, 72)
    assert (seen.leaking_documents, seen.uncovered_documents, seen.documents) == (2, 1, 4)
    assert (seen.document_leak, seen.document_exposure) == (0.5, 0.25)


def test_overlapping_gold_counts_each_character_once() -> None:
    seen = evaluate(corpus((Span(0, 9, "DOCTOR"), Span(4, 9, "PATIENT"))), corpus((Span(4, 9, "CITY"),))).coverage
    assert (seen.covered_characters, seen.phi_characters) == (5, 9)


def test_the_report_is_json_and_repeats() -> None:
    gold, system = random_corpora(10, 6)
    first, again, other = (evaluate(gold, system, resampling=Resampling(seed=n)).to_dict() for n in (0, 0, 1))
    assert json.loads(json.dumps(first)) == first == again
    assert other["criteria"]["i2b2 strict"]["f1_interval"] != first["criteria"]["i2b2 strict"]["f1_interval"]
    assert first["schema"] == "phistack.evaluation.v1"
    assert set(first) == {
        "schema", "label_set", "documents", "bootstrap", "criteria", "categories", "types", "leak", "coverage"
    }  # fmt: skip
    assert first["criteria"]["meddocan spans merged-script"]["official"] == "Subtrack 2 [merged]"
    assert first["criteria"]["meddocan spans merged"]["official"] is None
    row = first["types"]["DOCTOR"]
    assert {"support", "tp", "fp", "fn", "precision", "recall", "f1", "f2", "f1_interval", "recall_interval"} < set(row)
    for score in (*first["criteria"].values(), *first["types"].values()):
        assert score["f1_interval"][0] <= score["f1"] <= score["f1_interval"][1]
        assert score["recall_interval"][0] <= score["recall"] <= score["recall_interval"][1]


def test_the_printed_report_names_every_row_and_no_text() -> None:
    report = evaluate(corpus(GOLD, GOLD[:2], GOLD), corpus(GOLD, GOLD[:1]), allow_missing=True)
    out = io.StringIO()
    print_report(report, Console(file=out, width=80))
    printed = out.getvalue()
    for score in (*report.criteria, *report.categories, *report.types):
        assert score.name in printed
    flowing = " ".join(printed.split())
    assert "NOT SCORED: 1 documents missing from the system's output, the first is 2-01" in flowing
    assert "as phistack counts them" in flowing
    assert "meddocan spans merged-script *" in flowing and "meddocan spans merged *" not in flowing
    assert max(map(len, printed.splitlines())) <= 80
    assert "Smith" not in printed and "Smith" not in repr(report)


def test_an_unknown_criterion_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="no criterion lenient"):
        evaluate(corpus(GOLD), corpus(GOLD), resampling=Resampling(draws=1)).score("lenient")
    with pytest.raises(EvaluationError, match="draws"):
        evaluate(corpus(GOLD), corpus(GOLD), resampling=Resampling(draws=0))


def test_a_shared_task_is_scored_in_seconds() -> None:
    gold, system = random_corpora(250, 25)
    started = time.process_time()
    evaluate(gold, system)
    assert time.process_time() - started < 3


COUNTS = {"1-01": 3, "2-01": 5}


def _folder(path: Any) -> Any:
    path.mkdir()
    for name, count in COUNTS.items():
        (path / f"{name}.ann").write_text("T1\tsentence 0 9\n" * count)
    return path


def _json(path: Any) -> Any:
    path = path.with_suffix(".json")
    path.write_text(json.dumps(COUNTS))
    return path


def _tsv(path: Path) -> Path:
    path.write_text("".join(f"{name}\t{count}\n" for name, count in COUNTS.items()))
    return path


@pytest.mark.parametrize("form", [_folder, _json, _tsv])
def test_counts_are_the_same_in_every_form(form: Callable[..., Any], tmp_path: Path) -> None:
    assert read_sentence_counts(form(tmp_path / "counts")) == COUNTS


@pytest.mark.parametrize("content", ["", "a", "a\n", "a\nb", "a\r\nb\r\n", "a\rb\x85c\n", "\n\n", "a\u2028b"])
def test_lines_are_counted_as_the_script_counts_them(content: str, tmp_path: Path) -> None:
    (tmp_path / "1-01.ann").write_bytes(content.encode())
    with (tmp_path / "1-01.ann").open(encoding="utf-8") as file:
        expected = sum(1 for _ in file)
    assert read_sentence_counts(tmp_path) == {"1-01": expected}


@pytest.mark.parametrize(
    ("name", "content", "reported"),
    [
        ("a.tsv", "1-01\tthree\n", "count 1 is not a whole number"),
        ("a.tsv", "1-01\t3\n2-01\n", "count 2 is not a whole number"),
        ("a.tsv", "1-01\t3\n1-01\t3\n", "count 2 is the second"),
        ("a.tsv", "", "holds no sentence counts"),
        ("a.tsv", "1-01\t" + "9" * 5000, "not a whole number"),
        ("a.json", '{"1-01": true}', "not a whole number"),
        ("a.json", '{"1-01": -1}', "not a whole number"),
        ("a.json", '{"1-01": 1, "1-01": 2}', "is the second"),
        ("a.json", '{"1-01": {"a": 1}}', "not a whole number"),
        ("a.json", "[1]", "not one JSON object"),
        ("a.json", "3", "not one JSON object"),
        ("a.json", "[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_not_a_count_is_refused_in_one_sentence(name: str, content: str, reported: Any, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(EvaluationError, match=reported):
        read_sentence_counts(tmp_path / name)


def test_the_command_divides_by_the_counts_given_and_asks_for_others(phistack: Phistack, tmp_path: Path) -> None:
    text = "Dr. Gorse. Dr. Larkin."
    gold = (Span(4, 9, "DOCTOR"), Span(15, 21, "DOCTOR"))
    for name, spans in (("gold", gold), ("system", gold[:1])):
        documents = tuple(Document(f"{i}-01", text, spans) for i in (1, 2))
        write_corpus(Corpus(documents, LabelSet.named("i2b2-2014")), tmp_path / name, format="brat")
    both = tmp_path / "gold", tmp_path / "system"
    status, shown, _ = phistack("evaluate", *both, "--sentences", _tsv(tmp_path / "counts"))
    assert (status, "leak 0.2500: 2 missed PHI in 8 sentences of the reference" in shown) == (0, True)
    assert "as phistack counts them" in phistack("evaluate", *both)[1]
    (tmp_path / "counts").write_text("1-01\t3\n")
    status, _, error = phistack("evaluate", *both, "--sentences", tmp_path / "counts")
    assert status == 1
    assert error.startswith("phistack: the sentence counts lack 1 documents, the first is 2-01; add them to what --sen")
    status, _, error = phistack("evaluate", *both, "--sentences", tmp_path / "gold")
    assert (status, "holds the annotations to be scored" in error) == (1, True)
