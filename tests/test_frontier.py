import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.experiments.frontier import measure_frontier, on_frontier
from phistack.ensemble.experiments.parts import write_results
from phistack.ensemble.experiments.speed import Run, measure_speed
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import by_score, train
from phistack.features.documents import Corpus
from phistack.features.errors import BundleError, EvaluationError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from tests.annotated import small_corpus
from tests.fixture_types import Phistack
from tests.invented_names import FEW_NAMES as NAMES

SETTINGS = EngineSettings(folds=2).only(("regex", "crf"))
QUICK = ("--submodels", "regex,crf", "--folds", 2, "--jobs", 1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with notes, an engine, and what the frontier command makes of them."""
    folder = tmp_path_factory.mktemp("frontier")
    write_corpus(small_corpus(8), folder / "notes", format="i2b2")
    train_bundle(small_corpus(8), folder / "engine", SETTINGS)
    write_results(folder / "out", lambda: measure_frontier(small_corpus(8), folder / "engine", repetitions=1))
    return folder


POINTS = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=12)


@given(POINTS)
def test_no_point_of_the_frontier_is_beaten_and_every_other_is(points: Any) -> None:
    def beats(a: Any, b: Any) -> Any:
        return a[0] >= b[0] and a[1] >= b[1] and a != b

    best = [point for point, on in zip(points, on_frontier(points), strict=True) if on]
    others = [point for point, on in zip(points, on_frontier(points), strict=True) if not on]
    assert best
    assert not any(beats(a, b) for a in points for b in best)
    assert all(any(beats(a, b) for a in best) for b in others)


def test_the_results_have_a_row_a_subset_from_the_fastest_to_the_slowest(home: Any) -> None:
    results = json.loads((home / "out" / "results.json").read_text(encoding="utf-8"))
    rows = results["rows"]
    assert {row["name"] for row in rows} == {"stack over regex", "stack over crf", "regex+crf"}
    speeds = [row["speed"]["median"] for row in rows]
    assert speeds == sorted(speeds, reverse=True)
    assert all(row["load seconds"] > 0 and row["peak MB"] > 10 for row in rows)
    whole = next(row for row in rows if row["name"] == "regex+crf")
    assert whole["recall"]["value"] == whole["precision"]["value"] == 1.0
    assert any(row["on frontier"] for row in rows)
    assert not any(name in json.dumps(results) for name in NAMES)


def test_scores_are_those_of_the_engine_without_the_others(home: Any) -> None:
    rows = json.loads((home / "out" / "results.json").read_text(encoding="utf-8"))["rows"]
    gold = small_corpus(8).documents
    for row in rows:
        found = load_bundle(home / "engine", only=row["submodels"]).annotate(gold)
        right = sum(len({*a.spans} & {*b.spans}) for a, b in zip(gold, found, strict=True))
        assert row["tp"] == right


def test_the_picture_and_the_table_show_every_subset(home: Any) -> None:
    drawn = (home / "out" / "frontier.svg").read_text(encoding="utf-8")
    assert (home / "out" / "frontier.png").stat().st_size > 1000
    latex = (home / "out" / "table.tex").read_text(encoding="utf-8")
    for name in ("regex", "crf", "regex+crf"):
        assert name in drawn
        assert name in latex


def test_the_command_prints_the_table_and_overwrites_nothing(phistack: Phistack, home: Any) -> None:
    status, _, error = phistack("frontier", home / "notes", "--model", home / "engine", "--out", home / "out")
    assert status == 1
    assert "already there" in error
    status, shown, _ = phistack("frontier", home / "notes", "--model", home / "engine", "--repetitions", 1)
    assert status == 0
    assert "regex+crf" in shown


def test_notes_without_phi_cannot_be_measured(home: Any) -> None:
    plain = Corpus(tuple(document.with_spans(()) for document in small_corpus(8).documents), small_corpus(8).label_set)
    with pytest.raises(EvaluationError, match="no annotated PHI"):
        measure_frontier(plain, home / "engine")


def test_a_measurement_changes_nothing_in_this_process(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    run = measure_speed(home / "engine", ("crf",), small_corpus(8).documents)
    assert dict(os.environ) == before
    assert run.notes == len(run.spans) == 8
    assert run.notes_per_second == pytest.approx(8 / run.seconds)
    with pytest.raises(BundleError, match="no bundle"):
        measure_speed(home / "nothing", ("crf",), small_corpus(8).documents)


def test_annotate_and_explain_with_some_of_the_submodels(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    arguments = ("--model", home / "engine", "--submodels", "regex")
    assert phistack("annotate", home / "notes", tmp_path / "out", *arguments)[0] == 0
    expected = load_bundle(home / "engine", only=("regex",)).annotate(small_corpus(8).documents)
    assert [d.spans for d in read_corpus(tmp_path / "out").documents] == [d.spans for d in expected]
    status, shown, _ = phistack("explain", home / "notes", *arguments)
    assert (status, "crf" in shown) == (0, False)
    status, _, error = phistack(
        "annotate", home / "notes", tmp_path / "no", "--model", home / "engine", "--submodels", "x"
    )
    assert status == 1
    assert "no submodel x; it has regex, crf" in error


@pytest.fixture
def speeds(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Invented speeds by subset, in place of measured ones."""
    reported = {("regex",): 500.0, ("crf",): 200.0, ("regex", "crf"): 150.0}

    def measure(model: Any, subset: Any, documents: Any) -> Any:
        return Run(subset, len(documents), len(documents) / reported[subset], 0.1, 100.0, [() for _ in documents])

    monkeypatch.setattr("phistack.ensemble.tasks.training.measure_speed", measure)
    return reported


@pytest.mark.parametrize("budget", [100, 180, 400])
def test_the_budget_keeps_the_best_subset(
    phistack: Phistack, home: Any, tmp_path: Path, speeds: Any, budget: Any
) -> None:
    status, shown, _ = phistack("train", home / "notes", "--model", tmp_path / "engine", *QUICK, "--budget", budget)
    assert status == 0
    order = [subset for subset, _ in by_score(train(small_corpus(8), SETTINGS).engine)]
    expected = next(subset for subset in order if speeds[subset] >= budget)
    assert f"The engine of {', '.join(expected)} is in" in shown
    manifest = read_manifest(tmp_path / "engine")
    assert tuple(manifest["kinds"]) == load_bundle(tmp_path / "engine").names == expected
    figures = manifest["figures"]["budget"]
    assert figures["notes per second asked for"] == budget
    measured = order[: order.index(expected) + 1]
    assert [row["submodels"] for row in figures["measured"]] == ["+".join(subset) for subset in measured]
    card = (tmp_path / "engine" / "MODEL_CARD.md").read_text()
    assert f"Trained to annotate {budget} notes a second" in card
    assert all(f"| {'+'.join(subset)} | " in card and f"| {speeds[subset]:.0f} |" in card for subset in measured)
    assert set(manifest["figures"]["strict"]) == {*expected, "stack"}


@pytest.mark.parametrize(("budget", "reported"), [(900, "the fastest, regex, annotates 500"), (0, "more than 0")])
def test_a_budget_that_nothing_keeps_to_leaves_nothing(
    phistack: Phistack, home: Any, tmp_path: Path, speeds: Any, budget: Any, reported: Any
) -> None:
    status, _, error = phistack("train", home / "notes", "--model", tmp_path / "engine", *QUICK, "--budget", budget)
    lines = [line for line in error.splitlines() if line.startswith("phistack: ")]
    assert (status, len(lines)) == (1, 1)
    assert reported in lines[0]
    assert ("training: " in error) == (budget > 0), "a budget that cannot be is reported before any training"
    assert not list(tmp_path.iterdir())


def test_a_bundle_without_stackers_of_subsets_has_no_frontier(home: Any, tmp_path: Path) -> None:
    engine = load_bundle(home / "engine")
    old = Engine(engine.label_set, engine.space, engine.submodels, engine.stacker)
    save_bundle(old, tmp_path / "old", self_test=self_test(old), trained_on={}, figures={})
    with pytest.raises(BundleError, match="train it again"):
        measure_frontier(small_corpus(8), tmp_path / "old")


def test_an_unknown_criterion_is_refused_before_anything_is_measured(home: Any) -> None:
    with pytest.raises(SettingsError, match="strict, spans"):
        measure_frontier(small_corpus(8), home / "engine", criterion="best")


def test_a_clock_that_sees_nothing_of_a_few_notes_gives_a_speed() -> None:
    assert Run(("regex",), 3, 0.0, 1.0, 100.0, ()).notes_per_second == 3000


def test_what_an_engine_needs_is_imported_while_its_load_is_measured() -> None:
    told = "import sys, phistack.ensemble.experiments.speed; print({'numpy', 'sklearn'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True).stdout == "set()\n"
