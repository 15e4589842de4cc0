"""The threshold of an engine as a choice: more recall or more precision, what each costs, and who may choose."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.stacking.candidates import PooledCandidate
from phistack.ensemble.stacking.thresholds import CHOICES, THRESHOLDS, recall_choices
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Span
from phistack.features.errors import SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.submodels.base import Candidate
from tests.fixture_types import Phistack

JUDGED = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(JUDGED, st.sampled_from(THRESHOLDS))
def test_high_misses_no_more_and_precise_marks_no_more_within_their_limits(judged: Any, balanced: float) -> None:
    spans = [Span(i, i + 1, "NAME") for i in range(len(judged))]
    pool = [PooledCandidate(span, (Candidate(span, "crf"),)) for span in spans]
    gold = {span for span, (_, is_right) in zip(spans, judged, strict=True) if is_right}
    found = recall_choices([pool], [np.array([p for p, _ in judged])], [gold], balanced)
    assert tuple(found) == CHOICES
    high, middle, precise = found.values()
    assert high["threshold"] <= middle["threshold"] == balanced <= precise["threshold"]
    assert high["recall"] >= middle["recall"] >= precise["recall"] >= 0.95 * middle["recall"]
    assert high["precision"] >= 0.9 * middle["precision"]
    for choice in found.values():
        accepted = {span for span, (p, _) in zip(spans, judged, strict=True) if p > choice["threshold"]}
        assert choice["recall"] == pytest.approx(len(accepted & gold) / max(len(gold), 1))
        assert choice["precision"] == pytest.approx(len(accepted & gold) / max(len(accepted), 1))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An engine trained on few notes, others to read, and the same engine as an older version wrote it."""
    folder = tmp_path_factory.mktemp("recall")
    settings = EngineSettings(folds=2, submodels={"regex": {}, "crf": {"max_iterations": 15}})
    train_bundle(synthesize(24, seed=1), folder / "engine", settings)
    write_corpus(synthesize(12, seed=2), folder / "notes.jsonl", format="jsonl")
    return folder


def test_more_recall_marks_more_and_more_precision_less(home: Path, phistack: Phistack, tmp_path: Path) -> None:
    marked = {}
    for choice in CHOICES:
        out = tmp_path / f"{choice}.jsonl"
        given = ("annotate", home / "notes.jsonl", out, "--model", home / "engine", "--recall", choice)
        assert phistack(*given)[0] == 0
        marked[choice] = sum(span.end - span.start for d in read_corpus(out).documents for span in d.spans)
    assert marked["high"] > marked["balanced"] > marked["precise"]
    assert phistack("annotate", home / "notes.jsonl", tmp_path / "usual.jsonl", "--model", home / "engine")[0] == 0
    assert (tmp_path / "usual.jsonl").read_bytes() == (tmp_path / "balanced.jsonl").read_bytes()


def test_a_run_is_of_its_choice(home: Path, phistack: Phistack, tmp_path: Path) -> None:
    shutil.copy(home / "notes.jsonl", tmp_path / "in.jsonl")
    for choice in ("high", "precise"):
        given = ("deidentify", tmp_path / "in.jsonl", tmp_path / f"{choice}.jsonl", "--model", home / "engine")
        status, _, error = phistack(*given, "--recall", choice, "--column", "id=keep", "--column", "group=keep")
        assert status == 0, error
    tags = {c: (tmp_path / f"{c}.jsonl").read_text().count("[") for c in ("high", "precise")}
    assert tags["high"] > tags["precise"]
    summary = json.loads((tmp_path / "high.jsonl.run" / "summary.json").read_text())
    assert summary["settings"]["recall"] == "high"


def test_the_card_says_what_each_choice_costs(home: Path) -> None:
    card = (home / "engine" / "MODEL_CARD.md").read_text()
    for name, row in load_bundle(home / "engine").stacker.choices_.items():
        assert f"| {name} | {row['threshold']:.2f} | {row['precision']:.4f} | {row['recall']:.4f} |" in card


def test_a_choice_that_is_not_there_is_one_sentence(home: Path, phistack: Phistack, tmp_path: Path) -> None:
    given = ("annotate", home / "notes.jsonl", tmp_path / "out.jsonl", "--model", home / "engine", "--recall", "hihg")
    status, _, error = phistack(*given)
    assert status == 1 and "no choice of --recall named hihg (did you mean high?)" in error
    older = load_bundle(home / "engine")
    older.stacker.choices_ = {}
    assert older.with_options(recall="balanced")
    with pytest.raises(SettingsError, match="has only the threshold `balanced`"):
        older.with_options(recall="high")
    assert list(tmp_path.iterdir()) == []
