"""The benchmark of the stack beside other choosers, on tiny corpora."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.other_domain import curve_of, engine_on, other_domain, precision_at
from benchmarks.pretraining import added_to, notes_of
from benchmarks.stacking import main
from benchmarks.stacking_cases import CHOOSERS, measured, settings_for
from benchmarks.stacking_corpora import PARTS, StackingCorpus, known_corpora
from phistack.ensemble.evaluation.measures import Reach, reach_of
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.folds import grouped_by
from phistack.ensemble.training.trainer import train
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.submodels.base import Candidate
from tests.annotated import annotated
from tests.invented_names import NAMES

MEMBERS = ("regex", "crf")
LABELS = LabelSet.named("i2b2-2014")


def notes(n: int = 12, seed: int = 0, label: str = "DOCTOR", labels: LabelSet = LABELS) -> Corpus:
    """Two notes for each patient, in which the name after `Dr.` is always a doctor's."""
    chance = random.Random(seed)
    documents = []
    for i in range(n):
        by = f"[{chance.choice(NAMES)}|{label}] on [0{i % 9 + 1}/12/2019|DATE]"
        text = f"Seen by Dr. {by}.\nPlan: rest. Call Mr. {chance.choice(NAMES)}."
        documents.append(annotated(text, f"{100 + i // 2}-0{i % 2 + 1}"))
    return Corpus(tuple(documents), labels)


def test_every_quarter_is_held_out_once_and_no_patient_is_on_both_sides() -> None:
    corpus = notes(24)
    rounds = StackingCorpus("own", corpus).rounds(PARTS)
    assert sorted(d.id for _, held_out in rounds for d in held_out.documents) == sorted(d.id for d in corpus.documents)
    for training, held_out in rounds:
        assert not {d.group for d in training.documents} & {d.group for d in held_out.documents}
        assert len(training) + len(held_out) == 24
    few = StackingCorpus("own", corpus, most=5).rounds(1)
    assert [d.id for d in few[0][1].documents] == [d.id for d in rounds[0][1].documents]
    assert len(few[0][0]) == 5
    assert {d.id for d in few[0][0].documents} < {d.id for d in rounds[0][0].documents}
    training, held_out = StackingCorpus("own", grouped_by(corpus, r"^1(\d)")).rounds(1)[0]
    assert {len({d.id[:2] for d in part.documents}) for part in (training, held_out)} == {1}


def test_general_text_is_added_under_the_labels_of_the_notes() -> None:
    news = LabelSet("news", {"PER": "NAME", "LOC": "LOCATION", "MISC": "OTHER"})
    text = Corpus((Document("n", "Ann, Oslo, X", (Span(0, 3, "PER"), Span(5, 9, "LOC"), Span(11, 12, "MISC"))),), news)
    labels = LabelSet("own", {"PERSON": "NAME", "GPE": "LOCATION"})
    (added,) = added_to(Corpus((), labels), text)
    assert added.spans == (Span(0, 3, "PERSON"), Span(5, 9, "GPE"))


def test_hospital_notes_of_a_kind_are_all_learned_from_or_all_scored() -> None:
    training, held_out = notes_of("hospital-de", Path()).rounds(1)[0]
    assert not {d.id.split("-")[1] for d in training.documents} & {d.id.split("-")[1] for d in held_out.documents}


def test_a_case_scores_all_choosers_on_the_notes_held_out() -> None:
    corpus = StackingCorpus("own", notes(16))
    case = measured(corpus, MEMBERS, 2, shuffles=9)
    assert tuple(case.in_short) == CHOOSERS
    gold = [span for _, held_out in corpus.rounds(1) for d in held_out.documents for span in d.spans]
    assert {row.score.counts.support for row in case.choosers.rows} == {len(gold)}
    assert case.in_short["perfect chooser"].score.f1.value >= case.in_short["stack"].score.f1.value
    assert case.in_short["best member"].name in MEMBERS
    assert measured(corpus, MEMBERS, 2, shuffles=9) == case


