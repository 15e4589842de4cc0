import json
import random
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from phistack.ensemble.command_line.output import names_of
from phistack.ensemble.evaluation.intervals import Bootstrap
from phistack.ensemble.evaluation.scores import scores
from phistack.ensemble.experiments.ablation import ablate
from phistack.ensemble.experiments.curves import CurveRun, curves_of
from phistack.ensemble.experiments.domains import Domain
from phistack.ensemble.experiments.learning_curve import LearningCurve, learning_curve
from phistack.ensemble.experiments.results import CorpusFacts, Origin, write_results
from phistack.ensemble.experiments.samples import samples_of
from phistack.ensemble.experiments.transfer import transfer
from phistack.ensemble.experiments.variants import variants_of
from phistack.ensemble.stacking.folds import held_out_patients
from phistack.ensemble.stacking.stacker_settings import StackerSettings
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import COLUMN_GROUPS, FeatureSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError, TrainingError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.features.writing import new_folder
from tests.fixture_types import Phistack
from tests.invented_names import NAMES

SETTINGS = replace(
    EngineSettings(folds=2, stacker=StackerSettings(kernel="zhao2020")).only(("regex", "crf")),
    submodels={"regex": {}, "crf": {"max_iterations": 10}},
)


def small_corpus(first: int = 0, n: int = 8, seed: int = 0) -> Any:
    """Notes in which whoever stands after `Dr.` is a doctor."""
    chance = random.Random(seed)
    documents = []
    for i in range(first, first + n):
        name, other = chance.sample(NAMES, 2)
        text = f"Seen by Dr. {name} on 0{i % 9 + 1}/12/2019.\nPlan: rest and {other.lower()}. Call Dr. {name}."
        spans = [Span(at, at + len(name), "DOCTOR") for at in (12, text.rindex(name))]
        date = text.index("/12/") - 2
        documents.append(Document(f"{100 + i}-01", text, (*spans, Span(date, date + 10, "DATE")), f"{100 + i}"))
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
    console.print(table.rich())
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def ablation(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("ablation")
    write_ablation(home / "out", small_corpus(), SETTINGS, shuffles=99, cache=home / "folds")
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
    assert files == ["cases.json", "cases.txt", "chart.png", "chart.svg", "choosers.tex", "results.json", "table.tex"]
    assert sorted(path.name for path in ablation.iterdir()) == ["folds", "out"]


def test_the_results_of_an_ablation_tell_how_they_came_about(ablation: Any) -> None:
    results = read(ablation / "out")
    assert results["schema"] == "phistack.ablation.v1"
    assert results["settings hash"] == SETTINGS.digest
    assert EngineSettings.from_dict(results["settings"]) == SETTINGS
    assert results["variants tried"] == len(results["rows"]) == 8
    assert results["test"] is None
    assert "out of fold by patient, 2 folds" in results["protocol"]
    assert len(results["date"]) == 10
    for row in results["rows"]:
        assert row["f1"]["low"] <= row["f1"]["value"] <= row["f1"]["high"]
        assert ("difference" in row) == (row["name"] != "stack")
        assert row.get("difference", {"p": 0.01})["p"] >= 0.01


def test_no_text_of_the_notes_is_in_the_results(ablation: Any) -> None:
    for path in (ablation / "out").iterdir():
        if path.suffix != ".png":
            reported = path.read_text(encoding="utf-8")
            assert not any(name in reported or name.lower() in reported for name in NAMES)
            assert "/12/2019" not in reported


def test_an_ablation_again_uses_what_was_kept_and_says_the_same(ablation: Any, tmp_path: Path) -> None:
    kept = {path: path.stat().st_mtime_ns for path in (ablation / "folds").iterdir()}
    assert len(kept) == 4
    write_ablation(tmp_path / "again", small_corpus(), SETTINGS, shuffles=99, cache=ablation / "folds")
    assert {path: path.stat().st_mtime_ns for path in (ablation / "folds").iterdir()} == kept
    for name in ("results.json", "cases.json", "cases.txt", "table.tex", "chart.svg"):
        assert (tmp_path / "again" / name).read_bytes() == (ablation / "out" / name).read_bytes()


def test_an_ablation_on_a_test_corpus_scores_that(ablation: Any, tmp_path: Path) -> None:
    test = small_corpus(first=50, n=3, seed=1)
    done = write_ablation(tmp_path / "out", small_corpus(), SETTINGS, test=test, shuffles=9, cache=ablation / "folds")
    results = read(tmp_path / "out")
    assert results["test"]["documents"] == 3
    assert "scored on another" in results["protocol"]
    assert {place.document for place in done.places} <= {document.id for document in test.documents}
    assert all(row["tp"] + row["fn"] == 9 for row in results["rows"])
    # Two folds of two submodels were kept; the fits on all notes are two more.
    assert len(list((ablation / "folds").iterdir())) == 6


def test_scores_on_a_test_corpus_are_those_of_the_engine_trained_in_the_usual_way(
    ablation: Any, tmp_path: Path
) -> None:
    from phistack.ensemble.tasks.training import score_on
    from phistack.ensemble.training.trainer import train

    test = small_corpus(first=50, n=3, seed=1)
    done = write_ablation(tmp_path / "out", small_corpus(), SETTINGS, test=test, shuffles=9)
    rows = {row.variant.name: row for row in done.rows}
    engine = train(small_corpus(), SETTINGS, cache=ablation / "folds").engine
    for name, report in score_on(engine, test).items():
        score = report.score("i2b2 strict")
        assert rows[name].score == replace(score, name=name, official="")


def test_a_feature_group_left_out_is_scored(tmp_path: Path) -> None:
    settings = SETTINGS.only(("regex",))
    write_ablation(tmp_path / "out", small_corpus(), settings, groups=True, shuffles=9)
    parts = [row["part"] for row in read(tmp_path / "out")["rows"]]
    assert parts.count("without a feature group") == len(COLUMN_GROUPS) - 1


def test_tables_of_an_ablation(ablation: Any) -> None:
    done = ablate(small_corpus(), SETTINGS, shuffles=99, cache=ablation / "folds")
    assert json.loads(json.dumps(done.to_dict())) == read(ablation / "out")
    reported = shown(done.table())
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


def test_patients_are_never_on_both_sides() -> None:
    corpus = small_corpus(n=10)
    training, held_out = held_out_patients(corpus, seed=3)
    sides = [{document.group for document in part.documents} for part in (training, held_out)]
    assert sides[0].isdisjoint(sides[1])
    assert len(training) + len(held_out) == 10
    with pytest.raises(SettingsError, match="one patient"):
        held_out_patients(small_corpus(n=1), seed=0)


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
    assert files == ["curve.png", "curve.svg", "results.json", "table.tex"]
    assert list(results["curves"]) == ["regex", "crf", "stack"]
    assert [(run["share"], run["sample"], run["training"]["patients"]) for run in results["runs"]] == [
        (50, 1, 4), (100, 1, 8), (50, 2, 4), (100, 2, 8),
    ]  # fmt: skip
    for point in results["curves"]["stack"]:
        assert point["interval"] is None
        assert min(point["orders"]) <= point["f1"] <= max(point["orders"])
    assert "100 %" in shown(done.table())


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
    return scores(["x_1"], counts, Bootstrap(counts, resamples=1, seed=0))[0]


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
    latex = results.table().latex("", results.caption)
    assert f"in brackets: {reported}".replace("%", r"\%") in latex
    assert r"x\_1 \\" in latex


def test_two_orders_span_what_they_scored_and_no_more() -> None:
    point = curves_of(curve_of(2).runs)["x_1"][0].to_dict()
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
        "matrix.png", "matrix.svg", "others.tex", "results.json", "table.tex",
    ]  # fmt: skip
    assert list(results["matrix"]) == ["regex", "crf", "stack"]
    assert list(results["matrix"]["stack"]) == list(results["matrix"]["stack"]["a"]) == ["a", "b"]
    for name, corpus in results["corpora"].items():
        spans = {row[name]["tp"] + row[name]["fn"] for row in results["matrix"]["stack"].values()}
        assert spans == {corpus["test"]["spans"]}
    assert "tested on b" in shown(done.table())
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


def test_the_commands(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(small_corpus(), tmp_path / "a", format="i2b2")
    write_corpus(small_corpus(seed=1, n=6), tmp_path / "b", format="i2b2")
    quick = ("--submodels", "regex", "--folds", 2, "--jobs", 1)
    status, out, _ = phistack("ablate", tmp_path / "a", "--test", tmp_path / "b", "--out", tmp_path / "abl", *quick)
    assert status == 0
    assert "liu2017" in out
    curve = ("--shares", "50,100", "--samples", 1, "--no-stack")
    status, out, _ = phistack("curve", tmp_path / "a", "--out", tmp_path / "cur", *curve, *quick)
    assert status == 0
    assert "50 %" in out
    status, out, _ = phistack("transfer", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "tra", *quick)
    assert status == 0
    assert "tested on b" in out
    status, _, error = phistack("curve", tmp_path / "a", "--out", tmp_path / "cur", *quick)
    assert status == 1
    assert error.endswith(f"phistack: {tmp_path / 'cur'} is already there; remove it or give another name\n")
