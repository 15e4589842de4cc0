"""The mean over folds, as papers report cross-validation, beside the figures of all folds together."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev

import pytest

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.evaluation import Resampling
from phistack.ensemble.experiments.ablation import ablate
from phistack.ensemble.experiments.parts import write_results
from phistack.ensemble.stacking.folds import training_folds
from phistack.ensemble.synthesis.corpus import synthesize
from phistack.ensemble.tasks.training import train_with_report
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import out_of_fold_corpora
from phistack.features.documents import Span

CORPUS = synthesize(9, seed=4)
SETTINGS = replace(EngineSettings(folds=3), submodels={"crf": {"max_iterations": 10}})
FOLDS = training_folds(CORPUS.documents, n_folds=3, seed=0)


def strict_f1(found: list[set[Span]], gold: list[set[Span]]) -> float:
    right = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 2 * right / (sum(map(len, found)) + sum(map(len, gold)))


def test_a_training_reports_it_and_its_bundle_holds_it(tmp_path: Path) -> None:
    training, report = train_with_report(CORPUS, tmp_path / "engine", SETTINGS)
    found = [set(d.spans) for d in out_of_fold_corpora(training, CORPUS)["crf"].documents]
    gold = [set(d.spans) for d in CORPUS.documents]
    by_fold = [strict_f1([found[i] for i in fold], [gold[i] for i in fold]) for fold in FOLDS]
    table = next(table for table in report.details() if "mean over the folds" in table.title)
    [row] = [row for row in table.sections[0] if row[0] == "crf"]
    assert row[3] == f"{100 * fmean(by_fold):.2f} ({100 * pstdev(by_fold):.2f})"
    figures = read_manifest(tmp_path / "engine")["figures"]
    assert figures["mean of folds"]["crf"]["f1"]["mean"] == pytest.approx(fmean(by_fold))
    assert figures["strict"]["crf"]["f1"] != pytest.approx(fmean(by_fold), abs=1e-9), "all folds together are another"


def test_an_ablation_has_it_out_of_fold_and_not_on_other_notes(tmp_path: Path) -> None:
    found = write_results(
        tmp_path / "out", lambda: ablate(CORPUS, SETTINGS, resampling=Resampling(shuffles=9), cache=tmp_path / "folds")
    )
    rows = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["rows"]
    assert all(0 < row["mean of folds"]["f1"]["mean"] <= 1 for row in rows)
    table = found.tables()["folds"]
    assert [row[0] for row in table.sections[0]] == [row["name"] for row in rows]
    other = ablate(
        CORPUS, SETTINGS, test=synthesize(3, seed=5), resampling=Resampling(shuffles=9), cache=tmp_path / "folds"
    )
    assert "folds" not in other.tables() and other.rows[0].of_folds is None
