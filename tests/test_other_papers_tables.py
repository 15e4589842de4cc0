"""The tables of Berg 2019, Tjong Kim Sang 2019 and AnonyMate 2019, the papers' figures beside ours."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.experiments.entity_baselines import entity_baselines
from phistack.ensemble.experiments.method_tables import by_type
from phistack.ensemble.experiments.paper_tables import PaperRun, filled
from phistack.ensemble.experiments.parts import alone_answers
from phistack.ensemble.experiments.reproduction import papers, published, reproduce, settings_of
from phistack.ensemble.stacking.folds import training_folds
from phistack.ensemble.synthesis.corpus import synthesize
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.proposals import prepared, propose
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

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
    assert {row["type"]: row["paper"] for row in rows["2"]}["Last_Name"] == [923, 524, 9_402]
    assert all(row["ours"] is None and row["paper"] for row in rows["4-domain"] + rows["4-suc"])
    table = filled(published("berg2019-crf")["tables"][0], PaperRun(training, test, {}, {}, (), "", text=False)).table
    assert table.columns[3:] == ("paper, EPR PHI", "paper, Domain", "paper, SUC")
    assert {len(row) for part in table.sections for row in part} == {6}


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


def test_folds_that_no_row_needs_are_not_trained(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n).mapped("tjongkimsang2019") for n in (5, 3))
    quick = {"features": {"ner": ""}, "folds": 2}
    settings = EngineSettings.from_dict(merged(EngineSettings.preset("tjongkimsang2019").to_dict(), quick))
    found = reproduce("tjongkimsang2019", training, test, settings, annotated=True, cache=tmp_path)
    assert len([*tmp_path.iterdir()]) == 2, "one fit of each of both submodels, none of folds"
    assert found.annotated is not None and any(note.spans for note in found.annotated.documents)
    assert "fold" not in found.origin.protocol


def test_there_are_tables_of_each_preset_that_a_paper_has() -> None:
    assert {"anonymate2019", "berg2019-crf", "berg2019-lstm", "liu2017", "tjongkimsang2019", "zhao2020"} <= {*papers()}
    for paper in papers():
        assert EngineSettings.preset(paper).submodels.keys() >= {*published(paper)["members"]}, paper


def from_elsewhere(corpus: Corpus, start: str) -> Corpus:
    """The corpus with ids and patients that no other has."""
    notes = (replace(note, id=f"{start}{note.id}", group=f"{start}{note.group}") for note in corpus.documents)
    return replace(corpus, documents=tuple(notes))


def test_corpora_that_are_added_fill_their_rows_on_other_notes_and_over_the_folds(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    domain, general = (from_elsewhere(synthesize(n, seed=n, language="sv"), "x") for n in (12, 5))
    settings = settings_of("berg2019-crf", EngineSettings.preset("berg2019-crf"), quick=True)
    settings = replace(settings, features=replace(settings.features, language="sv"))
    add_and_cache = {"added": [domain, general], "cache": tmp_path}
    found = reproduce("berg2019-crf", training, test, settings, quick=True, **add_and_cache)
    rows = {str(table.number): table.rows for table in found.tables}
    alone = reproduce("berg2019-crf", training, test, settings, quick=True, cache=tmp_path)
    assert rows["4"] == {str(table.number): table.rows for table in alone.tables}["4"], "only its own rows change"
    for number in ("added-corpora", "mean-of-folds"):
        ours = [row["ours"] for row in rows[number]]
        assert [row["paper"][2] for row in rows[number]] == ["90", "91", "88"]
        assert 0 < ours[0][2] < min(ours[1][2], ours[2][2]), f"few notes: more of them help ({number})"
    for number, row in (("4", 0), ("4-domain", 1), ("4-suc", 2)):
        assert rows[number][0]["ours"] == rows["added-corpora"][row]["ours"]
    counts = {row["type"]: row for row in rows["2"]}["First_Name"]
    names = [sum(s.label == "First_Name" for d in corpus.documents for s in d.spans) for corpus in (domain, general)]
    assert [counts["added 1"], counts["added 2"]] == names
    assert "An added corpus of 12 notes was learned from too" in found.origin.protocol
    assert "and 5 of its notes where the test notes are scored" in found.origin.protocol


def test_the_mean_of_the_folds_is_that_of_each_fold_scored_by_itself(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    settings = settings_of("berg2019-crf", EngineSettings.preset("berg2019-crf"), quick=True)
    settings = replace(settings, features=replace(settings.features, language="sv"))
    rows = {str(t.number): t.rows for t in reproduce("berg2019-crf", training, test, settings, cache=tmp_path).tables}
    proposed = propose(training, settings, cache=tmp_path)
    answers = alone_answers(proposed, "crf")
    by_fold = [
        evaluate(of_fold, of_fold.with_spans([answers[i] for i in fold])).strict.f1.value
        for fold in training_folds(training.documents, n_folds=settings.folds, seed=settings.seed)
        for of_fold in [replace(training, documents=tuple(training.documents[i] for i in fold))]
    ]
    assert rows["mean-of-folds"][0]["ours"][2] == pytest.approx(sum(by_fold) / len(by_fold))


def test_no_note_that_is_scored_is_learned_from_by_way_of_an_added_corpus() -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    settings = settings_of("berg2019-crf", EngineSettings.preset("berg2019-crf"), quick=True)
    with pytest.raises(
        SettingsError, match="all 4 notes of added corpus 1 are of patients, by their ids, or have texts"
    ):
        reproduce("berg2019-crf", training, test, settings, added=[test])
    with pytest.raises(SettingsError, match="none can be learned from"):
        reproduce("berg2019-crf", training, test, settings, added=[from_elsewhere(test, "x")])
    with pytest.raises(SettingsError, match="rows of 2 added corpora, not of 3"):
        reproduce("berg2019-crf", training, test, settings, added=[training] * 3)
    with pytest.raises(SettingsError, match="rows of 0 added corpora, not of 1"):
        reproduce("trienes2020", training, test, EngineSettings.preset("trienes2020"), added=[training])


def test_it_is_said_how_many_added_notes_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    training, test, added = (synthesize(n, seed=n, language="sv") for n in (6, 2, 5))
    settings = settings_of("berg2019-crf", EngineSettings.preset("berg2019-crf"), quick=True)
    found = reproduce("berg2019-crf", training, test, settings, added=[added], cache=tmp_path)
    left = sum(d.group not in {note.group for note in test.documents} for d in added.documents)
    assert 0 < left < 5 and f"and {left} of its notes where" in found.origin.protocol
    assert f"of the 5 notes of added corpus 1, {5 - left} are of patients of the test notes" in caplog.text


def test_the_fit_for_other_notes_leaves_out_what_is_added_of_their_patients() -> None:
    training, test, added = (synthesize(n, seed=n, language="sv") for n in (8, 4, 10))
    settings = EngineSettings.from_dict({"folds": 2, "submodels": {"crf": {}}, "features": {"language": "sv"}})
    space, every, folds, _ = prepared(training, settings, added=added.documents)
    others = space.tables(test.documents)
    tasks = {task.part: task for task in tasks_of(settings, every[:8], folds, unseen=others, added=every[8:])}
    scored = {document.group for document in test.documents}
    learned = [table.document for table in tasks["unseen"].training[8:]]
    assert [d.id for d in learned] == [d.id for d in added.documents if d.group not in scored]
    assert 0 < len(learned) < len(added)


def test_the_command_adds_corpora(tmp_path: Path, phistack: Phistack) -> None:
    for name, n in (("train", 6), ("test", 3)):
        write_corpus(synthesize(n, seed=n, language="sv"), tmp_path / f"{name}.jsonl", format="jsonl")
    write_corpus(from_elsewhere(synthesize(5, seed=9, language="sv"), "x"), tmp_path / "add.jsonl", format="jsonl")
    args = ("reproduce", "berg2019-crf", tmp_path / "train.jsonl", tmp_path / "test.jsonl", "--quick", "--jobs", 1)
    status, _, said = phistack(*args, "--out", tmp_path / "out", "--add", tmp_path / "add.jsonl")
    assert status == 0, said
    rows = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["tables"]["added-corpora"]
    assert [row["ours"] is None for row in rows] == [False, False, True]
    status, _, said = phistack(*args, "--out", tmp_path / "other", "--add", tmp_path / "none.jsonl")
    assert status == 1 and "none.jsonl" in said and not (tmp_path / "other").exists()
