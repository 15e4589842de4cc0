"""The tables of Berg 2019, Tjong Kim Sang 2019 and AnonyMate 2019, the papers' figures beside ours."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from rich.console import Console

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.experiments.parts import alone_answers
from phistack.ensemble.papers.options import PAPERS, PaperOptions
from phistack.ensemble.papers.plan import entity_baselines
from phistack.ensemble.papers.reproduction import published, reproduce, settings_of
from phistack.ensemble.papers.run import PaperRun
from phistack.ensemble.papers.tables import filled
from phistack.ensemble.stacking.folds import training_folds
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.trainer import prepared, propose
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack
from tests.papers import deduce_stand_in

TINY = {"epochs": 1, "least_steps": 0, "lstm_size": 6, "word_size": 8, "character_lstm": 3, "character_size": 3}


@pytest.fixture(autouse=True)
def no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the published program DEDUCE were not installed, which is slow to load."""
    monkeypatch.setattr("phistack.ensemble.papers.run.find_spec", lambda name: None)


def rows_of(paper: str, training: Corpus, test: Corpus, cache: Path, **changes: Any) -> dict[str, list[dict[str, Any]]]:
    quick = settings_of(paper, EngineSettings.preset(paper), quick=True)
    language = {"features": {"language": training.label_set.language}}
    settings = EngineSettings.from_dict(merged(quick.to_dict(), merged(language, changes)))
    found = reproduce(paper, training, test, settings, PaperOptions(quick=True), cache=cache)
    assert all(table.table.markdown() and table.table.latex("x", "y") for table in found.tables)
    return {str(table.number): table.rows for table in found.tables}