def run(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["stacking", *map(str, arguments)])
    monkeypatch.setattr("benchmarks.stacking._MEMBERS", {"without": MEMBERS, "with": ("regex",)})
    main()


def test_the_command_prints_a_row_a_case_and_the_means_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seed in (("one", 1), ("two", 2)):
        write_corpus(notes(12, seed), tmp_path / name, format="i2b2")
    options = ("--folds", "2,3", "--network", "both", "--shuffles", 9, "--jobs", 1, "--cache", tmp_path / "cache")
    run(monkeypatch, tmp_path / "one", tmp_path / "two", *options, "--json", tmp_path / "all.json")
    shown = capsys.readouterr().out
    figures = json.loads((tmp_path / "all.json").read_text())
    cases = [(case["corpus"], len(case["submodels"]), case["folds"]) for case in figures["cases"]]
    assert cases == [(name, members, folds) for name in ("one", "two") for members in (2, 1) for folds in (2, 3)]
    last = shown.splitlines()[-1]
    assert last.startswith("mean over 8: best member ")
    stacks = [row["f1"]["value"] for case in figures["cases"] for row in case["choosers"] if row["name"] == "stack"]
    assert f"stack {100 * sum(stacks) / 8:.2f}" in last
    assert len(list((tmp_path / "cache").iterdir())) > 0
    assert not [name for name in NAMES if name in shown]
    with pytest.raises(SettingsError, match="already there"):
        run(monkeypatch, tmp_path / "one", "--json", tmp_path / "all.json")


def test_missing_corpora_are_left_out_unknown_names_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [*known_corpora(tmp_path, ["court-fr", "presidio"])] == []
    assert "court-fr is left out" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="court-fr"):
        [*known_corpora(tmp_path, ["court-frr"])]


def test_another_domain_is_measured_whatever_its_labels() -> None:
    own = LabelSet("own", {"NAME": "NAME", "DATE": "DATE"}, language="en")
    found = other_domain("own", notes(16), notes(8, 5, "NAME", own), MEMBERS, 2)
    assert found.points["perfect chooser"].precision == 1
    assert found.points["perfect chooser"].reach == max(point.reach for point in found.points.values()) > 0.5
    assert {*found.points} == {*MEMBERS, "majority vote", "mean", "logistic regression", "stack", "perfect chooser"}
    shown = "\n".join(found.table().markdown())
    assert all(name in shown for name in found.points)
    json.dumps(found.to_dict())


def test_an_engine_that_is_there_is_measured_in_the_same_way() -> None:
    engine = train(notes(16), settings_for(notes(16), MEMBERS, 2)).engine
    unseen = notes(8, 5)
    found = engine_on("own", unseen, engine)
    assert {*found.points} == {*MEMBERS, "majority vote", "mean", "stack", "perfect chooser"}
    assert found.points["stack"] == reach_of(
        notes(8, 5).documents, [d.spans for d in engine.annotate(notes(8, 5).documents)]
    )


def test_reach_counts_what_is_touched_and_precision_what_touches() -> None:
    note = Document("n", "x" * 40, (Span(0, 5, "A"), Span(10, 15, "B"), Span(20, 25, "C")))
    assert reach_of([note], [[Span(4, 11, "X"), Span(30, 31, "A")]]) == Reach(2 / 3, 1 / 2)
    assert reach_of([note], [[]]) == Reach(0.0, 1.0)
    sure = [(Span(0, 5, "A"), 0.9), (Span(30, 31, "A"), 0.6), (Span(10, 15, "B"), 0.5), (Span(11, 13, "B"), 0.2)]
    decisions = [(Decision(span, p, False, (Candidate(span, "crf", p),)), p) for span, p in sure]
    curve = curve_of([note], [decisions])
    assert precision_at(curve, 1 / 3) == 1
    assert precision_at(curve, 2 / 3) == 2 / 3
    assert precision_at(curve, 1.0) is None
