"""The tables of Liu 2017: by category, by criterion, by method, and what each method alone finds."""

import json
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.experiments.parts import CorpusFacts, Origin
from phistack.ensemble.papers.options import DEFAULT, PaperOptions
from phistack.ensemble.papers.reproduction import Reproduction, published, reproduce, write_reproduction
from phistack.ensemble.papers.run import PaperRun
from phistack.ensemble.papers.tables import PaperTable, filled
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet

TRAINING, TEST = synthesize(10, seed=4), synthesize(8, seed=5)
SIZES = {"epochs": 1, "least_steps": 40, "learning_rate": 0.01, "lstm_size": 8, "word_size": 8, "character_lstm": 4}
SMALL: dict[str, Any] = {
    "folds": 2,
    "features": {"pos": "", "ner": ""},
    "submodels": {"crf": {"max_iterations": 12}, "bi-lstm": SIZES, "bi-lstm-fea": SIZES},
}
PRESET = EngineSettings.preset("liu2017")
WHOLE = ("crf", "bi-lstm", "bi-lstm-fea")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("reproduced")
    settings = EngineSettings.from_dict(merged(PRESET.to_dict(), SMALL))
    write_reproduction(home / "out", lambda: reproduce("liu2017", TRAINING, TEST, settings, cache=home / "folds"))
    names = {path.name for path in (home / "out").iterdir()}
    assert {"table-4.txt", "table-5.tex", "table-6.txt", "table-figure-4.txt", "table-section-5.txt"} <= names
    assert {"figure-4.svg", "figure-4.png"} <= names
    drawn = (home / "out" / "figure-4.svg").read_text(encoding="utf-8")
    assert all(word in drawn for word in ("BI-LSTM-FEA", "Ensemble", "LOCATION", "DATE"))
    return json.loads((home / "out" / "results.json").read_text(encoding="utf-8"))["tables"]


def table_of(number: int | str, gold: Corpus, answers: Any, options: PaperOptions = DEFAULT) -> PaperTable:
    declared = next(table for table in published("liu2017")["tables"] if table["number"] == number)
    return filled(declared, PaperRun(gold, gold, PRESET, answers, members=WHOLE), options)


def test_rows_are_those_of_the_paper_with_its_figures_beside_ours(results: Any) -> None:
    assert list(results) == ["1", "4", "5", "6", "7", "figure-4", "section-5"]
    assert {row["category"]: row["paper"] for row in results["1"]}["ID"] == [1506]
    assert sum(row["training"] for row in results["1"]) == sum(len(d.spans) for d in TRAINING.documents)
    methods = {row["method"]: row for row in results["4"]}
    assert list(methods) == ["CRF-based", "BI-LSTM", "BI-LSTM-FEA", "Ensemble", "Rule-based", "Overall"]
    assert methods["Overall"]["ours"] == methods["Ensemble"]["ours"] and methods["Rule-based"]["ours"] is None
    assert methods["Ensemble"]["paper"] == ["96.46", "93.80", "95.11"] and len(methods["CRF-based"]["ours"]) == 3
    assert {row["category"]: row["paper"] for row in results["5"]}["LOCATION"] == ["92.66", "85.00", "88.67"]
    assert len(results["6"]) == 10 and all(row["ours"] for row in results["6"])


def test_table_1_has_the_types_and_the_total_of_the_paper() -> None:
    counts = next(table for table in published("liu2017")["tables"] if table["number"] == 1)
    made = filled(counts, PaperRun(TRAINING, TEST, PRESET, {}))
    columns, [of_categories, [total]], rows = made.table.columns, made.table.sections, made.rows
    assert columns[:2] == ("category", "types") and total[0] == "Total" and total[-1] == "28867"
    assert int(str(total[2])) == sum(len(document.spans) for document in TRAINING.documents)
    assert {row["category"]: row["types"] for row in rows}["NAME"] == "PATIENT*, DOCTOR, USERNAME"
    assert len(of_categories) == len(rows)


def test_table_7_has_what_an_lstm_finds_and_the_crf_does_not() -> None:
    text = "Ann Bo Cid Dan"
    ann, bo, cid, dan = (Span(text.index(n), text.index(n) + len(n), "DOCTOR") for n in text.split())
    notes = Corpus((Document("1", text, (ann, bo, cid)),), LabelSet.named("i2b2-2014"))
    answers = {("crf",): [[ann]], ("bi-lstm",): [[ann, bo, dan]], ("bi-lstm-fea",): [[bo]], WHOLE: [[ann, bo]]}
    for text_wanted, columns in ((False, 4), (True, 5)):
        found = table_of(7, notes, answers, PaperOptions(text=text_wanted))
        [[row]] = found.table.sections
        assert len(row) == columns and row[0] == "DOCTOR" and row[-2:] == ("DOCTOR", "DOCTOR")
        assert ("[Bo]" in str(row)) == text_wanted
        assert [(r["start"], r["end"]) for r in found.rows] == [(4, 6)]


@pytest.mark.parametrize(
    ("most", "listed", "note"), [(1, 1, "The first 1 of each type, 1 of 3."), (0, 3, ""), (None, 3, "")]
)
def test_table_7_is_limited_by_an_option(most: int | None, listed: int, note: str) -> None:
    text = "Ann Bo Cid"
    spans = [Span(text.index(n), text.index(n) + len(n), "DOCTOR") for n in text.split()]
    notes = Corpus((Document("1", text, tuple(spans)),), LabelSet.named("i2b2-2014"))
    answers = {("crf",): [[]], ("bi-lstm",): [spans], ("bi-lstm-fea",): [[]], WHOLE: [spans]}
    found = table_of(7, notes, answers, PaperOptions(most=most))
    assert (len(found.rows), found.table.note) == (listed, note)


