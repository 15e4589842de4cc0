"""README.md and docs/results.md agree with the results files, and the benchmarks write such files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.english import by_template
from benchmarks.measuring import RESULTS, Benchmark, measure, write_results
from benchmarks.results import (
    BENCHMARKS,
    VARIANTS,
    read_ablations,
    read_results,
    read_variants,
    readme_section,
    results_page,
    updated,
)
from benchmarks.results_file import SCHEMA, BenchmarkResults, TrainingTime, TriedVariant
from benchmarks.training import sentences_of, table_of
from phistack.ensemble.stacking.folds import held_out_patients
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings

ROOT = Path(__file__).parents[1]

PARTS = [
    {"part": "crf", "step": "all", "wall": 12.0, "cpu": 11.0, "cached": False},
    {"part": "crf", "step": "fold 1 of 2", "wall": 6.0, "cpu": 5.0, "cached": True},
    {"part": "crf", "step": "fold 2 of 2", "wall": 8.0, "cpu": 7.0, "cached": False},
    {"part": "stacker", "step": "all", "wall": 1.0, "cpu": 2.0, "cached": False},
]
RAW_TRAINING = {"wall seconds": 60.0, "processes": 2, "limit minutes": 40, "parts": PARTS}
TRAINING = msgspec.convert(RAW_TRAINING, TrainingTime)


def system(f1: Any) -> Any:
    return {"precision": f1, "recall": f1, "f1": f1, "interval": [f1 - 0.01, f1 + 0.01], "f1 by criterion": {}}


def result(name: Any, **others: Any) -> Any:
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "benchmark": name,
        "title": name.title(),
        "date": "2026-01-02",
        "settings hash": "abcdef",
        "protocol": "Trained on A, scored on B.",
        "documents": {"training": 30, "unseen": 10},
        "systems": {"crf": system(0.9), "stack": system(0.95)},
        "types": {
            "DATE": {"gold": 3, "precision": 1.0, "recall": 0.5, "f1": 2 / 3, "recall interval": [0.1, 0.9]},
            "NAME": {"gold": 7, "precision": 0.5, "recall": 0.5, "f1": 0.5, "recall interval": [0.2, 0.8]},
            "ODD": {"gold": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0, "recall interval": [0.0, 1.0]},
        },
        "training": RAW_TRAINING,
        "annotate seconds": 4.2,
    } | others
    return msgspec.convert(told, BenchmarkResults)


def test_the_readme_and_the_page_are_as_the_command_writes_them() -> None:
    results, variants = read_results(RESULTS), read_variants(VARIANTS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert updated(readme, readme_section(results, variants)) == readme, "run `make results`"
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert results_page(results, read_ablations(RESULTS), variants) == page, "run `make results`"


def test_every_variant_tells_what_it_was() -> None:
    for variant in read_variants(VARIANTS):
        assert variant.corpus in (*BENCHMARKS, "several")
        assert all(0 < figure < 100 for figure in (*variant.f1, *variant.without))


def test_results_tell_their_date_settings_protocol_and_variants() -> None:
    told = [
        {"corpus": "a", "part": "crf", "what": "more", "selection": "folds", "f1": [90.0], "count": 3, "kept": False},
        {"corpus": "a", "part": "crf", "what": "less", "selection": "folds", "f1": [90.1], "kept": True},
    ]
    variants = msgspec.convert(told, list[TriedVariant])
    section = readme_section([result("a"), result("b")], variants)
    assert "| stack | 95.00 | 95.00 | 95.00 (94.00-96.00) |" in section
    assert "Measured 2026-01-02 with the settings abcdef. Trained on A, scored on B. Variants tried: 4;" in section
    assert "| B | 90.00 | 95.00 | 94.00-96.00 |" in section
    assert max(map(len, section.splitlines())) <= 120
    page = results_page([result("c"), result("a"), result("b")], {}, variants)
    assert "[list](../benchmarks/variants.toml)" in page and "No variant was tried on this corpus." in page


def test_a_page_has_the_types_from_the_most_frequent_on() -> None:
    page = results_page([result("a")], {}, [])
    assert page.index("| NAME | 7 | 50.00 | 50.00 (20.00-80.00) | 50.00 |") < page.index("| DATE | 3 | 100.00 |")
    assert "| ODD | 0 | 0.00 |  | 0.00 |" in page


def test_a_system_that_one_corpus_lacks_leaves_its_cell_empty() -> None:
    other = result("c", systems={"stack": system(0.8)})
    assert "| C |  | 80.00 | 79.00-81.00 |" in readme_section([result("a"), result("b"), other], [])


def test_text_outside_the_markers_stays() -> None:
    begin, end = "<!-- results: written by make results -->", "<!-- /results -->"
    assert updated(f"before\n{begin}\nold\n{end}\nafter\n", "new\n") == f"before\n{begin}\nnew\n{end}\nafter\n"
    with pytest.raises(SystemExit, match="lacks the markers"):
        updated(f"before\n{begin}\nold\n", "new\n")


def test_a_missing_or_older_results_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="make meddocan"):
        read_results(tmp_path)
    for name in BENCHMARKS:
        (tmp_path / f"{name}.json").write_text('{"schema": "other"}')
    with pytest.raises(SystemExit, match="schema"):
        read_results(tmp_path)


def test_costs_of_a_training_are_summed_by_part_and_stand_against_the_limit() -> None:
    table, sentences = table_of(TRAINING).markdown(), " ".join(sentences_of(TRAINING))
    assert table[2:] == ["| crf | 2 x 7.0 | 12.0 | 23.0 | 92.0 % |", "| stacker |  | 1.0 | 2.0 | 8.0 % |"]
    assert "1.0 minutes by the clock in 2 processes, 2 % of the 40" in sentences
    assert "gave 1 of the fits" in sentences


def test_sentences_of_one_template_stay_together() -> None:
    corpus = synthesize(3)
    ids = ("s1_t07", "s2_t07", "s3_t12")
    renamed = [replace(document, id=id, group="") for document, id in zip(corpus.documents, ids, strict=True)]
    grouped = by_template(replace(corpus, documents=tuple(renamed)))
    assert [document.group for document in grouped.documents] == ["template 07", "template 07", "template 12"]


def test_a_benchmark_writes_all_that_the_tables_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training, unseen = held_out_patients(synthesize(16, seed=5), parts=4, seed=0)
    benchmark = Benchmark("a", "A", "Trained on A, scored on B.", criteria=("i2b2 relaxed",), limit_minutes=40)
    results = measure(benchmark, training, unseen, EngineSettings(folds=2).only(("regex",)), out=tmp_path, jobs=1)
    path = write_results(tmp_path / "results", results)
    assert path.name == "a.json"
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read["schema"] == SCHEMA
    assert list(read["systems"]) == ["regex", "stack"]
    assert {part["part"] for part in read["training"]["parts"]} == {"features", "load", "regex", "stacker"}
    page = results_page([result("b"), msgspec.convert(read, BenchmarkResults)], {}, [])
    assert "| A | precision | recall | F1 (95 % interval) | i2b2 relaxed |" in page
    assert not any(document.text[:30] in path.read_text(encoding="utf-8") for document in unseen.documents)
