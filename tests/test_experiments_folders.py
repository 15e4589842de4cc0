import json
import random
import re
import shutil
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from statistics import fmean, pstdev, stdev
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.command_line.output import names_of
from phistack.ensemble.evaluation.resampling import Bootstrap, Resampling, Units, holm
from phistack.ensemble.evaluation.systems import scores
from phistack.ensemble.experiments.ablation import ablate, variants_of
from phistack.ensemble.experiments.learning_curve import CurveRun, LearningCurve, learning_curve
from phistack.ensemble.experiments.parts import CorpusFacts, Origin, write_results
from phistack.ensemble.experiments.samples import samples_of
from phistack.ensemble.experiments.transfer import Domain, transfer
from phistack.ensemble.stacking.folds import training_folds
from phistack.ensemble.stacking.stacker import StackerSettings
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import score_on, train_with_report
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import out_of_fold_corpora, train
from phistack.features.columns.settings import COLUMN_GROUPS, FeatureSettings
from phistack.features.documents import Corpus, Span
from phistack.features.errors import SettingsError, TrainingError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.features.writing import new_folder
from phistack.submodels.crf.submodel import CrfSubmodel
from phistack.submodels.regex.submodel import RegexSubmodel
from tests.annotated import seen
from tests.fixture_types import Phistack
from tests.invented_names import NAMES

SETTINGS = replace(
    EngineSettings(folds=2, stacker=StackerSettings(kernel="zhao2020")).only(("regex", "crf")),
    submodels={"regex": {}, "crf": {"max_iterations": 6}},
)


def small_corpus(first: int = 0, n: int = 8, seed: int = 0) -> Any:
    """Notes in which whoever stands after `Dr.` is a doctor."""
    chance = random.Random(seed)
    documents = []
    for i in range(first, first + n):
        name, other = chance.sample(NAMES, 2)
        plan = f".\nPlan: rest and {other.lower()}. Call Dr. [{name}|DOCTOR]."
        documents.append(seen(i, name, plan, f"{100 + i}"))
    return Corpus(tuple(documents), LabelSet.named("i2b2-2014"))


def read(folder: Any, name: str = "results.json") -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def write_ablation(out: Any, *corpus_and_settings: Any, **options: Any) -> Any:
    return write_results(out, lambda: ablate(*corpus_and_settings, **options))


def write_curve(out: Any, *corpus_and_settings: Any, **options: Any) -> Any:
    return write_results(out, lambda: learning_curve(*corpus_and_settings, **options))


def write_transfer(out: Any, domains: Any) -> Any:
    return write_results(out, lambda: transfer(domains))


