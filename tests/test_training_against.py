"""A training with the code of another checkout beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.training_against import TrainingComparison, TrainingRun, compare
from phistack.ensemble.synthesis import synthesize
from phistack.features.formats import write_corpus

ROOT = Path(__file__).parents[1]


def test_both_sides_are_shown_part_by_part_and_the_last_line_is_the_ratio() -> None:
    older = TrainingRun(100.0, {"crf": 80.0, "stacker": 10.0}, {"crf": 0.9, "stack": 0.95})
    ours = TrainingRun(20.0, {"crf": 8.0, "stacker": 5.0}, {"crf": 0.91, "stack": 0.945})
    lines = [line.split() for line in TrainingComparison(older, ours).lines()]
    assert lines[1:5] == [
        ["crf", "80.0", "8.0", "10.00"],
        ["stacker", "10.0", "5.0", "2.00"],
        ["all", "else", "10.0", "7.0", "1.43"],
        ["whole", "100.0", "20.0", "5.00"],
    ]
    assert lines[6:] == [["crf", "90.00", "91.00", "+1.00"], ["stack", "95.00", "94.50", "-0.50"], ["ratio", "5.00"]]


@pytest.mark.slow
def test_the_command_of_a_checkout_is_run_with_its_code(tmp_path: Path) -> None:
    write_corpus(synthesize(n_documents=8, seed=2), tmp_path / "notes.jsonl", format="jsonl")
    found = compare(ROOT, tmp_path / "notes.jsonl", ["--submodels", "regex", "--folds", "2"])
    assert found.older.f1 == found.ours.f1 and set(found.ours.f1) == {"regex", "stack"}
    assert {"regex", "features", "stacker"} <= set(found.ours.parts)
    assert all(side.cpu > sum(side.parts.values()) > 0 for side in (found.older, found.ours))


def test_a_folder_that_is_no_checkout_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is no checkout of phistack"):
        compare(tmp_path, tmp_path, [])