def test_the_crf_of_berg_by_type_with_its_figures_beside_ours(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    rows = rows_of("berg2019-crf", training, test, tmp_path)
    by_name = {row["type"]: row for row in rows["4"]}
    assert [*by_name][-1] == "Overall" and by_name["Overall"]["paper"][:3] == ["93.76", "86.53", "90"]
    assert by_name["Overall"]["ours"]["EPR PHI"][2] > 0
    assert by_name["Age"]["paper"][:3] == ["79.29", "60.95", "68"] and len(by_name["Age"]["paper"]) == 9
    assert all(row["ours"]["EPR PHI + SUC (here: added corpus 2)"] is None for row in rows["4"])
    assert {row["type"]: row["paper"] for row in rows["2"]}["Last_Name"] == [923, 524, 9_402]
    settings = EngineSettings.preset("berg2019-crf")
    table = filled(published("berg2019-crf")["tables"][0], PaperRun(training, test, settings, {})).table
    assert table.columns[3:] == ("paper, EPR PHI", "paper, Domain", "paper, SUC")
    assert {len(row) for part in table.sections for row in part} == {6}


def test_the_lstm_of_berg_has_its_tables_too(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (5, 2))
    rows = rows_of("berg2019-lstm", training, test, tmp_path, submodels={"lstm": TINY})
    overall = rows["3"][-1]
    assert overall["type"] == "Overall" and overall["paper"][:3] == ["85.87", "88.96", "87"]


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
    unlabelled, averaged = (rows[name]["ours"]["Our system"] for name in ("UNL", "AVG"))
    assert rows["UNL"]["paper"][:3] == ["84", "85", "84"] and unlabelled[2] >= averaged[2] > 0
    assert rows["DATE"]["ours"]["Our system"][2] > 0.3 and rows["AVG"]["paper"][3:6] == ["60", "21", "31"]
    assert "entities: without general named entities." in found.origin.protocol
    program = "Deduce (here: the published program)"
    assert rows["AVG"]["ours"][program] is None and rows["AVG"]["ours"]["Deduce (here: our rules)"]
    assert "not filled, as the program is not installed: pip install '.[deduce]'" in " ".join(rows["AVG"]["lacking"])


def test_the_published_program_has_a_column_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phistack.ensemble.papers.run.find_spec", lambda name: name)
    deduce_stand_in.install(monkeypatch)
    training, test = (synthesize(n, seed=n, language="nl").mapped("tjongkimsang2019") for n in (5, 3))
    given = {"features": {"ner": "", "language": "nl"}, "folds": 2}
    settings = EngineSettings.from_dict(merged(EngineSettings.preset("tjongkimsang2019").to_dict(), given))
    rows = {row["type"]: row for row in reproduce("tjongkimsang2019", training, test, settings).tables[0].rows}
    ours = rows["DATE"]["ours"]
    assert ours["Deduce (here: the published program)"][2] > 0
    assert ours["Deduce (here: the published program)"] != ours["Deduce (here: our rules)"]


def test_unlabelled_scores_leave_the_class_out() -> None:
    gold = Corpus(
        (Document("1", "Ann Oslo 7", (Span(0, 3, "PER"), Span(4, 8, "LOC"))),), LabelSet.named("tjongkimsang2019")
    )
    answers = {("entities",): [[Span(0, 3, "PER"), Span(4, 8, "ORG")]]}
    run = PaperRun(gold, gold, EngineSettings.preset("tjongkimsang2019"), answers)
    made = filled(published("tjongkimsang2019")["tables"][0], run)
    rows = {row["type"]: row["ours"]["Our system"] for row in made.rows}
    assert rows["UNL"] == [1.0, 1.0, 1.0] and rows["AVG"] == [0.5, 0.5, 0.5] and rows["LOC"][1] == 0.0


def test_anonymate_stands_beside_its_baselines(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n).mapped("anonymate2019") for n in (6, 3))
    rows = rows_of("anonymate2019", training, test, tmp_path, submodels={"bi-lstm": TINY})
    models = {row["system"]: row for row in rows["4"]}
    assert [row["paper"] for row in models.values()] == [["45.0"], ["57.5"], ["74.1"], ["76.0"], ["79.2"]]
    baseline = entity_baselines(training, test)["most frequent"]
    assert models["Baseline (freq)"]["ours"] == pytest.approx([evaluate(test, baseline).strict.f1.value])
    clusters = models["CRFSuite + embeddings clusters"]
    assert clusters["ours"] is None and clusters["lacking"] == [
        "not filled, as `vectors` under [features] names no file"
    ], "without vectors it would be the row above"
    assert models["CRFSuite"]["ours"][0] > 0 and "lacking" not in models["CRFSuite"]
    [english, *others] = rows["6"]
    assert english["language"] == "English" and english["ours"]["Freq."] == models["Baseline (freq)"]["ours"]
    assert all(set(row["ours"].values()) == {None} for row in others)


def test_figures_of_a_language_are_in_no_row_of_another() -> None:
    swedish = synthesize(3, seed=1, language="sv").mapped("anonymate2019")
    settings = EngineSettings.preset("anonymate2019")
    answers = {("crf",): [document.spans for document in swedish.documents]}
    tables = {table["number"]: table for table in published("anonymate2019")["tables"]}

    def rows(number: int, language: str) -> dict[str, Any]:
        own = replace(settings, features=replace(settings.features, language=language))
        made = filled(tables[number], PaperRun(swedish, swedish, own, answers))
        return {row["language"]: row["ours"] for row in made.rows}

    for number in (5, 6):
        of_swedish = {name: [values for values in ours.values() if values] for name, ours in rows(number, "sv").items()}
        assert [name for name, ours in of_swedish.items() if ours] == ["Swedish"]
        of_dutch = {name: [values for values in ours.values() if values] for name, ours in rows(number, "nl").items()}
        assert [name for name, ours in of_dutch.items() if ours] == ["here (nl)"], "the paper has no such row"


