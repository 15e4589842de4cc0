"""`phistack sample`: notes to read, and the bound that follows from reading them."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from phistack.ensemble.batch.sampling import draw, draw_patients
from phistack.ensemble.evaluation.bounds import units_for_mean
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Document
from phistack.features.formats import read_corpus, write_corpus
from tests.fixture_types import Phistack


def test_notes_that_came_out_are_drawn(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for number in range(12):
        text = "Seen by Dr. Birchwood for chest pain; she was sent home." if number else "Пациентка поступила с болью."
        (tmp_path / "notes" / f"{number}.txt").write_text(text, encoding="utf-8")
    status, _, error = phistack("deidentify", tmp_path / "notes", tmp_path / "out", "--model", "english")
    assert status == 3 and "1 of 12 notes are in quarantine" in error
    status, shown, error = phistack("sample", tmp_path / "out", "--notes", "5")
    assert status == 0, error
    assert "5 of the 11 notes that came out" in shown and "If none has one, at most 45.07 %" in shown
    drawn = [line for line in shown.splitlines() if re.fullmatch(r"\d+(\.txt)?", line)]
    assert len(set(drawn)) == 5 and not {"0", "0.txt"} & set(drawn)
    assert phistack("sample", tmp_path / "out", "--notes", "5")[1] == shown
    assert draw(tmp_path / "out", 5, seed=1) != draw(tmp_path / "out", 5, seed=0)
    assert len(draw(tmp_path / "out", 50).sample) == 11
    assert phistack("sample", tmp_path / "out", "--notes", "5", "--list", tmp_path / "read.tsv")[0] == 0
    assert (tmp_path / "read.tsv").read_text(encoding="utf-8").count("\n") == 5
    status, _, error = phistack("sample", tmp_path / "notes")
    assert status == 1 and "is not the output of a finished run" in error


def test_notes_to_annotate_are_all_notes_of_patients_drawn_at_random(phistack: Phistack, tmp_path: Path) -> None:
    corpus = synthesize(60, seed=5)
    write_corpus(corpus, tmp_path / "notes", format="brat")
    of_patient = Counter(document.group for document in corpus.documents)
    command = ("sample", tmp_path / "notes", "--to")
    status, said, error = phistack(*command, tmp_path / "drawn", "--max-leak", 0.2, "--confidence", 0.9)
    assert status == 0, error
    drawn = read_corpus(tmp_path / "drawn").documents
    found = Counter(document.group for document in drawn)
    assert len(found) == units_for_mean(0.2, 0.9) and found.items() <= of_patient.items()
    assert not any(document.spans for document in drawn) and "are left on average, with 90% confidence" in said
    assert phistack(*command, tmp_path / "ten", "--notes", 10, "--seed", 1)[0] == 0
    ten = read_corpus(tmp_path / "ten").documents
    assert 10 <= len(ten) < 10 + max(of_patient.values()) and {d.group for d in ten} != {*found}
    text = "".join(f'{{"id": "n{n}", "text": "Well.", "group": "p{n % 3}"}}\n' for n in range(9))
    (tmp_path / "n.jsonl").write_text(text)
    for_file = ("sample", tmp_path / "n.jsonl", "--notes", 4, "--to")
    assert "give --to a .jsonl file" in phistack(*for_file, tmp_path / "x")[2]
    assert phistack(*for_file, tmp_path / "some.jsonl")[0] == 0
    assert len({document.group for document in read_corpus(tmp_path / "some.jsonl").documents}) == 2
    for option, reported in (
        (("--to", tmp_path / "x", "--max-leak", 0.01), "patients to draw from, and 308 are needed"),
        (("--to", tmp_path / "x", "--notes", 61), "there are 60 notes to draw from, and 61 are needed"),
        (("--max-leak", 0.01), "name a folder for them with --to"),
        (("--stratify", "x"), "--stratify is for notes to annotate"),
        (("--to", tmp_path / "x", "--stratify", "/"), "the pattern of --stratify is found in none of the 60 names"),
        (("--to", tmp_path / "ten"), "is already there"),
    ):
        status, _, error = phistack("sample", tmp_path / "notes", *option)
        assert status == 1 and reported in error and not (tmp_path / "x").exists()


@pytest.mark.parametrize("strata", ["", "aabbb"])
def test_every_patient_has_the_same_chance_to_be_drawn(strata: str) -> None:
    documents = [Document(f"{patient}-{n}", "Well.") for patient in range(5) for n in range(patient + 1)]
    documents = [replace(document, group=document.id.partition("-")[0]) for document in documents]
    of_notes = [strata[int(document.group)] for document in documents] if strata else ()
    draws = (draw_patients(documents, patients=2, strata=of_notes, seed=seed) for seed in range(300))
    drawn = Counter(document.group for notes in draws for document in notes)
    chances = [drawn[str(patient)] / (patient + 1) / 300 for patient in range(5)]
    assert all(0.3 < chance < 0.5 for chance in chances)


def test_each_stratum_has_its_share_by_a_column_or_by_the_names_of_files(phistack: Phistack, tmp_path: Path) -> None:
    wards = {f"p{n:02d}": "eye" if n < 10 else "ear" for n in range(40)}
    header = ["id,group,text,ward"]
    rows = [f"{ward}-{patient}-{n},{patient},Well.,{ward}" for patient, ward in wards.items() for n in (1, 2)]
    (tmp_path / "notes.csv").write_text("\n".join(header + rows))
    command = ("sample", tmp_path / "notes.csv", "--notes", 24, "--stratify", "ward")
    for seed in range(3):
        drawn = tmp_path / f"{seed}.jsonl"
        status, said, error = phistack(*command, "--seed", seed, "--to", drawn)
        assert status == 0, error
        assert "12 of the 40 patients, drawn at random, of each of 2 strata its share" in said
        of_ward = Counter(wards[patient] for patient in {d.group for d in read_corpus(drawn).documents})
        assert of_ward == {"eye": 3, "ear": 9}
    wrong = phistack(*command[:-1], "wards", "--to", tmp_path / "x")
    assert wrong[0] == 1 and "has no column wards (did you mean ward?)" in wrong[2] and "--stratify" in wrong[2]
    for row in rows:
        folder = tmp_path / "notes" / row.rpartition(",")[2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"1{row[5:7]}-0{row[8]}.txt").write_text("Well.")
    by_folder = ("sample", tmp_path / "notes", "--notes", 24, "--stratify", "^.*/", "--to", tmp_path / "folder")
    assert phistack(*by_folder)[0] == 0
    of_ward = Counter(document.id[:3] for document in read_corpus(tmp_path / "folder").documents)
    assert of_ward == {"eye": 6, "ear": 18}
