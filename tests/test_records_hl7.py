"""HL7 v2 in batch runs: the lines of a report are one note, values go by their rules, bad input has one outcome."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, audit_run, deidentify
from phistack.ensemble.engine import Engine
from phistack.features.formats import read_corpus
from tests import batch_engines
from tests.batch_runs import KEY, quarantine, run_over

HEAD = r"MSH|^~\&|LAB|HILL GENERAL|EHR|X|202103051015||ORU^R01|17|P|2.5"
PID = "PID|1||M-4711^^^HILL^MR||Hill^Ann^^^Mrs.||195004030930|F|||12 Oak Street^^Oakham^IL^62704^USA||(555)555-0123"
REPORT = (
    "PV1|1|I|W7^12^A^HILL||||1234^Ames^Bo^^^Dr.",
    "OBR|1|ORD-4711|FIL-4711|11506-3^Note^LN|||20210305",
    "OBX|1|TX|11506-3^Note^LN||Patient Ann",
    r"OBX|2|TX|11506-3^Note^LN||Hill \T\ son, MRN M-4711\.br\saw Dr. Ames on 03/05/2021.",
    "OBX|3|NM|2345-7^GLU^LN||5.10|mmol/L",
    "OBX|4|ED|PDF^Report of Ann Hill||^^^Base64^SGlsbA==",
    "NTE|1||Mrs. Hill called~twice",
    "ZPD|Hill|1",
)
SECRETS = ("Hill", "HILL", "Ann", "4711", "1950", "Oak", "555-0123", "Ames", "1234", "SGls")


def message(*segments: str, end: str = "\r") -> str:
    return "".join(segment + end for segment in segments)


def run(folder: Path, content: str, policy: str = "tag", encoding: str = "utf-8") -> RunSettings:
    source = folder / "in.hl7"
    source.write_bytes(content.encode(encoding))
    return run_over(source, Columns(), policy, KEY, form="hl7")


def values(path: Path) -> dict[str, list[list[str]]]:
    """Segment -> the fields of each."""
    found: dict[str, list[list[str]]] = {}
    for segment in path.read_text().splitlines():
        found.setdefault(segment[:3], []).append(segment.split("|"))
    return found


def test_a_message_comes_out_with_its_values_by_their_rules(tmp_path: Path) -> None:
    done = run(tmp_path, message(HEAD, PID, *REPORT))
    assert deidentify(done).quarantined == 0 and not audit_run(done.target).problems
    written, of = done.target.read_bytes().decode(), values(done.target)
    assert not [secret for secret in SECRETS if secret in written]
    assert written.count("\r") == 10 and written.startswith("MSH|^~\\&|||||[DATE]||ORU^R01|")
    assert of["PID"][0][5] == "[PATIENT]^[PATIENT]^^^Mrs." and of["PID"][0][8] == "F"
    assert of["PID"][0][11].endswith("^USA") and of["PV1"][0][3] == "W7^12^A^"
    lines = [segment[5] for segment in of["OBX"]]
    assert lines[0] == r"Patient [PATIENT] \T\ son, MRN [MEDICALRECORD]\.br\saw Dr. [DOCTOR] on [DATE]."
    assert lines[1:] == ["", "5.10", "^^^^"] and of["OBX"][2][6] == "mmol/L"
    assert of["NTE"][0][3] == "Mrs. [PATIENT] called~twice" and of["ZPD"][0] == ["ZPD", "", ""]


@pytest.mark.parametrize("policy", ["remove", "safe-harbor"])
def test_every_policy_comes_through(tmp_path: Path, policy: str) -> None:
    done = run(tmp_path, message(HEAD, PID, *REPORT), policy)
    assert deidentify(done).quarantined == 0 and "Hill" not in done.target.read_text()


def test_dates_stay_dates_and_a_patient_has_one_code_in_all_messages(tmp_path: Path) -> None:
    content = message("FHS|x", "BHS|x", HEAD, PID, *REPORT, "BTS|1") + message(HEAD.replace("|17|", "|18|"), PID)
    done = run(tmp_path, f"\x0b{content}\x1c\r", "surrogate")
    assert deidentify(done).notes == 2
    of = values(done.target)
    first, second = of["PID"]
    assert first == second and first[7].endswith("0930") and len(first[7]) == 12 and first[7] != "195004030930"
    assert of["MSH"][0][9] != of["MSH"][1][9] and first[5].split("^")[0] in of["OBX"][1][5], "names fit"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_other_separators_stay(tmp_path: Path, end: str) -> None:
    other = str.maketrans("|^~\\&", "#*+!$")
    done = run(tmp_path, message(HEAD, PID, *REPORT, end=end).translate(other) + message(HEAD, PID, end=end))
    assert deidentify(done).quarantined == 0
    written = done.target.read_bytes().decode()
    assert written.count(end) == 12 and "Patient [PATIENT] !T! son" in written and "Hill" not in written


BAD = {
    "separators": (message(r"MSH|^^\&|LAB|||||||17|P|2.5", PID), "not begin with MSH and five different separators"),
    "wrong": (message(HEAD, PID.replace("|", ";")), "is not a segment: its name or its separator is wrong"),
    "cut": (HEAD[:30] + "\r", "a message of no version of HL7"),
    "version": (message(HEAD.replace("|2.5", "|Hill"), PID), "a message of no version of HL7"),
    "text": ("Patient Ann Hill\r", "not begin with MSH"),
}


def test_what_is_wrong_with_a_message_holds_back_that_one_alone(tmp_path: Path) -> None:
    good = message(HEAD, PID, *REPORT)
    done = run(tmp_path, BAD["text"][0] + "".join(text for text, _ in [*BAD.values()][:-1]) + good)
    assert deidentify(done).notes == len(BAD) + 1
    reasons = [held["reason"] for held in quarantine(done)]
    for (_, expected), reason in zip([BAD["text"], *[*BAD.values()][:-1]], reasons, strict=True):
        assert expected in reason and "Hill" not in reason
    assert done.target.read_text().count("MSH") == 1


def test_a_cut_message_is_as_safe_and_other_encodings_are_read(tmp_path: Path) -> None:
    done = run(tmp_path, message(HEAD, PID, *REPORT)[:-170])
    assert deidentify(done).quarantined == 0 and "Hill" not in done.target.read_text()
    latin = run(tmp_path, message(HEAD, PID, "NTE|1||Señora Hill"), encoding="cp1252")
    assert deidentify(replace(latin, target=tmp_path / "held.hl7")).quarantined == 1
    read = replace(latin, form_settings=FormatSettings(encoding="cp1252"), target=tmp_path / "read.hl7")
    assert deidentify(read).quarantined == 0
    assert "Señora [PATIENT]" in read.target.read_text("cp1252")
    done.source.write_text(message(HEAD, PID, *REPORT))
    assert read_corpus(done.source, format="hl7").documents[0].text.startswith("Patient Ann\nHill & son, MRN")


def test_a_number_of_years_is_an_age(tmp_path: Path) -> None:
    ages = ("OBX|1|NM|30525-0^Age^LN||93|a", "OBX|2|NM|30525-0^Age^LN||61|YR", "OBX|3|NM|2345-7^GLU^LN||93|mg/dL")
    done = run(tmp_path, message(HEAD, PID, *ages), "safe-harbor")
    deidentify(done)
    old, young, other = (segment[5] for segment in values(done.target)["OBX"])
    assert old and "93" not in old and (young, other) == ("61", "93")


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3", "2.7"])
def test_numbers_and_names_of_old_and_withdrawn_types_do_not_stay(version: str, tmp_path: Path) -> None:
    person = "PID|1|4711|4712^3^M10|4713|Hill^Ann||19500403||Quux||||||||||4714|123-45-6789|DL4715"
    visit = "PV1|1|I|||||||||||||||||4716"
    parts = (visit, "IN2|1|4717|123-45-6789||||4718", "OBR|1|4719|4720", "GT1|1|4721", "OBX|1|NM|x||5550123456~47.2")
    done = run(tmp_path, message(HEAD.replace("|2.5", f"|{version}"), person, *parts))
    assert deidentify(done).quarantined == 0
    written = done.target.read_text()
    assert not re.findall(r"47\d\d|Quux|6789|555|HILL", written) and written.rstrip().endswith("~47.2")


def test_escapes_hide_no_name_and_a_line_end_in_them_is_one_of_the_note(tmp_path: Path) -> None:
    person = PID.replace("Hill", "Garc\u00eda")
    done = run(tmp_path, "\ufeff" + message(HEAD, person, r"NTE|1||Garc\XC3AD\a,\X0D0A\Garc\Xc3ad\a"))
    assert deidentify(done).quarantined == 0
    assert values(done.target)["NTE"][0][3] == r"[PATIENT],\.br\[PATIENT]"


def test_identifiers_of_a_killed_run_are_in_its_folder_and_go_with_it(tmp_path: Path) -> None:
    done, seen = run(tmp_path, message(HEAD, PID, *REPORT)), list[str]()

    def load(bundle: Path) -> Engine:
        seen.append((done.work / "identifiers.jsonl").read_text())
        return batch_engines.quick(bundle)

    done.work.mkdir()
    (done.work / "identifiers.jsonl").write_text("left by a killed process")
    deidentify(replace(done, load=load))
    assert "Hill" in seen[0] and "killed" not in seen[0] and not done.work.exists()


def test_two_processes_change_nothing(tmp_path: Path) -> None:
    one = run(tmp_path, message(HEAD, PID, *REPORT) * 3)
    two = replace(one, target=tmp_path / "two.hl7", jobs=2)
    assert deidentify(one).notes == deidentify(two).notes == 3
    assert one.target.read_bytes() == two.target.read_bytes()
