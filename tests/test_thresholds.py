"""Margins become probabilities that come true; the threshold is the one that trying each would find."""

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
from phistack.ensemble.stacking.thresholds import (
    ABOUT,
    CHOICES,
    THRESHOLDS,
    best_threshold,
    calibrated,
    calibration_curve,
    platt_scaling,
    recall_choices,
)
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Span
from phistack.features.errors import SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.ranges import non_overlapping
from phistack.submodels.base import Candidate
from tests.fixture_types import Phistack

_SPANS = st.builds(lambda start, length: Span(start, start + length, "DOCTOR"), st.integers(0, 40), st.integers(1, 12))
_NOTES = st.lists(
    st.dictionaries(_SPANS, st.tuples(st.floats(0, 1), st.booleans()), max_size=12), min_size=1, max_size=5
)


def _f1_by_trying(notes: list[dict[Span, tuple[float, bool]]], threshold: float) -> tuple[float, float]:
    """Expected F1 and F1."""
    n_expected = n_right = n_all = 0.0
    for note in notes:
        spans = sorted(note)
        pool = [PooledCandidate(span, ()) for span in spans]
        accepted = {spans[i] for i in non_overlapping(pool, [note[span][0] - threshold for span in spans])}
        gold = {span for span in spans if note[span][1]}
        n_expected += sum(note[span][0] for span in accepted)
        n_right += len(accepted & gold)
        n_all += len(accepted) + len(gold)
    return (2 * n_expected / n_all, 2 * n_right / n_all) if n_all else (0.0, 0.0)


@given(_NOTES)
def test_the_threshold_is_the_lowest_with_about_the_best_expectation(
    notes: list[dict[Span, tuple[float, bool]]],
) -> None:
    pools = [[PooledCandidate(span, ()) for span in sorted(note)] for note in notes]
    probabilities = [np.array([note[span][0] for span in sorted(note)]) for note in notes]
    gold = [{span for span, (_, right) in note.items() if right} for note in notes]
    found, f1 = best_threshold(pools, probabilities, gold)
    scores = {threshold: _f1_by_trying(notes, threshold) for threshold in THRESHOLDS}
    best = max(expected for expected, _ in scores.values())
    assert f1 == pytest.approx(scores[found][1])
    assert scores[found][0] >= best - ABOUT - 1e-9
    assert all(expected < best - ABOUT + 1e-9 for t, (expected, _) in scores.items() if t < found)


def test_chance_on_few_notes_does_not_choose_the_threshold() -> None:
    """If one of ten candidates at 0.2 happens to be right, that is no reason to accept all of them."""
    spans = [Span(10 * i, 10 * i + 5, "DOCTOR") for i in range(12)]
    pools = [[PooledCandidate(span, ()) for span in spans]]
    probabilities = np.array([0.95] * 8 + [0.2] * 4)
    threshold, _ = best_threshold(pools, [probabilities], [{*spans[:8], *spans[10:]}])
    assert threshold >= 0.2


def test_the_threshold_is_lower_where_recall_counts_more() -> None:
    spans = [Span(10 * i, 10 * i + 5, "DOCTOR") for i in range(20)]
    pools = [[PooledCandidate(span, ()) for span in spans]]
    probabilities = [np.array([0.95] * 10 + [0.3] * 10)]
    gold = [{*spans[:13]}]
    chosen = [best_threshold(pools, probabilities, gold, beta)[0] for beta in (0.5, 1, 3)]
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[0] >= 0.3 > chosen[-1]


_MARGINS = st.lists(st.tuples(st.floats(-4, 4), st.booleans()), min_size=1, max_size=40)


def _log_loss(probabilities: np.ndarray, is_phi: np.ndarray) -> float:
    return -float(np.log(np.where(is_phi, probabilities, 1 - probabilities)).mean())


@given(_MARGINS)
def test_a_surer_machine_is_never_less_probable(given_margins: list[tuple[float, bool]]) -> None:
    margins = np.array([margin for margin, _ in given_margins])
    is_phi = np.array([right for _, right in given_margins])
    for fit in (calibration_curve, platt_scaling):
        probabilities = calibrated(np.sort(margins), fit(margins, is_phi))
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        if fit is calibration_curve:
            assert (np.diff(probabilities) >= 0).all()


def test_a_curve_of_one_slope_is_that_of_many_equal_ones() -> None:
    margins = np.linspace(-3, 3, 50)
    assert calibrated(margins, (2.0, 0.3)) == pytest.approx(calibrated(margins, (*[2.0] * 6, 0.3)))


def test_log_odds_that_bend_are_told_better_than_by_a_line() -> None:
    """As in a stack: what lies slightly above the boundary is hardly surer than what lies on it."""
    rng = np.random.default_rng(0)
    margins = rng.uniform(-2, 2, 4000)
    truth = calibrated(margins, (4.0, 4.0, 4.0, 0.2, 0.2, 6.0, 0.0))
    is_phi = rng.random(4000) < truth
    curve, line = calibration_curve(margins, is_phi), platt_scaling(margins, is_phi)
    near = (margins > 0.2) & (margins < 0.9)
    assert abs(calibrated(margins, curve) - truth)[near].mean() < 0.03
    assert abs(calibrated(margins, line) - truth)[near].mean() > 0.08
    assert _log_loss(calibrated(margins, curve), is_phi) < _log_loss(calibrated(margins, line), is_phi) - 0.01


def test_few_candidates_bend_nothing() -> None:
    rng = np.random.default_rng(1)
    margins = rng.uniform(-2, 2, 30)
    *slopes, _ = calibration_curve(margins, rng.random(30) < calibrated(margins, (2.0, 0.0)))
    assert max(slopes) < 3 * min(slopes)


@pytest.mark.parametrize("answer", [True, False])
def test_with_one_kind_of_candidate_there_is_nothing_to_fit(answer: bool) -> None:
    assert calibration_curve(np.zeros(3), np.full(3, answer)) == (1.0, 0.0)


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
    """An engine trained on few notes, other notes to read, and the same engine as an older version saved it."""
    folder = tmp_path_factory.mktemp("recall")
    settings = EngineSettings(folds=2, submodels={"regex": {}, "crf": {"max_iterations": 15}})
    train_bundle(synthesize(16, seed=1), folder / "engine", settings)
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
