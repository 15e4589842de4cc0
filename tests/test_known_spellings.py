"""A roster's names are found in any spelling, and a roster of other patients stops the run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import Columns, RunSettings, deidentify
from phistack.ensemble.batch.reports.shown_summary import held_back
from phistack.ensemble.batch.rows import FormatSettings
from phistack.ensemble.stacking.known.identifiers import RecordSearch
from phistack.ensemble.stacking.known.roster import Roster
from phistack.features.documents import Document
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from tests.batch_runs import run_over
from tests.fixture_types import Phistack

SEARCH = RecordSearch(LabelSet.named("i2b2-2014"), "en")


def found(text: str, **record: str) -> list[str]:
    """What is accepted in a text because of a record."""
    index = SEARCH.index({role: (value,) for role, value in record.items()})
    return [text[d.span.start : d.span.end] for d in SEARCH.added(Document("1", text), [], index) if d.accepted]


@pytest.mark.parametrize(
    ("name", "text", "mentions"),
    [
        ("Anselm Birchwood", "see #AnselmBirchwood today", ["AnselmBirchwood"]),
        ("Anselm Birchwood", "AnselmBirchwood@ or BirchwoodAnselm", ["AnselmBirchwood", "BirchwoodAnselm"]),
        ("Anselm Birchwood", "anselmbirchwood, pt_name=anselm_birchwood;", ["anselmbirchwood", "anselm_birchwood"]),
        ("Anselm Quentin Birchwood", "PID|BIRCHWOOD^ANSELM^Q|M", ["BIRCHWOOD^ANSELM^Q"]),
        ("Anselm Birchwood", "Birch-\nwood; Birch wood.", ["Birch-\nwood", "Birch wood"]),
        ("Anselm Birchwood", "seen B i r c h w o o d here", ["B i r c h w o o d"]),
        ("Anselm Birchwood", "Bir·ch_wood and An/selm", ["Bir·ch_wood", "An/selm"]),
        ("Anselm Birchwood", "to=Anselm%20Birchwood&x", ["Anselm%20Birchwood"]),
        ("Anselm Birchwood", "&#65;nselm, <b>Birch</b>wood", ["&#65;nselm, <b>Birch</b>wood"]),
        ("José Soto", "Jos=C3=A9 So=\nto, Jos%c3%a9", ["Jos=C3=A9 So=\nto", "Jos%c3%a9"]),
        ("Hilda Quackenbush", "quackenbush123; hquackenbush2", ["quackenbush", "hquackenbush"]),
        ("Guadalupe Soto", "Then Lupe came.", ["Lupe"]),
        ("Lupe Soto", "Then Guadalupe came.", ["Guadalupe"]),
        ("Åse Østergård", "aase and oestergaard and Ostergard", ["aase", "oestergaard", "Ostergard"]),
        ("Aase Oestergaard", "Åse and Østergaard", ["Åse", "Østergaard"]),
        ("Karl Müller-Lüdenscheid", "muellerluedenscheid", ["muellerluedenscheid"]),
        ("Ian MacDonald", "mac donald; Macdonald; Mac Donald", ["mac donald", "Macdonald", "Mac Donald"]),
        ("王伟", "患者王伟今天入院", ["王伟"]),
        ("田中 太郎", "田中さんは田中太郎です", ["田中", "田中太郎"]),
        ("김민수", "김민수는 왔다", ["김민수"]),
    ],
)  # fmt: skip
def test_a_name_is_found_in_user_names_other_letters_and_with_signs(name: str, text: str, mentions: list[str]) -> None:
    assert found(text, name=name) == mentions


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Ann Donald", "Dr. McDonald, Hillary, macdonaldson"),
        ("Isa Ona Hill", "it is a place on a hill, in-a-row"),
        ("Ted Rain", "the train left in the rain"),
        ("Guadalupe Soto", "with pita bread and lupe"),
        ("William Hope", "we will bill you and hope"),
        ("Maximilian Newman", "max 4 g a day; a new man"),
    ],
)
def test_words_that_only_have_the_letters_of_a_name_stay(name: str, text: str) -> None:
    assert found(text, name=name) == []


@pytest.mark.parametrize("sign", [" ", "-", "_", ".", "/", "^", "\u2800", "\u20dd", "·", "|", "\t", "~"])
def test_numbers_are_found_with_any_sign_between_their_digits(sign: str) -> None:
    for role, value in (("record_number", "7284519"), ("telephone", "6175550123")):
        spaced = sign.join(value)
        assert found(f"no. {spaced} is known", **{role: value}) == [spaced]
    assert found("MRN7284519", record_number="7284519") == ["7284519"]
    assert found("MRN=2045519, 7284%2045", record_number="2045519") == ["2045519"]
    assert found("+496175550123", telephone="06175550123") == ["+496175550123"]


@pytest.fixture
def run(tmp_path: Path) -> RunSettings:
    """A run over a table with a kept column, and a roster of one of its two patients."""
    rows = [
        {"id": "110-01", "ward": "7B", "text": "Seen at home."},
        {"id": "110-02", "ward": "Hilda Quackenbush 7B", "text": "Seen at home."},
        {"id": "111-01", "ward": "hope", "text": "Seen at home."},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "roster.csv").write_text("patient,name,mrn\n110,Hilda Quackenbush,110\n")
    kept = Columns(others={"id": "keep", "ward": "keep"})
    return run_over(tmp_path / "in.jsonl", kept, known=tmp_path / "roster.csv")


def test_a_name_of_the_roster_in_a_kept_column_holds_the_note_back(run: RunSettings) -> None:
    summary = deidentify(run)
    assert [json.loads(line)["id"] for line in run.target.read_text().splitlines()] == ["110-01", "111-01"]
    (reason,) = held_back(summary)
    assert "1 note held back: a name of the roster is in what is kept as it is: ward; redact or remove" in reason
    assert "Quackenbush" not in json.dumps(summary.to_dict())
    kept = replace(run, policy=run.policy.with_overrides({"PATIENT": "keep"}), target=run.target.with_name("o.jsonl"))
    assert deidentify(kept).quarantined == 0


def test_a_name_of_the_roster_in_an_id_or_a_file_name_holds_the_note_back(run: RunSettings, tmp_path: Path) -> None:
    row = {"id": "HildaQuackenbush-3", "group": "110", "text": "Seen."}
    run.source.write_text(json.dumps(row) + "\n")
    kept = FormatSettings(Columns(others={"id": "keep", "group": "keep"}))
    assert "kept as it is: id" in held_back(deidentify(replace(run, form_settings=kept)))[0]
    notes = tmp_path / "notes"
    (notes / "of quackenbush").mkdir(parents=True)
    (notes / "of quackenbush" / "110-01.txt").write_text("Seen.")
    (notes / "110-02.txt").write_text("Seen.")
    summary = deidentify(replace(run, source=notes, target=tmp_path / "out", form_settings=FormatSettings()))
    assert summary.quarantined == 1 and "kept as it is: the names of files" in held_back(summary)[0]


def test_a_roster_that_fits_no_note_stops_the_run_unless_that_is_confirmed(run: RunSettings, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("patient,name\nMRN-110,Hilda Quackenbush\n")
    with pytest.raises(SettingsError, match=r"none of the 3 notes is of a patient in the roster .*--unmatched-roster"):
        deidentify(run)
    assert not run.target.exists() and not run.work.exists()
    assert deidentify(replace(run, unmatched_roster=True)).not_in_roster == 3


def test_annotate_stops_at_a_roster_that_fits_no_note(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "110-01.txt").write_text("Patient Hilda Quackenbush fell.")
    (tmp_path / "roster.csv").write_text("patient,name\n111,Hilda Quackenbush\n")
    given: tuple[Any, ...] = ("annotate", tmp_path / "110-01.txt", tmp_path / "out", "--model", "english")
    status, _, error = phistack(*given, "--known", tmp_path / "roster.csv")
    assert status == 1 and "none of the 1 notes is of a patient in the roster" in error
    assert not (tmp_path / "out").exists()
    assert phistack(*given, "--known", tmp_path / "roster.csv", "--unmatched-roster")[0] == 0


def test_a_wrong_column_taken_for_the_patient_is_refused(tmp_path: Path) -> None:
    rows = "".join(f"1,Ann Hill{i}\n" for i in range(1500))
    (tmp_path / "roster.csv").write_text("patient,name\n" + rows)
    with pytest.raises(SettingsError, match="has 1500 different rows for one patient: a wrong column"):
        Roster.open(tmp_path / "roster.csv")
    (tmp_path / "roster.csv").write_text("patient,name\n" + "1,Ann Hill\n" * 1500)
    assert Roster.open(tmp_path / "roster.csv").record("1") == {"name": ("Ann Hill",)}