def test_the_same_figure_is_the_same_in_all_tables(results: Any) -> None:
    strict = next(row["ours"] for row in results["6"] if row["criterion"] == "Strict")
    assert strict == pytest.approx(next(row["ours"] for row in results["4"] if row["method"] == "Ensemble"))
    dates = next(row["ours"] for row in results["5"] if row["category"] == "DATE")
    assert [dates[2]] == next(row["ours"]["Ensemble"] for row in results["figure-4"] if row["category"] == "DATE")


def criteria_rows(labels: LabelSet, text: str, gold: list[Span], found: list[Span]) -> dict[str, Any]:
    corpus = Corpus((Document("1", text, tuple(gold)),), labels)
    made = table_of(6, corpus, {WHOLE: [found]})
    [cells] = made.table.sections
    assert len(cells) == 10 and {len(row) for row in cells} == {7}
    return {row["criterion"]: row["ours"] for row in made.rows}


def test_criteria_without_meaning_for_the_labels_have_no_figure() -> None:
    span = Span(0, 11, "Street")
    ours = criteria_rows(LabelSet("own", {"Street": "LOCATION"}), "Calle Mayor", [span], [span])
    assert ours["Strict"] == [1.0, 1.0, 1.0] and ours["HIPAA strict"] is None


def test_meddocan_has_all_ten_criteria_and_those_of_hipaa_leave_out_doctors() -> None:
    street, doctor = Span(0, 11, "CALLE"), Span(12, 15, "NOMBRE_PERSONAL_SANITARIO")
    ours = criteria_rows(LabelSet.named("meddocan"), "Calle Mayor Gil", [street, doctor], [street])
    assert all(ours.values())
    assert ours["Strict"][:2] == [1.0, 0.5] and ours["Binary token"][1] == pytest.approx(2 / 3)
    assert all(figures == [1.0, 1.0, 1.0] for name, figures in ours.items() if "HIPAA" in name)


def test_what_one_method_alone_finds_is_counted_and_what_the_ensemble_keeps() -> None:
    text = "Ann Bo Cid Dan Eva"
    ann, bo, cid, dan, eva = (Span(text.index(n), text.index(n) + len(n), "DOCTOR") for n in text.split())
    gold = Corpus((Document("1", text, (ann, bo, cid)),), LabelSet.named("i2b2-2014"))
    answers = {
        ("crf",): [[ann, bo, dan]],
        ("bi-lstm",): [[ann, cid]],
        ("bi-lstm-fea",): [[ann, eva]],
        WHOLE: [[ann, bo, eva]],
    }
    every = table_of("section-5", gold, answers).rows
    rows = {row["method"]: row["ours"] for row in every if not row["category"]}
    # Right, wrong, right and kept, wrong and kept.
    assert rows == {"CRF": [1, 1, 1, 0], "BI-LSTM": [1, 0, 0, 0], "BI-LSTM-FEA": [0, 1, 0, 1], "all": [2, 2, 1, 1]}
    assert {row["method"]: row["ours"] for row in every if row["category"] == "NAME"} == rows
    assert evaluate(gold, gold.with_spans(answers[WHOLE])).strict.counts == (2, 1, 1)


def test_without_matplotlib_the_rest_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("phistack.ensemble.papers.reproduction.find_spec", lambda name: None)
    declared = next(table for table in published("liu2017")["tables"] if table["number"] == "figure-4")
    answers = {row: [()] * len(TEST) for row in (("crf",), ("bi-lstm",), ("bi-lstm-fea",), WHOLE)}
    made = filled(declared, PaperRun(TRAINING, TEST, PRESET, answers, members=WHOLE))
    origin, facts = Origin("x", "strict", "said", PRESET), CorpusFacts.of(TEST)
    write_reproduction(tmp_path / "out", lambda: Reproduction(origin, "liu2017", "here", facts, facts, (made,)))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"index.html", "results.json", "table-figure-4.tex", "table-figure-4.txt"}
    assert "without matplotlib the figures are written as tables only" in caplog.text


def test_on_ngrid_the_rules_have_rows_of_their_own(tmp_path: Path) -> None:
    settings = EngineSettings.from_dict(merged(EngineSettings.preset("liu2017-ngrid").to_dict(), SMALL))
    found = reproduce("liu2017-ngrid", TRAINING, TEST, settings, cache=tmp_path)
    rows = {row["method"]: row["ours"] for row in found.tables[1].rows}
    identifiers = {row["category"]: row["ours"] for row in found.tables[2].rows}["ID"]
    assert identifiers[1] > 0, "learned by nobody, found by the rules"
    assert rows["Overall (our patterns)"][1] > rows["Ensemble"][1] and 0 < rows["Rule-based (our patterns)"][1] < 0.3


@pytest.mark.parametrize("paper", ["liu2017", "liu2017-ngrid"])
def test_the_figures_are_those_of_the_paper(paper: str) -> None:
    tables = {table["number"]: table for table in published(paper)["tables"]}
    assert sum(count for [count] in tables[1]["figures"].values()) == {"liu2017": 28867, "liu2017-ngrid": 34364}[paper]
    for figures in (
        *tables[5]["figures"].values(),
        *(row["paper"] for row in (*tables[4]["rows"], *tables[6]["rows"]) if row["paper"][0] != "NA"),
    ):
        precision, recall, f1 = map(float, figures)
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.011)
    alone = tables["section-5"]["figures"]
    assert [sum(alone[name][i] for name in ("CRF", "BI-LSTM", "BI-LSTM-FEA")) for i in (0, 1)] == alone["all"][:2]