def shown(table: Any) -> Any:
    console = Console(width=130, file=StringIO())
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def ablation(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("ablation")
    write_ablation(home / "out", small_corpus(), SETTINGS, resampling=Resampling(shuffles=99), cache=home / "folds")
    return home


def test_an_ablation_leaves_each_part_out() -> None:
    every = EngineSettings()
    names = [variant.name for variant in variants_of(every, groups=False)]
    assert names == [
        "regex", "tbed", "crf", "blstm", "stack",
        "without regex", "without tbed", "without crf", "without blstm", "without regex and tbed",
        "stacker features liu2017", "stacker features zhao2020", "stacker features all",
    ]  # fmt: skip
    with_groups = variants_of(every, groups=True)[len(names) :]
    # Without annotators the group `tagging` has no columns.
    assert [variant.without for variant in with_groups] == [(group,) for group in COLUMN_GROUPS if group != "tagging"]
    assert all(variant.submodels == ("regex", "tbed", "crf", "blstm") for variant in with_groups)


def test_groups_that_are_left_out_already_are_not_left_out_again() -> None:
    settings = EngineSettings(features=FeatureSettings(without=("words",)))
    groups = [v.without for v in variants_of(settings, groups=True) if v.part == "without a feature group"]
    assert ("words", "affixes") in groups
    assert len(groups) == len(COLUMN_GROUPS) - 2


def test_one_submodel_cannot_be_left_out() -> None:
    names = [variant.name for variant in variants_of(EngineSettings().only(("crf",)), groups=False)]
    assert names == ["crf", "stack", *(f"stacker features {name}" for name in ("liu2017", "zhao2020", "all"))]


def test_an_ablation_writes_all_its_files(ablation: Any) -> None:
    files = sorted(path.name for path in (ablation / "out").iterdir())
    assert files == [
        "cases.json", "cases.txt", "chart.pdf", "chart.png", "chart.svg", "choosers.tex", "folds.tex", "results.json",
        "table.tex",
    ]  # fmt: skip
    assert sorted(path.name for path in ablation.iterdir()) == ["folds", "out"]


def test_the_results_of_an_ablation_tell_how_they_came_about(ablation: Any) -> None:
    results = read(ablation / "out")
    assert results["schema"] == "phistack.ablation.v1"
    assert results["settings hash"] == SETTINGS.digest
    assert EngineSettings.from_dict(results["settings"]).digest == SETTINGS.digest
    assert results["variants tried"] == len(results["rows"]) == 8
    assert results["test"] is None
    assert "out of fold by patient, 2 folds" in results["protocol"]
    assert len(results["date"]) == 10
    for row in results["rows"]:
        assert row["f1"]["low"] <= row["f1"]["value"] <= row["f1"]["high"]
        assert ("difference" in row) == (row["name"] != "stack")
        assert row.get("difference", {"p": 0.01})["p"] >= 0.01


def test_results_name_every_setting_the_versions_and_the_command(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(small_corpus(), tmp_path / "notes", format="i2b2")
    given = ("ablate", tmp_path / "notes", "--out", tmp_path / "out", "--submodels", "crf", "--folds", 2, "--jobs", 1)
    assert phistack(*given)[0] == 0
    results = read(tmp_path / "out")
    settings = results["settings"]
    assert settings["submodels"]["crf"] == CrfSubmodel().settings()
    assert set(settings["features"]) == {field.name for field in fields(FeatureSettings)}
    assert set(settings["stacker"]) == {field.name for field in fields(StackerSettings)}
    assert results["versions"]["numpy"] == np.__version__ and results["versions"]["phistack"]
    assert results["command"] == " ".join(("phistack", *map(str, given)))


def test_pictures_have_no_date_and_begin_where_the_figures_do(ablation: Any) -> None:
    drawn, results = (ablation / "out" / "chart.svg").read_text(encoding="utf-8"), read(ablation / "out")
    metadata, _, drawing = drawn.partition("</metadata>")
    for stamp in (results["date"], results["settings hash"]):
        assert stamp in metadata and stamp not in drawing
    lowest = 100 * min(row["f1"]["low"] for row in results["rows"])
    ticks = [float(number) for number in re.findall(r">(\d+)</text>", drawing)]
    assert lowest > 20 and min(ticks) > lowest - 20
    assert (ablation / "out" / "chart.pdf").read_bytes().startswith(b"%PDF")


def test_differences_have_one_sign_in_all_tables(ablation: Any) -> None:
    results = read(ablation / "out")
    stack = next(row for row in results["rows"] if row["name"] == "stack")["f1"]["value"]
    gaps = [(row["f1"]["value"], row["difference"]) for row in results["rows"] if row["name"] != "stack"]
    gaps += [(row["f1"]["value"], row["less stack"]) for row in results["choosers"] if row["name"] != "stack"]
    assert all(gap["f1"]["value"] == pytest.approx(f1 - stack) for f1, gap in gaps)
    for name in ("table", "choosers"):
        assert "F1 of the row less that of the stack" in (ablation / "out" / f"{name}.tex").read_text()


def test_an_ablation_on_other_notes_after_training_with_its_cache_fits_nothing(
    phistack: Phistack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(small_corpus(), tmp_path / "notes", format="i2b2")
    write_corpus(small_corpus(first=50, n=3, seed=1), tmp_path / "test", format="i2b2")
    quick = ("--submodels", "regex,crf", "--folds", 2, "--jobs", 1)
    kept = ("--cache", tmp_path / "folds")
    ablation = ("ablate", tmp_path / "notes", "--test", tmp_path / "test", *quick)
    assert phistack("train", tmp_path / "notes", "--model", tmp_path / "engine", *quick, *kept)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(CrfSubmodel, "fit", None)
        patch.setattr(RegexSubmodel, "fit", None)
        status, _, error = phistack(*ablation, *kept, "--out", tmp_path / "warm")
        assert status == 0, error
    assert phistack(*ablation, "--out", tmp_path / "cold")[0] == 0
    assert read(tmp_path / "warm")["rows"] == read(tmp_path / "cold")["rows"]
    assert read(tmp_path / "warm")["choosers"] == read(tmp_path / "cold")["choosers"]
    assert not any(name in path.read_text() for path in (tmp_path / "folds").iterdir() for name in NAMES)
    shutil.rmtree(tmp_path / "engine")
    assert phistack(*ablation, *kept, "--out", tmp_path / "again")[0] == 0
    assert read(tmp_path / "again")["rows"] == read(tmp_path / "cold")["rows"]


def test_seeds_give_means_and_deviations(tmp_path: Path) -> None:
    settings = SETTINGS.only(("crf",))
    found = write_ablation(tmp_path / "out", small_corpus(), settings, seeds=3, cache=tmp_path / "folds")
    runs = [ablate(small_corpus(), replace(settings, seed=n), cache=tmp_path / "folds") for n in range(3)]
    for row in read(tmp_path / "out")["rows"]:
        scores = [next(r for r in run.rows if r.name == row["name"]).score.measures for run in runs]
        for measure, found_mean in row["mean of seeds"].items():
            values = [score[measure].value for score in scores]
            assert (found_mean["mean"], found_mean["sd"]) == pytest.approx((fmean(values), stdev(values)))
    assert (found.rows[0].score, found.seeds) == (runs[0].rows[0].score, (0, 1, 2))
    assert "mean over 3 seeds" in (tmp_path / "out" / "seeds.tex").read_text()
    names = [row.name for row in found.choosers.rows]
    assert names[0] == "crf" and "majority vote" not in names and "stack" in names


def test_no_text_of_the_notes_is_in_the_results(ablation: Any) -> None:
    for path in (ablation / "out").iterdir():
        if path.suffix not in (".png", ".pdf"):
            reported = path.read_text(encoding="utf-8").replace("pyarrow", "")  # a library, which holds a name
            assert not any(name in reported or name.lower() in reported for name in NAMES)
            assert "/12/2019" not in reported


def test_an_ablation_again_uses_what_was_kept_and_says_the_same(ablation: Any, tmp_path: Path) -> None:
    kept = {path: path.stat().st_mtime_ns for path in (ablation / "folds").iterdir()}
    assert len(kept) == 4
    write_ablation(
        tmp_path / "again", small_corpus(), SETTINGS, resampling=Resampling(shuffles=99), cache=ablation / "folds"
    )
    assert {path: path.stat().st_mtime_ns for path in (ablation / "folds").iterdir()} == kept
    for name in ("results.json", "cases.json", "cases.txt", "table.tex", "chart.svg"):
        assert (tmp_path / "again" / name).read_bytes() == (ablation / "out" / name).read_bytes()


def test_scores_on_a_test_corpus_are_those_of_an_engine_trained_as_usual(ablation: Any, tmp_path: Path) -> None:
    test = small_corpus(first=50, n=3, seed=1)
    done = write_ablation(tmp_path / "out", small_corpus(), SETTINGS, test=test, resampling=Resampling(shuffles=9))
    rows = {row.variant.name: row for row in done.rows}
    engine = train(small_corpus(), SETTINGS, cache=ablation / "folds").engine
    for name, report in score_on(engine, test).items():
        score = report.score("i2b2 strict")
        assert rows[name].score == replace(score, name=name, official="")


def test_a_feature_group_left_out_is_scored(tmp_path: Path) -> None:
    settings = SETTINGS.only(("regex",))
    write_ablation(tmp_path / "out", small_corpus(), settings, groups=True, resampling=Resampling(shuffles=9))
    parts = [row["part"] for row in read(tmp_path / "out")["rows"]]
    assert parts.count("without a feature group") == len(COLUMN_GROUPS) - 1


def test_tables_of_an_ablation(ablation: Any) -> None:
    done = ablate(small_corpus(), SETTINGS, resampling=Resampling(shuffles=99), cache=ablation / "folds")
    assert json.loads(json.dumps(done.to_dict())) == read(ablation / "out")
    reported = shown(done.tables()["table"])
    assert all(row.variant.name in reported for row in done.rows)
    latex = (ablation / "out" / "table.tex").read_text(encoding="utf-8")
    assert latex.count(r"\midrule") == 4
    assert r"\textbf{stack} & " in latex
    assert latex.count(" & ") == 5 * (1 + len(done.rows))


def test_nothing_is_overwritten_and_nothing_half_written_stays(ablation: Any, tmp_path: Path) -> None:
    for write in (write_ablation, write_curve):
        with pytest.raises(SettingsError, match="already there"):
            write(ablation / "out", small_corpus(), SETTINGS)
    with pytest.raises(SettingsError, match="already there"):
        write_transfer(ablation / "out", [])
    with pytest.raises(TrainingError):
        write_ablation(tmp_path / "out", small_corpus(n=1), SETTINGS)
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out") as folder:
        (folder / "half").write_text("")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_larger_share_holds_the_smaller_one_and_orders_differ() -> None:
    runs = list(samples_of(small_corpus(n=10), shares=(100, 30, 60), samples=2, seed=0))
    patients = {(run.number, run.share): {d.group for d in run.corpus.documents} for run in runs}
    assert list(patients) == [(1, 30), (1, 60), (1, 100), (2, 30), (2, 60), (2, 100)]
    assert [len(chosen) for chosen in patients.values()] == [3, 6, 10] * 2
    assert patients[1, 30] < patients[1, 60] < patients[1, 100]
    assert patients[1, 30] != patients[2, 30]


@pytest.mark.parametrize(
    ("shares", "samples", "message"), [((0,), 1, "1 to 100"), ((), 1, "1 to"), ((50,), 0, "at le")]
)
def test_shares_and_samples_that_make_no_sense_are_refused(shares: Any, samples: Any, message: Any) -> None:
    with pytest.raises(SettingsError, match=message):
        list(samples_of(small_corpus(), shares=shares, samples=samples, seed=0))


def test_a_learning_curve(tmp_path: Path) -> None:
    done = write_curve(
        tmp_path / "out", small_corpus(n=10), SETTINGS, shares=(50, 100), samples=2, cache=tmp_path / "folds"
    )
    results = read(tmp_path / "out")
    assert results == done.to_dict()
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["curve.pdf", "curve.png", "curve.svg", "results.json", "table.tex"]
    assert list(results["curves"]) == ["regex", "crf", "stack"]
    assert [(run["share"], run["sample"], run["training"]["patients"]) for run in results["runs"]] == [
        (50, 1, 4), (100, 1, 8), (50, 2, 4),
    ]  # fmt: skip
    for point in results["curves"]["stack"]:
        assert point["interval"] is None
        assert min(point["orders"]) <= point["f1"] <= max(point["orders"])
    assert "100 %" in shown(done.tables()["table"])


def test_at_all_patients_an_engine_is_trained_once_and_has_no_interval(tmp_path: Path) -> None:
    settings = SETTINGS.only(("regex",))
    found = learning_curve(small_corpus(n=10), settings, shares=(50, 100), samples=5, stack=False)
    assert [(run.share, run.sample) for run in found.runs] == [(50, 1), (100, 1), (50, 2), (50, 3), (50, 4), (50, 5)]
    last = found.to_dict()["curves"]["regex"][1]
    assert (len(last["orders"]), last["interval"]) == (1, None)
    row = found.table().sections[0][1]
    assert row[2] == f"{100 * last['f1']:.2f}"
    found.draw(tmp_path)


def curve_of(samples: Any) -> Any:
    """Results as a curve of `samples` orders gives them, without any training."""
    orders = [0.905 + 0.03 * (i % 2) for i in range(samples)]
    runs = [
        CurveRun(share, share, 1 + order, 1, facts(share), None, {"x_1": score_of(f1)})
        for share in (50, 100)
        for order, f1 in enumerate(orders)
    ]
    origin = Origin("phistack.curve.v2", "i2b2 strict", "As given.", SETTINGS)
    return LearningCurve(origin, facts(100), facts(20), samples, tuple(runs))


def facts(n: Any) -> Any:
    return CorpusFacts(documents=n, patients=n, spans=n, label_set="own", digest="0123")


def score_of(f1: Any) -> Any:
    counts = np.array([[[round(2000 * f1), 2000 - round(2000 * f1), 2000 - round(2000 * f1)]]])
    return scores(["x_1"], counts, Bootstrap(counts, Units.of(["1"], Resampling(draws=1))))[0]


@pytest.mark.parametrize(
    ("samples", "reported"),
    [
        (2, "lowest and highest F1 of 2 random orders"),
        (5, "95 % interval of the mean by Student's t over 5 random orders"),
    ],
)
def test_table_latex_and_picture_say_what_the_spread_of_a_curve_is(samples: Any, reported: Any, tmp_path: Path) -> None:
    results = curve_of(samples)
    assert f"In brackets: {reported}" in " ".join(shown(results.table()).split())
    results.draw(tmp_path)
    assert f"Spread: {reported}" in (tmp_path / "curve.svg").read_text(encoding="utf-8")
    latex = results.table().latex("")
    assert f"in brackets: {reported}".replace("%", r"\%") in latex
    assert r"x\_1 \\" in latex


def test_two_orders_span_what_they_scored_and_no_more() -> None:
    point = curve_of(2).curves["x_1"][0].to_dict()
    assert point == {"share": 50, "patients": 50, "f1": 0.92, "interval": None, "orders": [0.905, 0.935]}
    assert "92.00 (90.50-93.50)" in shown(curve_of(2).table())


def test_too_few_orders_are_warned_of_before_training(caplog: pytest.LogCaptureFixture) -> None:
    for samples, warned in ((4, True), (5, False)):
        caplog.clear()
        with pytest.raises(SettingsError):
            learning_curve(small_corpus(n=1), SETTINGS, samples=samples)
        assert ("--samples 5" in caplog.text) == warned


def test_a_learning_curve_of_submodels_alone_trains_nothing_on_folds(tmp_path: Path) -> None:
    results = write_curve(
        tmp_path / "out",
        small_corpus(),
        SETTINGS.only(("regex",)),
        test=small_corpus(first=60, n=3),
        shares=(100,),
        samples=1,
        stack=False,
        cache=tmp_path / "folds",
    ).to_dict()
    assert list(results["curves"]) == ["regex"]
    assert results["test"]["documents"] == 3
    assert results["curves"]["regex"][0]["interval"] is None
    assert len(list((tmp_path / "folds").iterdir())) == 1


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("transfer") / "out"
    domains = [Domain("a", small_corpus(), SETTINGS), Domain("b", small_corpus(seed=1, n=6), SETTINGS)]
    return folder, write_transfer(folder, domains)


def test_every_engine_is_tested_on_the_held_out_part_of_every_corpus(matrix: Any) -> None:
    folder, done = matrix
    results = read(folder)
    assert results == done.to_dict()
    assert sorted(path.name for path in folder.iterdir()) == [
        "differences.tex", "matrix.pdf", "matrix.png", "matrix.svg", "others.tex", "results.json", "table.tex",
    ]  # fmt: skip
    assert list(results["matrix"]) == ["regex", "crf", "stack"]
    assert list(results["matrix"]["stack"]) == list(results["matrix"]["stack"]["a"]) == ["a", "b"]
    for name, corpus in results["corpora"].items():
        spans = {row[name]["tp"] + row[name]["fn"] for row in results["matrix"]["stack"].values()}
        assert spans == {corpus["test"]["spans"]}
    assert "tested on b" in shown(done.tables()["table"])
    latex = (folder / "table.tex").read_text(encoding="utf-8")
    assert latex.count(r"\midrule") == 3
    score = results["matrix"]["crf"]["a"]["b"]["f1"]
    assert f"{100 * score['value']:.2f} {{\\scriptsize ({100 * score['low']:.2f}--{100 * score['high']:.2f})}}" in latex


def test_corpora_of_other_label_sets_need_a_mapping_or_a_comparison_of_spans() -> None:
    other = replace(small_corpus(), label_set=LabelSet.named("ngrid-2016"))
    domains = [Domain("a", small_corpus(), SETTINGS.only(("regex",))), Domain("b", other, SETTINGS.only(("regex",)))]
    with pytest.raises(SettingsError, match="--map-labels"):
        transfer(domains)
    assert transfer(domains, criterion="spans", stack=False).origin.criterion == "meddocan spans strict"


def test_a_transfer_compares_training_elsewhere_with_training_at_home(matrix: Any) -> None:
    folder, _ = matrix
    results = read(folder)
    gaps = {(gap["of"], gap["less"], gap["tested on"]): gap for gap in results["differences"]}
    home = [(f"{name}, trained on b", f"{name}, trained on a", "a") for name in ("regex", "crf", "stack")]
    over = [(f"crf, trained on {name}", f"stack, trained on {name}", name) for name in "ab"]
    assert {*home, *over} < {*gaps}
    scores = results["matrix"]["crf"]
    expected = scores["b"]["a"]["f1"]["value"] - scores["a"]["a"]["f1"]["value"]
    assert gaps[home[1]]["f1"]["value"] == pytest.approx(expected)
    assert [gap["p after Holm"] for gap in gaps.values()] == list(holm([gap["p"] for gap in gaps.values()]))
    assert "crf, trained on b" in (folder / "differences.tex").read_text()


def test_titles_name_no_task_that_the_notes_are_not_of(matrix: Any) -> None:
    _, done = matrix
    assert "F1, i2b2 strict, in percent" in done.tables()["table"].title
    own = LabelSet("court", {"DOCTOR": "NAME", "DATE": "DATE"}, language="en")
    corpora = [replace(small_corpus(seed=n), label_set=own) for n in (0, 1)]
    domains = [Domain(str(n), corpus, SETTINGS.only(("regex",))) for n, corpus in enumerate(corpora)]
    found = transfer(domains, criterion="spans", stack=False)
    assert "F1, spans strict, in percent" in found.tables()["table"].title
    assert not any("meddocan" in table.latex("") or "i2b2" in table.latex("") for table in found.tables().values())
    assert found.to_dict()["criterion"] == "meddocan spans strict"


def test_a_matrix_needs_two_corpora_with_the_same_submodels() -> None:
    with pytest.raises(SettingsError, match="at least two"):
        transfer([Domain("a", small_corpus(), SETTINGS)])
    with pytest.raises(SettingsError, match="the same submodels"):
        transfer([Domain("a", small_corpus(), SETTINGS), Domain("b", small_corpus(), SETTINGS.only(("crf",)))])


def test_corpora_are_named_by_the_shortest_ends_of_their_paths(tmp_path: Path) -> None:
    assert names_of([tmp_path / "a", tmp_path / "b"]) == ["a", "b"]
    assert names_of([tmp_path / "x" / "train", tmp_path / "y" / "train"]) == ["x/train", "y/train"]
    with pytest.raises(SettingsError, match="twice"):
        names_of([tmp_path / "a", tmp_path / "b" / ".." / "a"])


INVENTED = synthesize(9, seed=4)
OF_FOLDS = replace(EngineSettings(folds=3), submodels={"crf": {"max_iterations": 6}})
FOLDS = training_folds(INVENTED.documents, n_folds=3, seed=0)


def strict_f1(found: list[set[Span]], gold: list[set[Span]]) -> float:
    right = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 2 * right / (sum(map(len, found)) + sum(map(len, gold)))


def test_a_training_reports_the_mean_over_folds_and_its_bundle_holds_it(tmp_path: Path) -> None:
    training, report = train_with_report(INVENTED, tmp_path / "engine", OF_FOLDS)
    found = [set(d.spans) for d in out_of_fold_corpora(training, INVENTED)["crf"].documents]
    gold = [set(d.spans) for d in INVENTED.documents]
    by_fold = [strict_f1([found[i] for i in fold], [gold[i] for i in fold]) for fold in FOLDS]
    table = next(table for table in report.details() if "mean over the folds" in table.title)
    [row] = [row for row in table.sections[0] if row[0] == "crf"]
    assert row[3] == f"{100 * fmean(by_fold):.2f} ({100 * pstdev(by_fold):.2f})"
    figures = read_manifest(tmp_path / "engine")["figures"]
    assert figures["mean of folds"]["crf"]["f1"]["mean"] == pytest.approx(fmean(by_fold))
    assert figures["strict"]["crf"]["f1"] != pytest.approx(fmean(by_fold), abs=1e-9), "all folds together are another"


def test_an_ablation_has_the_mean_over_folds_out_of_fold_and_not_on_other_notes(tmp_path: Path) -> None:
    few, folds = Resampling(shuffles=9), tmp_path / "folds"
    found = write_ablation(tmp_path / "out", INVENTED, OF_FOLDS, resampling=few, cache=folds)
    rows = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["rows"]
    assert all(0 < row["mean of folds"]["f1"]["mean"] <= 1 for row in rows)
    table = found.tables()["folds"]
    assert [row[0] for row in table.sections[0]] == [row["name"] for row in rows]
    other = ablate(INVENTED, OF_FOLDS, test=synthesize(3, seed=5), resampling=few, cache=folds)
    assert "folds" not in other.tables() and other.rows[0].of_folds is None