def test_what_is_missing_is_said_below_the_table_and_marked_on_our_columns_only() -> None:
    notes = synthesize(2, seed=1).mapped("anonymate2019")
    answers = {(name,): [document.spans for document in notes.documents] for name in ("crf", "crf-words")}
    run = PaperRun(notes, notes, EngineSettings.preset("anonymate2019"), answers)
    systems, _, languages = (filled(table, run).table for table in published("anonymate2019")["tables"])
    Console(width=100, file=(printed := StringIO())).print(systems)
    assert "`vectors` under [features] names no file" in " ".join(printed.getvalue().split())
    assert languages.columns[1:] == ("CRF (a)", "Freq.", "Unamb.", "paper, CRF", "paper, Freq.", "paper, Unamb.")


def test_groups_of_types_are_averaged_over_the_types() -> None:
    spans = [Span(0, 1, "Person"), Span(2, 3, "Person"), Span(4, 5, "Person"), Span(6, 7, "UID"), Span(8, 9, "URL")]
    gold = Corpus((Document("1", "a b c d e f", tuple(spans)),), LabelSet.named("anonymate2019"))
    answers = {("crf",): [[*spans[:3], Span(10, 11, "Event")]]}
    run = PaperRun(gold, gold, EngineSettings.preset("anonymate2019"), answers)
    ours = filled(published("anonymate2019")["tables"][1], run).rows[0]["ours"]
    assert ours == {"PII": [0.5, 0.5, 0.5], "CII": [0.0, 0.0, 0.0]}, "three persons count as much as one UID"


def test_folds_that_no_row_needs_are_not_trained(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n).mapped("tjongkimsang2019") for n in (5, 3))
    quick = {"features": {"ner": ""}, "folds": 2}
    settings = EngineSettings.from_dict(merged(EngineSettings.preset("tjongkimsang2019").to_dict(), quick))
    found = reproduce("tjongkimsang2019", training, test, settings, PaperOptions(annotated=True), cache=tmp_path)
    assert len([*tmp_path.iterdir()]) == 2, "one fit of each submodel, none of folds"
    assert found.annotated is not None and any(note.spans for note in found.annotated.documents)
    assert "fold" not in found.origin.protocol


def test_there_are_tables_of_each_preset_that_a_paper_has() -> None:
    assert {"anonymate2019", "berg2019-crf", "berg2019-lstm", "liu2017", "tjongkimsang2019", "zhao2020"} <= {*PAPERS}
    for paper in PAPERS:
        assert EngineSettings.preset(paper).submodels.keys() >= {*published(paper)["members"]}, paper


def quick_berg() -> EngineSettings:
    settings = settings_of("berg2019-crf", EngineSettings.preset("berg2019-crf"), quick=True)
    return replace(settings, features=replace(settings.features, language="sv"))


def from_elsewhere(corpus: Corpus, start: str) -> Corpus:
    """The corpus with unique ids and patients."""
    notes = (replace(note, id=f"{start}{note.id}", group=f"{start}{note.group}") for note in corpus.documents)
    return replace(corpus, documents=tuple(notes))


