import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.bundles.model_card import model_card, reliability_of
from phistack.ensemble.command_line.app import app
from phistack.ensemble.evaluation import evaluate_systems
from phistack.ensemble.evaluation.systems import figures_of
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.annotated import small_corpus

GOOD = {"recall": 0.956, "recall_interval": [0.931, 0.973]}


def manifest(
    found: dict[str, float | list[float]], **trained_on: int
) -> dict[str, dict[str, dict[str, dict[str, float | list[object]]] | int]]:
    return {"trained_on": trained_on, "figures": {"strict": {"stack": found}} if found else {}}  # type: ignore[dict-item]


def test_notes_patients_and_recall_with_its_interval_are_reported() -> None:
    reliability = reliability_of(manifest(GOOD, documents=412, patients=200))
    assert reliability.sentence == (
        "trained on 412 notes of 200 patients; out of fold it finds 95.6 % (93.1-97.3) of the PHI, strictly"
    )
    assert reliability.warning == ""
    assert reliability.lines == (f"engine: {reliability.sentence}",)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (manifest(GOOD, documents=38, patients=38), "was trained on few notes"),
        (manifest({"recall": 0.92, "recall_interval": [0.88, 0.94]}, documents=500), "may find less than 90 %"),
        (manifest({"recall": 0.89}, documents=500), "may find less than 90 %"),
        (manifest({}, documents=500), "does not say how much it finds"),
        (manifest(GOOD), "names no training notes"),
        ({"trained_on": {"documents": "38"}, "figures": []}, "names no training notes"),
    ],
)
def test_few_notes_low_recall_and_what_is_not_known_call_for_a_person(known: Any, reason: str) -> None:
    reliability = reliability_of(known)
    assert reason in reliability.warning and reliability.warning.endswith("a person must check its output")
    assert reliability.lines[1].startswith("warning: ")


def test_an_older_bundle_tells_what_it_knows() -> None:
    reliability = reliability_of(manifest({"precision": 0.97, "recall": 0.937, "f1": 0.95}, documents=120, patients=62))
    assert reliability.sentence.endswith("out of fold it finds 93.7 % of the PHI, strictly (without an interval)")
    assert reliability.warning == ""


def test_the_interval_of_recall_is_by_notes_and_wider_than_that_of_single_phi() -> None:
    """Ten notes of ten PHI each; a system finds all or none of a note's, so notes are what varies."""
    spans = tuple(Span(2 * i, 2 * i + 1, "DATE") for i in range(10))
    notes = [Document(f"{i}", "1 " * 10, spans) for i in range(10)]
    found = [note.with_spans(spans if i < 7 else ()) for i, note in enumerate(notes)]
    labels = LabelSet.named("i2b2-2014")
    gold, system = Corpus(tuple(notes), labels), Corpus(tuple(found), labels)
    reports = evaluate_systems(gold, {"stack": system})
    low, high = figures_of({"stack": reports["stack"].strict})["stack"]["recall_interval"]
    wilson = reports["stack"].strict.recall_by_wilson
    assert low < wilson.low < 0.7 < wilson.high < high


def test_the_card_tells_the_reliability() -> None:
    reported = {
        **manifest({**GOOD, "precision": 0.9, "f1": 0.93, "interval": [0.9, 0.95]}, documents=38, patients=38),  # type: ignore[dict-item]
        "kinds": {"crf": "crf.v1"}, "label_set": "i2b2-2014", "language": "en", "tokeniser": "liu", "protocol": 1,
        "versions": {},
    }  # fmt: skip
    card = model_card(reported)
    assert "trained on 38 notes of 38 patients" in card
    assert "**Warning**: this engine was trained on few notes" in card
    assert "| stack | 0.9000 | 0.9560 | 0.9310-0.9730 | 0.9300 | 0.9000-0.9500 |" in card


def test_train_annotate_and_deidentify_say_it(tmp_path: Path) -> None:

    write_corpus(small_corpus(8), tmp_path / "gold", format="i2b2")
    config = tmp_path / "fast.toml"
    config.write_text("folds = 2\n[features]\nwithout = ['gazetteers']\n[submodels.regex]\n", encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("Dr. Gorse came on 05/12/2019.", encoding="utf-8")
    model = str(tmp_path / "engine")
    commands = (
        ["train", str(tmp_path / "gold"), "--model", model, "--config", str(config), "--jobs", "1"],
        ["annotate", str(tmp_path / "in"), str(tmp_path / "annotated"), "--model", model],
        ["deidentify", str(tmp_path / "in"), str(tmp_path / "clean"), "--model", model],
    )
    for command in commands:
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        assert "engine: trained on 8 notes of 8 patients; out of fold it finds " in done.stderr
        assert "a person must check its output" in done.stderr
    stack = read_manifest(tmp_path / "engine")["figures"]["strict"]["stack"]
    low, high = stack["recall_interval"]
    assert low <= stack["recall"] <= high
    assert json.dumps(stack)
