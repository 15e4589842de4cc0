"""Whether stated probabilities come true: figures, picture, bundle and page."""

import json
import random
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.bundles.model_card import model_card
from phistack.ensemble.evaluation.calibration import FEWEST, Calibration, calibration_picture
from phistack.ensemble.evaluation.resampling import Resampling, wilson
from phistack.ensemble.experiments.errors import analyse_errors, calibrations_of
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet
from phistack.submodels.base import Candidate
from tests.annotated import seen
from tests.invented_names import NAMES

LABELS = LabelSet.named("i2b2-2014")


def notes(first: int = 0, n: int = 24) -> Corpus:
    """Notes in which the name after `Dr.` is always a doctor's."""
    plans = (f".\nPlan: rest. Call Mr. {NAMES[-1 - i % 5]}." for i in range(first, first + n))
    return Corpus(tuple(seen(i, NAMES[i % len(NAMES)], plan) for i, plan in enumerate(plans, first)), LABELS)


SAID = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=200)


@given(SAID)
def test_bins_hold_all_candidates_and_fifty_at_least(said: list[tuple[float, bool]]) -> None:
    found = Calibration.of((p for p, _ in said), (right for _, right in said))
    assert found.n == len(said)
    assert all(b.n >= min(FEWEST, len(said)) > 0 for b in found.bins)
    assert [b.high for b in found.bins[:-1]] == [b.low for b in found.bins[1:]]
    for b in found.bins:
        inside = [(p, right) for p, right in said if b.low <= p and (p < b.high or b.high == 1)]
        assert b.n == len(inside)
        assert b.said == pytest.approx(sum(p for p, _ in inside) / b.n)
        assert b.right == wilson(sum(right for _, right in inside), b.n)
    assert 0 <= found.expected_error <= max((abs(b.gap) for b in found.bins), default=0.0) + 1e-12


def test_what_is_right_as_often_as_it_says_has_no_error_and_what_is_sure_and_wrong_has_all() -> None:
    chance = random.Random(0)
    said = [chance.random() for _ in range(20_000)]
    honest = Calibration.of(said, [chance.random() < p for p in said])
    assert len(honest.bins) == 20
    assert honest.expected_error < 0.02
    wrong = Calibration.of([0.95] * 80 + [0.1] * 20, [False] * 80 + [False] * 20)
    assert [(b.low, b.high, b.n) for b in wrong.bins] == [(0.0, 1.0, 100)]  # 20 are too few for a bin of their own
    assert wrong.expected_error == pytest.approx(0.78)
    assert wrong.furthest == wrong.bins[0]
    assert Calibration.of([], []).furthest is None


def test_members_are_judged_on_what_they_proposed_and_the_stack_on_everything() -> None:
    gold, other = Span(0, 4, "DATE"), Span(0, 4, "CITY")
    votes = {name: Candidate(gold, name, 0.9) for name in ("regex", "crf", "repeated mention")}
    decisions = [
        Decision(gold, 0.7, True, (votes["regex"], votes["crf"])),
        Decision(other, 0.2, False, (Candidate(other, "crf", 0.3),)),
        Decision(Span(5, 8, "DATE"), 0.6, True, (votes["repeated mention"],)),
    ]
    found = calibrations_of([Document("n", "x" * 9, (gold,))], [decisions], ("regex", "crf"))
    assert {name: (c.n, c.bins[0].said, c.bins[0].right.value) for name, c in found.items()} == {
        "regex": (1, 0.9, 1.0), "crf": (2, 0.6, 0.5), "stack": (3, 0.5, pytest.approx(1 / 3)),
    }  # fmt: skip


def test_the_drawing_is_whole_shows_each_bin_and_fetches_nothing() -> None:
    chance = random.Random(1)
    said = [chance.random() for _ in range(900)]
    figures = {
        name: Calibration.of(said, [chance.random() < p**power for p in said]).to_dict()
        for name, power in (("crf", 1), ("<odd> & name", 3), ("empty", 1), ("a", 1), ("stack", 1))
    }
    figures["empty"] = Calibration.of([], []).to_dict()
    drawn = calibration_picture(figures)
    tree = ElementTree.fromstring(drawn)
    circles = [node for node in tree.iter() if node.tag.endswith("circle")]
    assert len(circles) == sum(len(found["bins"]) for found in figures.values()) > 40
    names = ["".join(node.itertext()) for node in tree.iter() if node.get("class") == "name"]
    assert names == list(figures)
    first = figures["crf"]["bins"][0]
    x, y = (float(circles[0].get(key, "")) / 180 for key in ("cx", "cy"))
    assert (x, 1 - y) == pytest.approx((first["said"], first["right"]["value"]), abs=1e-3)
    assert not re.findall(r"(?:src|href)\s*=|url\(|@import|<script", drawn)
    assert calibration_picture(figures) == drawn


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calibration") / "engine"
    train_bundle(notes(), path, EngineSettings(folds=2).only(("regex", "crf")))
    return path


def test_the_bundle_has_the_diagrams_of_its_training_notes(engine: Path) -> None:
    figures = read_manifest(engine)["figures"]["calibration"]
    assert list(figures) == ["regex", "crf", "stack"]
    assert figures["stack"]["candidates"] >= max(figures[name]["candidates"] for name in ("regex", "crf")) > 0
    assert (engine / "calibration.svg").read_text() == calibration_picture(figures)
    card = (engine / "MODEL_CARD.md").read_text()
    assert "(calibration.svg)" in card
    assert f"| stack | {figures['stack']['candidates']} | {figures['stack']['expected error']:.4f} |" in card
    load_bundle(engine)


def test_the_card_of_an_older_engine_names_no_picture_and_no_choosers() -> None:
    manifest: dict[str, Any] = {
        "kinds": {"crf": "crf.v1"}, "label_set": "own", "language": "en", "tokeniser": "liu", "protocol": 2,
        "versions": {}, "trained_on": {}, "figures": {},
    }  # fmt: skip
    card = model_card(manifest)
    assert "alibration" not in card and "Choosers" not in card


def test_other_notes_have_diagrams_in_the_analysis_of_errors(engine: Path) -> None:
    analysis = analyse_errors(notes(40, 8), load_bundle(engine), resampling=Resampling(shuffles=9))
    figures = analysis.to_dict()["calibration"]
    json.dumps(figures)
    page = analysis.page()
    assert calibration_picture(figures) in page
    assert any("furthest" in line for table in analysis.tables() for line in table.markdown())
    assert figures["crf"]["candidates"] == sum(
        any(vote.source == "crf" for vote in d.votes)
        for found in load_bundle(engine).decide(notes(40, 8).documents) for d in found
    )  # fmt: skip
