"""TBED behind the submodels' interface."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document
from phistack.features.errors import SettingsError, TrainingError
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Submodel
from phistack.submodels.regex.scanner import Match, Scanner
from phistack.submodels.regex.submodel import RegexSubmodel
from phistack.submodels.tbed.submodel import STARTS, TbedSubmodel
from tests.annotated import annotated

STRICT = {"choose_precision": 1.0}
NAMES = ("Smith", "Jones", "Rivera", "Okafor", "Lindqvist", "Tanaka", "Weber", "Novak")


def note(number: int, name: str) -> Document:
    dr, age = f"[{name}|DOCTOR]", f"[{40 + number}|AGE]"
    return annotated(f"Doctor: {dr}\nSeen by Dr {dr} today, aged {age} years.\nPlan: rest.", f"n{number}", f"p{number}")


@pytest.fixture(scope="module")
def tables() -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings()).fit([note(i, name) for i, name in enumerate(NAMES)])


def unseen(tables: list[FeatureTable]) -> list[FeatureTable]:
    return tables[0].space.tables([note(20, "Quarry"), Document("none", "")])


@pytest.mark.parametrize("start", STARTS)
def test_it_finds_what_it_learned_and_is_the_same_after_saving(
    tables: list[FeatureTable], start: str, tmp_path: Path
) -> None:
    model = TbedSubmodel(start=start, held_out=0.25).fit(tables, seed=1)
    assert isinstance(model, Submodel)
    found, nothing = model.propose(unseen(tables))
    assert {candidate.span for candidate in found} == set(note(20, "Quarry").spans)
    assert nothing == []
    assert all(0 < candidate.score <= 1 and candidate.chosen and candidate.evidence for candidate in found)
    model.save(tmp_path)
    again = TbedSubmodel.load(SavedFiles.of_folder(tmp_path), tables[0].space)
    assert again.rules_ == model.rules_
    assert again.settings() == model.settings()
    assert [(c.span, c.evidence) for c in again.propose(unseen(tables))[0]] == [(c.span, c.evidence) for c in found]


def test_candidates_name_their_rule(tables: list[FeatureTable]) -> None:
    model = TbedSubmodel(start="empty", held_out=0).fit(tables)
    evidence = {c.evidence for note_candidates in model.propose(tables) for c in note_candidates}
    rules = {f"rule {number}: {rule}" for number, rule in enumerate(model.rules_.rules, 1)}
    assert evidence
    assert evidence <= rules


def test_a_note_is_searched_once_for_the_regex_submodel_and_for_tbed(
    tables: list[FeatureTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    find = Scanner.find

    def counted(scanner: Scanner, texts: Sequence[str], language: str) -> Iterator[Match]:
        searched.extend(texts)
        return find(scanner, texts, language)

    regex, stricter, others = (RegexSubmodel(**given).fit(tables) for given in ({}, STRICT, {"label_set": "i2b2-2014"}))
    tbed = TbedSubmodel().fit(tables)
    notes = unseen(tables)
    texts = [table.document.text for table in notes]
    sent = pickle.dumps(notes)
    monkeypatch.setattr(Scanner, "find", counted)
    found = regex.propose(notes)
    assert pickle.dumps(notes) == sent, "what one submodel found is no part of a note's table"
    tbed.propose(notes)
    assert searched == texts
    stricter.name = "regex-2"
    assert [[c.span for c in of_note] for of_note in stricter.propose(notes)] == [[c.span for c in n] for n in found]
    assert [c for of_note in stricter.propose(notes) for c in of_note if c.chosen or c.source != "regex-2"] == []
    assert searched == texts
    others.propose(notes)
    assert searched == 2 * texts


def test_a_rule_that_was_switched_off_in_the_file_is_not_applied(tables: list[FeatureTable], tmp_path: Path) -> None:
    TbedSubmodel(start="empty", held_out=0).fit(tables).save(tmp_path)
    rules = tmp_path / "rules.txt"
    rules.write_text("".join(f"off {line}\n" for line in rules.read_text(encoding="utf-8").splitlines()), "utf-8")
    assert TbedSubmodel.load(SavedFiles.of_folder(tmp_path), tables[0].space).propose(tables) == [[] for _ in tables]


def test_settings_and_notes_that_cannot_work(tables: list[FeatureTable], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no template set named"):
        TbedSubmodel(templates="nowhere").fit(tables)
    wrong = tmp_path / "templates.txt"
    wrong.write_text("word[0]\nkye[0] & tag[1]\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="names kye, which is not a feature column"):
        TbedSubmodel(start="empty", templates=str(wrong)).fit(tables)
    bare = [table.space.table(table.document.with_spans(())) for table in tables]
    with pytest.raises(TrainingError, match="none of the 8 notes"):
        TbedSubmodel().fit(bare)
