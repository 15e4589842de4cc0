"""Under a release policy, what was found in one note of a patient does not stay in another."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import deidentify
from phistack.ensemble.deidentification import Policy, PolicyOptions
from phistack.ensemble.stacking.known.identifiers import unmarked
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from tests import batch_engines as engines
from tests.batch_runs import run_over

IS_WORD = WordCounts("en").is_word


def unmarked_in(*notes: Any, is_removed: Any = lambda label: True) -> Any:
    """The texts that must go too, for each note, given as text with its marked pieces and their labels."""
    pairs = []
    for i, (text, *marked) in enumerate(notes):
        spans = [Span(text.index(piece), text.index(piece) + len(piece), label) for piece, label in marked]
        pairs.append((Document(str(i), text, (), "p"), spans))
    more = unmarked(pairs, "en", IS_WORD, is_removed)
    return [[note.text[span.start : span.end] for span in spans] for (note, _), spans in zip(pairs, more, strict=True)]


def test_a_name_goes_wherever_it_stands_in_the_notes_of_the_patient() -> None:
    first = ("Smith, Dana\nPatient Dana Smith fell. dana is well.", ("Dana Smith", "PATIENT"))
    assert unmarked_in(first, ("SMITH left. Smithson came.",)) == [["Smith, Dana", "dana"], ["SMITH"]]


@pytest.mark.parametrize("word", ["Rose", "Brown", "Young", "Grace", "June", "Sol"])
def test_a_word_of_the_language_stays_unless_more_of_the_name_stands_beside_it(word: Any) -> None:
    seed = (f"Patient {word} Zelkowitz.", (f"{word} Zelkowitz", "PATIENT"))
    note = f"{word} came; {word.lower()} too. Zelkowitz, {word} left."
    assert unmarked_in(seed, (note,))[1] == [f"Zelkowitz, {word}"]


def test_numbers_go_from_six_characters_and_what_the_policy_keeps_stays() -> None:
    text = "MRN 046-81-66, bed 1234, Dr. Ames"
    marked = [("046-81-66", "MEDICALRECORD"), ("1234", "IDNUM"), ("Ames", "DOCTOR")]
    again = "046 81 66 and 1234 and Ames"
    assert unmarked_in((text, *marked), (again,))[1] == ["046 81 66", "Ames"]
    assert unmarked_in((text, *marked), (again,), is_removed=lambda label: label != "DOCTOR")[1] == ["046 81 66"]


def test_invisible_characters_inside_go_with_the_name() -> None:
    note = "Birch\u00adwood\u200b came"
    assert unmarked_in(("Dr. Birchwood", ("Birchwood", "DOCTOR")), (note,))[1] == ["Birch\u00adwood\u200b"]


@pytest.fixture
def run(tmp_path: Path) -> Any:
    texts = ["Selwyn, Ann: seen. Patient Ann Selwyn fell.", "Called selwyn; Grace period. Dr. Grace", "Selwyn sang."]
    lines = [{"id": id, "text": text} for id, text in zip(["100-01", "100-02", "101-01"], texts, strict=True)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run_over(tmp_path / "in.jsonl", policy="safe-harbor")


def texts_of(run: Any) -> Any:
    deidentify(run)
    return [json.loads(line)["text"] for line in run.target.read_text().splitlines()]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_for_release_leaves_no_found_name_in_the_patients_notes(run: Any, jobs: Any) -> None:
    assert texts_of(replace(run, jobs=jobs)) == [
        "[PATIENT]: seen. Patient [PATIENT] fell.",
        "Called [PATIENT]; Grace period. Dr. [DOCTOR]",
        "Selwyn sang.",
    ]
    summary = json.loads((run.reports / "summary.json").read_text())
    assert summary["PHI by label"] == {"DOCTOR": 1, "PATIENT": 3}


def test_a_policy_that_does_not_ask_for_it_leaves_what_was_not_found(run: Any) -> None:
    without = replace(Policy.named("safe-harbor"), options=PolicyOptions(seek_again=False))
    assert texts_of(replace(run, policy=without))[0] == "Selwyn, Ann: seen. Patient [PATIENT] fell."


def test_policies_for_release_seek_again_and_the_option_is_checked() -> None:
    seeking = {name for name in Policy.names() if Policy.named(name).options.seek_again}
    assert seeking == {
        "safe-harbor", "limited-data-set", "surrogate", "surrogate-changing", "i2b2-2014", "ngrid-2016", "meddocan",
        "nut", "stockholm-epr-phi",
    }  # fmt: skip
    with pytest.raises(SettingsError, match="seek_again"):
        PolicyOptions(seek_again="yes")
    assert Policy(options=PolicyOptions(seek_again=True)).digest != Policy().digest


def test_a_note_that_fails_keeps_nothing_from_the_others_of_the_patient(run: Any) -> None:
    """Names found in one note are searched for in the others, even if a note between them fails."""
    lines = [{"id": f"100-0{i}", "text": text} for i, text in enumerate(["Patient Ann Selwyn", "Dr. FAIL", "selwyn"])]
    run.source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert texts_of(replace(run, load=engines.faulty, second_pass=False)) == ["Patient [PATIENT]", "[PATIENT]"]
