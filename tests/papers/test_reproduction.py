"""The tables of a paper: its rows and columns, ours beside the paper's, and what they are made from."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.papers.options import PaperOptions
from phistack.ensemble.papers.reproduction import published, reproduce, settings_of, write_reproduction
from phistack.ensemble.papers.run import PaperRun
from phistack.ensemble.papers.tables import filled
from phistack.ensemble.stacking.svm import KernelSettings
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.trainer import propose
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

TRAINING, TEST = synthesize(10, seed=4), synthesize(5, seed=5)
SMALL = {
    "folds": 2,
    "features": {"pos": "", "ner": ""},
    "submodels": {
        "tbed": {"max_rules": 40},
        "crf": {"algorithm": "lbfgs", "max_iterations": 12},
        "blstm": {
            "invented_notes": 0,
            "epochs": 2,
            "least_steps": 40,
            "learning_rate": 0.01,
            "lstm_size": 8,
            "word_size": 8,
            "character_size": 4,
        },
    },
}
SETTINGS = EngineSettings.from_dict(merged(EngineSettings.preset("zhao2020").to_dict(), SMALL))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("reproduced")
    found = write_reproduction(
        home / "out", lambda: reproduce("zhao2020", TRAINING, TEST, SETTINGS, cache=home / "folds")
    )
    return home, found, json.loads((home / "out" / "results.json").read_text(encoding="utf-8"))


def test_there_are_the_tables_of_the_paper_as_text_and_for_latex(run: Any) -> None:
    home, found, results = run
    numbers = [2, 3, 4, 5, 6, 7]
    assert [table.number for table in found.tables] == numbers
    assert [*results["tables"]] == [*map(str, numbers)]
    assert {path.name for path in (home / "out").iterdir()} == {
        "index.html", "results.json", *(f"table-{n}.{kind}" for n in numbers for kind in ("txt", "tex")),
    }  # fmt: skip
    assert "crf: without general named entities and parts of speech (12 of 49 templates)." in results["protocol"]
    assert "0.00% of the PHI of the training notes begin or end within a token" in results["protocol"]
    assert results["protocol"] in (home / "out" / "table-4.txt").read_text(encoding="utf-8")


def test_rows_are_those_of_the_paper_with_its_figures_beside_ours(run: Any) -> None:
    _, _, results = run
    of_types = {row["type"]: row for row in results["tables"]["2"]}
    gold = sum(span.label == "DOCTOR" for document in TRAINING.documents for span in document.spans)
    assert (of_types["DOCTOR"]["training"], of_types["DOCTOR"]["paper"]) == (gold, [2885, 1912])
    assert sum(row["training"] for row in of_types.values()) == sum(len(d.spans) for d in TRAINING.documents)
    models = {row["model"]: row for row in results["tables"]["4"]}
    assert models["Ensemble"]["paper"] == ["98.15", "95.41", "96.76"] and len(models["Ensemble"]["ours"]) == 3
    assert models["Liu 2017 (CRF + LSTM*2)"]["ours"] is None
    assert [row["model"] for row in results["tables"]["6"]] == [
        "Ensemble", "Without TBED (with regex)", "Without TBED (without regex)", "Without CRF",
        "Without BLSTM-CNNs-CRF",
    ]  # fmt: skip
    assert [row["paper"][1] for row in results["tables"]["6"]] == ["0", "-0.30", "-0.34", "-0.10", "-0.69"]


def test_categories_and_columns_are_in_the_order_of_the_paper_and_have_its_totals(run: Any) -> None:
    _, found, _ = run
    of_types, *_, cases = found.tables
    categories = [str(rows[0][0].plain) for rows in of_types.table.sections[:-1]]
    assert categories == ["DATE", "NAME", "AGE", "CONTACT", "ID", "LOCATION", "PROFESSION"]
    [total] = of_types.table.sections[-1]
    assert list(total[:2]) == ["Total", str(sum(len(d.spans) for d in TRAINING.documents))]
    assert list(total[-2:]) == ["17405", "11462"]
    assert cases.table.columns == ("place", "TBED", "CRF", "BLSTM-CNNs-CRF", "Ensemble", "gold standard")


def strict_f1(found: Any) -> float:
    right = sum(len({*document.spans} & {*spans}) for document, spans in zip(TEST.documents, found, strict=True))
    return 2 * right / (sum(map(len, found)) + sum(len(document.spans) for document in TEST.documents))


def test_figures_are_those_of_the_submodels_on_the_test_notes(run: Any) -> None:
    home, _, results = run
    alone = replace(SETTINGS, submodels={"tbed": SETTINGS.submodels["tbed"]})
    proposed = propose(TRAINING, alone, unseen=TEST.documents, cache=home / "folds")
    assert all(spent.cached for spent in proposed.seconds.values()), "tables share what submodels propose"
    chosen = [[c.span for c in note if c.chosen] for note in proposed.on_unseen["tbed"]]
    rows = {row["method"]: row["ours"] for row in results["tables"]["5"]}
    assert rows["Regex + TBED"][2] == pytest.approx(strict_f1(chosen))
    assert rows["Regex + TBED"][2] > rows["Initial-state tagger (regex)"][2]


def test_changes_are_to_the_whole_ensemble(run: Any) -> None:
    _, _, results = run
    rows = results["tables"]["6"]
    assert all(row["ours"][1] == pytest.approx(row["ours"][0] - rows[0]["ours"][0]) for row in rows)
    assert rows[0]["ours"][0] == results["tables"]["4"][-1]["ours"][2]


def test_cases_are_places_where_the_submodel_alone_is_right_and_have_no_text(run: Any, tmp_path: Path) -> None:
    home, _, results = run
    for case in results["tables"]["7"]:
        wrong = {"crf", "blstm"}
        assert wrong <= {*case["wrong"]} and "tbed" not in case["wrong"]
    words = {word for document in TEST.documents for span in document.spans
             for word in document.text[span.start : span.end].split()
             if len(word) > 4 and word.isalpha() and word not in TEST.label_set.labels}  # fmt: skip
    assert not [word for word in words if word in (home / "out" / "table-7.txt").read_text(encoding="utf-8")]
    wanted = PaperOptions(only_right="crf", text=True)
    again = partial(reproduce, "zhao2020", TRAINING, TEST, SETTINGS, wanted, cache=home / "folds")
    cases = write_reproduction(tmp_path / "out", again).tables[-1]
    assert cases.rows and "[" in str(cases.table.sections[0][0][1])
    pages = [(folder / "out" / "index.html").read_text(encoding="utf-8") for folder in (home, tmp_path)]
    assert ["This page holds text of notes" in page for page in pages] == [False, True]


def test_a_run_that_was_stopped_goes_on(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    home, found, _ = run
    monkeypatch.setattr("phistack.ensemble.training.fit_tasks.FitTask.run", lambda task: pytest.fail("trained again"))
    assert reproduce("zhao2020", TRAINING, TEST, SETTINGS, cache=home / "folds").tables == found.tables


def test_seeds_give_means_and_deviations_of_each_row(run: Any, tmp_path: Path) -> None:
    home, first, _ = run
    cache = home / "folds"
    found = write_reproduction(
        tmp_path / "out", lambda: reproduce("zhao2020", TRAINING, TEST, SETTINGS, PaperOptions(seeds=2), cache=cache)
    )
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    other = reproduce("zhao2020", TRAINING, TEST, replace(SETTINGS, seed=1), cache=cache)
    assert found.tables == first.tables and results["seeds"] == [0, 1]
    tables = [next(table for table in made.tables if table.number == 4) for made in (first, other)]
    f1 = [table.rows[-1]["ours"][2] for table in tables]
    mean = results["mean of seeds"]["tbed+crf+blstm"]["f1"]
    assert (mean["mean"], mean["sd"]) == pytest.approx((fmean(f1), stdev(f1)))
    for kind in ("txt", "tex"):
        assert "mean over 2 seeds" in (tmp_path / "out" / f"seeds.{kind}").read_text(encoding="utf-8")


def test_the_annotated_test_notes_score_as_the_tables_say(run: Any, tmp_path: Path) -> None:
    home, found, _ = run
    again = partial(reproduce, "zhao2020", TRAINING, TEST, SETTINGS, PaperOptions(annotated=True), cache=home / "folds")
    write_reproduction(tmp_path / "out", again)
    annotated = read_corpus(tmp_path / "out" / "annotated.jsonl", label_set=TEST.label_set.name)
    strict = evaluate(TEST, annotated).strict
    assert found.tables[2].rows[-1]["ours"][-1] == pytest.approx(strict.f1.value, abs=1e-4)


def test_other_label_sets_have_rows_of_their_own_beside_which_the_paper_has_nothing() -> None:
    text = "Calle Mayor"
    spanish = Corpus((Document("1", text, (Span(0, 11, "CALLE"),)),), LabelSet.named("meddocan"))
    rows = filled(published("zhao2020")["tables"][0], PaperRun(spanish, spanish, SETTINGS, {})).rows
    [street] = [row for row in rows if row["type"] == "CALLE"]
    assert (street["training"], street["test"], street["paper"]) == (1, 1, [])


def test_the_figures_are_those_of_the_paper() -> None:
    tables = {table["number"]: table for table in published("zhao2020")["tables"]}
    assert [sum(counts[i] for counts in tables[2]["figures"].values()) for i in (0, 1)] == [17405, 11462]
    for row in (row for number in (4, 5) for row in tables[number]["rows"] if "ours" in row):
        precision, recall, f1 = map(float, row["paper"])
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.02), row


def test_what_is_left_out_is_marked_in_every_form(run: Any) -> None:
    home, found, results = run
    rows = {row["model"]: row for row in results["tables"]["4"]}
    assert rows["CRF"]["lacking"] == ["without general named entities and parts of speech (12 of 49 templates)"]
    assert len(rows["Ensemble"]["lacking"]) == 3 and "lacking" not in rows["Beryozkin 2019 (BiRNN)"]
    for form in ("txt", "tex"):
        written = (home / "out" / f"table-4.{form}").read_text(encoding="utf-8")
        assert "CRF (b)" in written and "(b) without general named entities and parts of speech (12 of 49" in written
        assert "Ensemble (a, b, c)" in written
    page = (home / "out" / "index.html").read_text(encoding="utf-8")
    assert "Ensemble (a, b, c)" in page and all(f'id="table-{table.number}"' in page for table in found.tables)


def test_every_form_says_on_whose_notes_ours_were_made(run: Any) -> None:
    home, found, _ = run
    here = "Here: trained on 10 notes (i2b2-2014), scored on 5 notes (i2b2-2014), language en. The paper: i2b2 2014."
    assert found.here == here and found.origin.protocol.startswith(here)
    for path in (home / "out").glob("table-*"):
        assert here in path.read_text(encoding="utf-8")
    assert here in (home / "out" / "index.html").read_text(encoding="utf-8")


def test_settings_and_rules_stand_beside_those_of_the_paper(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, results = run
    facts = {row["name"]: (row["ours"], row["paper"]) for row in results["tables"]["3"]}
    assert facts["SVM, gamma"] == ("0.009", "0.009") and facts["Kernel sizes of the CNN"] == (
        "2, 3, 4, 5",
        "2, 3, 4, 5",
    )
    assert facts["Feature crosses of the CRF"] == ("49", "49")
    ours, paper = facts["Transformation rules"]
    assert 0 < int(ours) <= 40 and paper == "43"


def test_the_numbers_of_the_svm_are_searched_by_ten_fold_cross_validation(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, _, _ = run
    few = (KernelSettings(0.02, 1.0, 2.0), KernelSettings(1e-7, 1e-3, 1e-3))
    monkeypatch.setattr("phistack.ensemble.papers.plan._SEARCHED", few)
    found = reproduce("zhao2020", TRAINING, TEST, SETTINGS, PaperOptions(search_svm=True), cache=home / "folds")
    facts = {row["name"]: row["ours"] for row in found.tables[1].rows}
    assert [facts[f"SVM, {name}"] for name in ("gamma", "C of positive samples", "C of negative samples")] == [
        "0.02", "1", "2",
    ]  # fmt: skip
    assert found.origin.settings is not None and found.origin.settings.stacker.folds == 10
    with pytest.raises(SettingsError, match="no stacker, so there is nothing that --search-svm could search"):
        reproduce("berg2019-crf", TRAINING, TEST, EngineSettings.preset("berg2019-crf"), PaperOptions(search_svm=True))


@pytest.mark.parametrize(("paper", "networks"), [("zhao2020", ["blstm"]), ("liu2017", ["bi-lstm", "bi-lstm-fea"])])
def test_a_quick_run_changes_what_takes_long_and_nothing_else(paper: str, networks: list[str]) -> None:
    full = EngineSettings.preset(paper)
    quick = settings_of(paper, full, quick=True)
    assert settings_of(paper, full) == full
    assert quick.folds < full.folds
    assert (quick.features.pos, quick.features.tokeniser) == ("", full.features.tokeniser)
    for own, other in ((quick.submodels[name], full.submodels[name]) for name in networks):
        assert own["epochs"] < other["epochs"] and own["lstm_size"] == other["lstm_size"]


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["zhao2002"], "no paper named zhao2002 (did you mean zhao2020?)"),
        (["zhao2020", "--only-right", "regex"], "no submodel of these settings named regex"),
        (["zhao2020", "--submodels", "crf"], "no submodel of these settings named tbed"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    phistack: Phistack, tmp_path: Path, arguments: list[str], reported: str
) -> None:
    for name, corpus in (("train", TRAINING), ("test", TEST)):
        write_corpus(corpus, tmp_path / name, format="i2b2")
    paths = [tmp_path / "train", tmp_path / "test", "--out", tmp_path / "out"]
    status, _, error = phistack("reproduce", arguments[0], *paths, *arguments[1:])
    assert status == 1 and reported in error
    assert not list(tmp_path.glob("out*"))


def test_other_papers_are_refused_in_python_too() -> None:
    with pytest.raises(SettingsError, match="there is no paper named trienes"):
        reproduce("trienes", TRAINING, TEST, SETTINGS)
