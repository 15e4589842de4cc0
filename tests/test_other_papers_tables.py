"""The tables of Berg 2019, Tjong Kim Sang 2019 and AnonyMate 2019, the papers' figures beside ours."""

from pathlib import Path
from typing import Any

import pytest

from ensemble.evaluation import evaluate
from ensemble.experiments.entity_baselines import entity_baselines
from ensemble.experiments.method_tables import by_type
from ensemble.experiments.paper_tables import PaperRun, filled
from ensemble.experiments.reproduction import papers, published, reproduce, settings_of
from ensemble.synthesis.corpus import synthesize
from ensemble.training.settings import EngineSettings, merged
from features.documents import Corpus, Document, Span
from features.labels import LabelSet

TINY = {"epochs": 1, "least_steps": 0, "lstm_size": 6, "word_size": 8, "character_lstm": 3, "character_size": 3}


def rows_of(paper: str, training: Corpus, test: Corpus, cache: Path, **changes: Any) -> dict[str, list[dict[str, Any]]]:
    quick = settings_of(paper, EngineSettings.preset(paper), quick=True)
    language = {"features": {"language": training.label_set.language}}
    settings = EngineSettings.from_dict(merged(quick.to_dict(), merged(language, changes)))
    found = reproduce(paper, training, test, settings, quick=True, cache=cache)
    assert all(table.table.markdown() and table.table.latex("x", "y") for table in found.tables)
    return {str(table.number): table.rows for table in found.tables}


def test_the_crf_of_berg_by_type_with_its_figures_beside_ours(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    rows = rows_of("berg2019-crf", training, test, tmp_path)
    by_name = {row["type"]: row for row in rows["4"]}
    assert by_name["Overall"]["paper"] == ["93.76", "86.53", "90"] and by_name["Overall"]["ours"][2] > 0
    assert by_name["Age"]["paper"] == ["79.29", "60.95", "68"]
    assert rows["added-corpora"][0]["ours"] == by_name["Overall"]["ours"] and rows["added-corpora"][1]["ours"] is None
    assert {row["type"]: row["paper"] for row in rows["2"]}["Last_Name"] == [923]
    table = filled(published("berg2019-crf")["tables"][0], PaperRun(training, test, {}, {}, (), "", text=False)).table
    assert table.columns[3:] == ("paper, all",) and {len(row) for part in table.sections for row in part} == {4}


def test_the_lstm_of_berg_has_its_tables_too(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (5, 2))
    rows = rows_of("berg2019-lstm", training, test, tmp_path, submodels={"lstm": TINY})
    assert rows["3"][0]["paper"] == ["85.87", "88.96", "87"] and len(rows["3"][0]["ours"]) == 3


def test_the_classes_of_tjong_kim_sang_and_all_of_them_with_and_without_the_class() -> None:
    training, test = (synthesize(n, seed=n).mapped("tjongkimsang2019") for n in (5, 3))
    found = reproduce(
        "tjongkimsang2019",
        training,
        test,
        EngineSettings.from_dict(
            merged(EngineSettings.preset("tjongkimsang2019").to_dict(), {"features": {"ner": ""}, "folds": 2})
        ),
    )
    rows = {row["type"]: row for row in found.tables[0].rows}
    assert rows["UNL"]["paper"] == ["84", "85", "84"] and rows["UNL"]["ours"][2] >= rows["AVG"]["ours"][2] > 0
    assert rows["DATE"]["ours"][2] > 0.3
    assert {row["type"]: row["paper"] for row in found.tables[1].rows}["AVG"] == ["60", "21", "31"]
    assert "general named entities, which the paper has" in found.origin.protocol


def test_unlabelled_scores_leave_the_class_out() -> None:
    gold = Corpus(
        (Document("1", "Ann Oslo 7", (Span(0, 3, "PER"), Span(4, 8, "LOC"))),), LabelSet.named("tjongkimsang2019")
    )
    declared = published("tjongkimsang2019")["tables"][0]
    rows = {
        r["type"]: r["ours"]
        for r in by_type(declared, gold, {("entities",): [[Span(0, 3, "PER"), Span(4, 8, "ORG")]]})[2]
    }
    assert rows["UNL"] == [1.0, 1.0, 1.0] and rows["AVG"] == [0.5, 0.5, 0.5] and rows["LOC"][1] == 0.0


def test_anonymate_stands_beside_its_baselines(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n).mapped("anonymate2019") for n in (6, 3))
    rows = rows_of("anonymate2019", training, test, tmp_path, submodels={"bi-lstm": TINY})
    models = {row["model"]: row for row in rows["4"]}
    assert [row["paper"][2] for row in models.values()] == ["45.0", "57.5", "74.1", "76.0", "79.2"]
    baseline = entity_baselines(training, test)["most frequent"]
    strict = evaluate(test, baseline).strict
    assert models["Baseline (freq)"]["ours"] == pytest.approx([m.value for m in strict.measures.values()])
    assert models["CRFSuite"]["ours"] == models["CRFSuite + embeddings clusters"]["ours"], (
        "without vectors they are one"
    )
    assert {row["category"]: row["paper"] for row in rows["5"]}["PII"] == ["86.4", "82.7", "84.6"]
    assert rows["6"][0]["ours"] and rows["6"][3]["ours"] is None


def test_there_are_tables_of_each_preset_that_a_paper_has() -> None:
    assert {"anonymate2019", "berg2019-crf", "berg2019-lstm", "liu2017", "tjongkimsang2019", "zhao2020"} <= {*papers()}
    for paper in papers():
        assert EngineSettings.preset(paper).submodels.keys() >= {*published(paper)["members"]}, paper