def test_corpora_that_are_added_fill_their_rows_on_other_notes_and_over_the_folds(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    domain, general = (from_elsewhere(synthesize(n, seed=n, language="sv"), "x") for n in (12, 5))
    settings = quick_berg()
    add_and_cache = {"added": [domain, general], "cache": tmp_path}
    found = reproduce("berg2019-crf", training, test, settings, PaperOptions(quick=True), **add_and_cache)
    rows = {str(table.number): table.rows for table in found.tables}
    alone = reproduce("berg2019-crf", training, test, settings, PaperOptions(quick=True), cache=tmp_path)
    alone_rows = {str(table.number): table.rows for table in alone.tables}
    for number, columns in (("4", ["EPR PHI", "EPR PHI + Domain (here: added corpus 1)",
                                   "EPR PHI + SUC (here: added corpus 2)"]),
                            ("4-test", ["training notes", "with added corpus 1", "with added corpus 2"])):  # fmt: skip
        ours = {row["type"]: row["ours"] for row in rows[number]}["Overall"]
        before = {row["type"]: row["ours"] for row in alone_rows[number]}["Overall"]
        first = before[columns[0]] if isinstance(before, dict) else before
        assert ours[columns[0]] == first, "only the columns of added corpora change"
        assert 0 < first[2] < min(ours[columns[1]][2], ours[columns[2]][2]), f"few notes: more help ({number})"
    counts = {row["type"]: row for row in rows["2"]}["First_Name"]
    names = [sum(s.label == "First_Name" for d in corpus.documents for s in d.spans) for corpus in (domain, general)]
    assert [counts["added 1"], counts["added 2"]] == names
    assert "Added corpus 1, 12 notes, was also learned from" in found.origin.protocol
    assert "and 5 of its notes where the test notes are scored" in found.origin.protocol


def test_the_mean_of_the_folds_is_that_of_each_fold_scored_by_itself(tmp_path: Path) -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    settings = quick_berg()
    rows = {str(t.number): t.rows for t in reproduce("berg2019-crf", training, test, settings, cache=tmp_path).tables}
    proposed = propose(training, settings, cache=tmp_path)
    answers = alone_answers(proposed, "crf")
    by_fold = [
        evaluate(of_fold, of_fold.with_spans([answers[i] for i in fold]))
        for fold in training_folds(training.documents, n_folds=settings.folds, seed=settings.seed)
        for of_fold in [replace(training, documents=tuple(training.documents[i] for i in fold))]
    ]
    ours = {row["type"]: row["ours"]["EPR PHI"] for row in rows["4"]}
    assert ours["Overall"][2] == pytest.approx(fmean(report.strict.f1.value for report in by_fold))
    names = [score.f1.value for report in by_fold for score in report.types if score.name == "Last_Name"]
    assert ours["Last_Name"][2] == pytest.approx(fmean(names)), "means by label too"


def test_no_note_that_is_scored_is_learned_from_by_way_of_an_added_corpus() -> None:
    training, test = (synthesize(n, seed=n, language="sv") for n in (8, 4))
    settings = quick_berg()
    with pytest.raises(
        SettingsError, match="all 4 notes of added corpus 1 are of patients, by their ids, or have texts"
    ):
        reproduce("berg2019-crf", training, test, settings, added=[test])
    with pytest.raises(SettingsError, match="none can be learned from"):
        reproduce("berg2019-crf", training, test, settings, added=[from_elsewhere(test, "x")])
    with pytest.raises(SettingsError, match="columns of 2 added corpora, not of 3"):
        reproduce("berg2019-crf", training, test, settings, added=[training] * 3)
    with pytest.raises(SettingsError, match="columns of 0 added corpora, not of 1"):
        reproduce("trienes2020", training, test, EngineSettings.preset("trienes2020"), added=[training])


def test_it_is_said_how_many_added_notes_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    training, test, added = (synthesize(n, seed=n, language="sv") for n in (6, 2, 5))
    settings = quick_berg()
    found = reproduce("berg2019-crf", training, test, settings, added=[added], cache=tmp_path)
    left = sum(d.group not in {note.group for note in test.documents} for d in added.documents)
    assert 0 < left < 5 and f"and {left} of its notes where" in found.origin.protocol
    assert f"of the 5 notes of added corpus 1, {5 - left} are of patients of the test notes" in caplog.text


def test_the_fit_for_other_notes_leaves_out_what_is_added_of_their_patients() -> None:
    training, test, added = (synthesize(n, seed=n, language="sv") for n in (8, 2, 6))
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
    rows = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["tables"]["4"]
    assert [values is None for values in rows[-1]["ours"].values()] == [False, False, True]
    status, _, said = phistack(*args, "--out", tmp_path / "other", "--add", tmp_path / "none.jsonl")
    assert status == 1 and "none.jsonl" in said and not (tmp_path / "other").exists()
