"""FHIR in batch runs: notes are redacted, fields go by their rules, links hold, and bad input has one outcome."""

import base64
import gzip
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.function_engine import FunctionEngine
from phistack.ensemble.batch import Columns, RunSettings, audit_run, deidentify
from phistack.ensemble.batch.reports.shown_summary import statements
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from tests import batch_engines
from tests.batch_runs import KEY, quarantine, run_over
from tests.made_documents import pdf, shown

DIV = '<div xmlns="http://www.w3.org/1999/xhtml">{}</div>'
SECRETS = ("Hill", "Ann", "4711", "1950", "Oak", "555-0123", "pat-1", "Ames")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def note(text: str = "Patient Ann Hill (MRN M-4711) saw Dr. Ames.", kind: str = "text/plain", **more: Any) -> Any:
    attachment = {"contentType": kind, "data": encoded(text)} | more
    return {
        "resourceType": "DocumentReference", "id": "d1", "status": "current", "date": "2021-03-05T10:15:00+01:00",
        "subject": {"reference": "Patient/pat-1", "display": "Ann Hill"}, "content": [{"attachment": attachment}],
    }  # fmt: skip


PATIENT = {
    "resourceType": "Patient", "id": "pat-1", "identifier": [{"system": "urn:x:Hill", "value": "M-4711"}],
    "text": {"status": "generated", "div": DIV.format("<p>Patient <b>Ann</b> &eacute; born 1950</p>")},
    "name": [{"family": "Hill", "given": ["Ann"], "_family": {"extension": [{"url": "u", "valueString": "Hill"}]}}],
    "birthDate": "1950-04-03", "gender": "female", "telecom": [{"system": "phone", "value": "555-0123"}],
    "address": [{"line": ["1 Oak Street"], "city": "Oakham"}], "photo": [{"contentType": "image/png", "data": "AAAA"}],
}  # fmt: skip
OBSERVATION = {
    "resourceType": "Observation", "id": "o1", "status": "final", "subject": {"reference": "http://x/Patient/pat-1"},
    "code": {"coding": [{"system": "http://loinc.org", "code": "1-1"}]}, "effectiveDateTime": "1950",
    "note": [{"text": "Quiet night, said Hill"}], "contained": [{"resourceType": "Practitioner", "id": "p"}],
}  # fmt: skip


def run(folder: Path, *lines: Any, policy: str = "tag", **more: Any) -> RunSettings:
    source = folder / "in.ndjson"
    source.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return run_over(source, Columns(), policy, **({"key": KEY, "form": "fhir", "target": folder / "out.ndjson"} | more))


def written(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_bulk_export_comes_out_as_valid_resources_whose_links_still_hold(tmp_path: Path) -> None:
    from fhir.resources.R4B import get_fhir_model_class

    source, target = tmp_path / "export", tmp_path / "out"
    source.mkdir()
    for resource in (PATIENT, note(), OBSERVATION):
        kept = json.dumps({**resource, "extension": [{"url": "http://x/y", "valueDecimal": 1}]})
        (source / f"{resource['resourceType']}.ndjson").write_text(kept.replace('Decimal": 1', 'Decimal": 1.10') + "\n")
    done = run_over(source, Columns(), "tag", KEY, form="fhir", target=target)
    summary = deidentify(done)
    files = {path.stem: path.read_text() for path in target.iterdir()}
    patient, document, observation = (
        json.loads(files[name]) for name in ("Patient", "DocumentReference", "Observation")
    )
    for name, text in files.items():
        get_fhir_model_class(name).model_validate_json(text)
        assert not [secret for secret in SECRETS if secret in text]
        assert '"valueDecimal":1.10' in text, "numbers keep their digits"
    text = base64.b64decode(document["content"][0]["attachment"]["data"]).decode()
    assert text == "Patient [PATIENT] (MRN [MEDICALRECORD]) saw Dr. [DOCTOR].", "the number is known from the Patient"
    assert observation["note"] == [{"text": "Quiet night, said [PATIENT]"}], "the name too"
    assert patient["text"]["div"] == DIV.format("<p>Patient <b>[PATIENT]</b> é born [DATE]</p>")
    links = {of["subject"]["reference"] for of in (document, observation)}
    assert links == {f"Patient/{patient['id']}"} and len(patient["id"]) == 16
    assert patient["_birthDate"]["extension"][0]["valueString"] == "[DATE]" and patient["gender"] == "female"
    assert "photo" not in patient and "_family" not in patient["name"][0]
    assert summary.quarantined == 0 and not audit_run(target).problems
    shown = " ".join(statements(summary, target))
    assert "fields kept as they are: bool" in shown and "fields removed: other, Element.id" in shown


def test_dates_stay_dates_where_the_policy_writes_some(tmp_path: Path) -> None:
    done = run(tmp_path, PATIENT, note(), policy="surrogate")
    deidentify(done)
    patient, document = written(done.target)
    assert patient["birthDate"] != "1950-04-03" and len(patient["birthDate"]) == 10
    assert document["date"].endswith("T10:15:00+01:00") and document["date"][:10] != "2021-03-05"
    assert (
        f"Patient {patient['name'][0]['given'][0]} {patient['name'][0]['family']} (MRN"
        in base64.b64decode(document["content"][0]["attachment"]["data"]).decode()
    )


@pytest.mark.parametrize("policy", ["remove", "safe-harbor"])
def test_every_policy_comes_through(tmp_path: Path, policy: str) -> None:
    done = run(tmp_path, PATIENT, note(), OBSERVATION, nested(DIV.format("<i>Ann</i> <b>HILL </b>")), policy=policy)
    assert deidentify(done).quarantined == 0 and "Hill" not in done.target.read_text()


def test_an_attached_pdf_becomes_the_text_that_it_shows(tmp_path: Path) -> None:
    data = base64.b64encode(pdf(shown("Seen by Dr. Ames."))).decode()
    done = run(tmp_path, note(kind="application/pdf", data=data))
    assert deidentify(done).quarantined == 0
    attachment = written(done.target)[0]["content"][0]["attachment"]
    assert attachment["contentType"] == "text/plain; charset=utf-8"
    assert base64.b64decode(attachment["data"]) == b"Seen by Dr. [DOCTOR].\n"


def nested(text: str) -> Any:
    return {**PATIENT, "text": {"status": "generated", "div": text}}


BAD = {
    "cut": (json.dumps(note())[:-40], "not valid JSON"),
    "base64": (note(data="U2V*"), "not valid FHIR R4B at DocumentReference.content.attachment.data"),
    "latin": (note(data=base64.b64encode("Señor".encode("cp1252")).decode()), "an attachment is not utf-8 at byte 2"),
    "pdf": (note(kind="application/pdf"), "an attachment is not a PDF, or is damaged"),
    "image": (note(kind="image/png"), "an attachment is image/png, whose text cannot be read"),
    "odd": (note(kind="Ann Hill"), "an attachment is of an unknown type, whose"),
    "more": (note(kind="text/plain; charset=utf-8; name=Hill.txt"), "has more than a charset"),
    "rot13": (note(kind="text/plain; charset=rot13"), "an attachment is in an unknown encoding"),
    "address": (note(data=None, url="http://x/Hill"), "an attachment is given by its address only"),
    "resource": ({"resourceType": "Hill", "id": "1"}, "not a resource of a type that FHIR R4B has"),
    "element": ({**PATIENT, "Hill": 1}, "not valid FHIR R4B at Patient"),
    "date": ({**PATIENT, "birthDate": "Hill"}, "not valid FHIR R4B at Patient.birthDate"),
    "bundle": ({"resourceType": "Bundle", "type": "collection"}, "a Bundle, not one resource a line"),
    "twice": ('{"resourceType": "Patient", "id": "1", "id": "Hill"}', "an object with one name twice"),
    "array": ("[]", "not a resource of a type"),
    "type": ({"resourceType": "HumanName", "family": "Hill"}, "not a resource of a type"),
    "unclosed": (nested(DIV.format("<p>Hill")), "a narrative is not a well-formed div"),
    "bomb": (nested('<!DOCTYPE div [<!ENTITY a "Hill">]>' + DIV.format("&a;")), "a narrative is not a well-formed div"),
    "crossing": (nested(DIV.format("<p>Patient Ann</p><p>Hill.</p><p>Dr. Ames</p>")), "the format of the output"),
}


def test_what_is_wrong_with_a_resource_holds_back_that_one_alone_and_shows_no_text(tmp_path: Path) -> None:
    done = run(tmp_path, note(), *(line for line, _ in BAD.values()), PATIENT)
    summary = deidentify(done)
    assert summary.notes == len(BAD) + 2 and len(written(done.target)) == 2
    reasons = [held["reason"] for held in quarantine(done)]
    for (_, expected), reason in zip(BAD.values(), reasons, strict=True):
        assert expected in reason and "Hill" not in reason
    assert not audit_run(done.target).problems


def test_a_packed_file_that_is_cut_off_is_listed_and_the_other_files_come_out(tmp_path: Path) -> None:
    source = tmp_path / "export"
    source.mkdir()
    packed = gzip.compress("".join(json.dumps(note(str(random.random()))) + "\n" for _ in range(50)).encode())
    (source / "DocumentReference.ndjson.gz").write_bytes(packed[: len(packed) // 2])
    (source / "Patient.ndjson").write_text(json.dumps(PATIENT) + "\n")
    done = run_over(source, Columns(), "tag", KEY, form="fhir", target=tmp_path / "out", second_pass=False)
    assert deidentify(done).quarantined == 1 and len(written(done.target / "Patient.ndjson")) == 1
    assert "DocumentReference.ndjson.gz" in quarantine(done)[0]["place"]


def test_a_folder_without_any_file_of_the_format_is_no_finished_run(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "Patient.json").write_text(json.dumps(PATIENT))
    done = run_over(tmp_path / "export", Columns(), "tag", KEY, form="fhir", target=tmp_path / "out")
    with pytest.raises(CorpusError, match=r"holds no notes of the format fhir, whose files end in .ndjson, "):
        deidentify(done)
    assert not done.target.exists()


@pytest.mark.parametrize("text", ["", DIV.format(""), '<div xmlns="http://www.w3.org/1999/xhtml"/>', DIV.format(" ")])
def test_an_empty_narrative_is_no_reason_to_hold_back(tmp_path: Path, text: str) -> None:
    done = run(tmp_path, nested(text))
    assert deidentify(done).quarantined == 0 and len(written(done.target)) == 1


def test_notes_of_other_forms_are_read(tmp_path: Path) -> None:
    html = note("<p>Dr. Ames</p>", "text/html; charset=UTF-8")
    latin = note(kind="text/plain; charset=iso-8859-1", data=base64.b64encode(b"Dr. Am\xe9s").decode())
    binary = {"resourceType": "Binary", "id": "b1", "contentType": "text/plain", "data": encoded("Dr. Ames")}
    linked = note(data=None, url="http://x/Binary/b1")
    done = run(tmp_path, html, latin, binary, linked)
    assert deidentify(done).quarantined == 0
    first, second, third, fourth = written(done.target)
    texts = [base64.b64decode(of["content"][0]["attachment"]["data"]).decode() for of in (first, second)]
    assert texts == ["<p>Dr. [DOCTOR]</p>", "Dr. [DOCTOR]"] and base64.b64decode(third["data"]) == b"Dr. [DOCTOR]"
    assert fourth["content"][0]["attachment"]["url"] == f"Binary/{third['id']}"


def test_a_code_that_looks_like_none_goes_and_an_old_version_of_a_patient_is_that_patient(tmp_path: Path) -> None:
    coded = {"coding": [{"code": "Ann Hill"}, {"code": "10*3/uL"}]}
    old = {"reference": "Patient/pat-1/_history/2"}
    deidentify(run(tmp_path, PATIENT, OBSERVATION | {"code": coded, "subject": old}))
    patient, observation = written(tmp_path / "out.ndjson")
    assert observation["code"] == {"coding": [{"code": "10*3/uL"}]}
    assert observation["subject"]["reference"] == f"Patient/{patient['id']}"
    assert observation["note"] == [{"text": "Quiet night, said [PATIENT]"}]


def test_rules_can_be_changed_by_name_and_codes_need_a_key(tmp_path: Path) -> None:
    done = run(tmp_path, OBSERVATION)
    with pytest.raises(SettingsError, match=r"the ids of fhir that link records become codes .* give --key-file"):
        deidentify(run(tmp_path, OBSERVATION, key=None))
    with pytest.raises(CorpusError, match=r"there is no rule named Markdwn \(did you mean Markdown\?\)"):
        deidentify(run_over(done.source, Columns(others={"Markdwn": "keep"}), key=KEY, form="fhir"))
    kept = run_over(done.source, Columns(others={"Markdown": "remove"}), key=KEY, form="fhir")
    deidentify(kept)
    assert "note" not in written(kept.target)[0]


def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    lines = [{**note(), "id": f"d{n}", "subject": {"reference": f"Patient/p{n}"}} for n in range(140)]
    whole = run(tmp_path, PATIENT, *lines, second_pass=False, target=tmp_path / "whole.ndjson")
    deidentify(whole)
    n_read = iter(range(135))

    def stopping(path: Path) -> Any:
        engine = batch_engines.quick(path)
        decide = engine.decider  # type: ignore[attr-defined]

        def decider(document: Any) -> Any:
            if next(n_read, None) is None:
                raise KeyboardInterrupt
            return decide(document)

        return FunctionEngine(decider)

    stopped = run(tmp_path, PATIENT, *lines, second_pass=False, load=stopping)
    with pytest.raises(KeyboardInterrupt):
        deidentify(stopped)
    assert (stopped.work / "journal.sqlite").exists() and not stopped.target.exists()
    deidentify(replace(stopped, load=batch_engines.quick))
    assert stopped.target.read_bytes() == whole.target.read_bytes()


def test_processes_and_packing_change_nothing_and_every_command_reads_the_notes(tmp_path: Path) -> None:
    whole = run(tmp_path, note(), PATIENT)
    packed = run(tmp_path, note(), PATIENT, target=tmp_path / "again.ndjson.gz", jobs=2)
    deidentify(whole)
    deidentify(packed)
    assert gzip.decompress(packed.target.read_bytes()) == whole.target.read_bytes()
    corpus = read_corpus(whole.source, format="fhir")
    assert corpus.documents[0].text.startswith("Patient Ann Hill") and corpus.documents[0].group == "pat-1"
    with pytest.raises(CorpusError, match="fhir is read and not written by this command"):
        write_corpus(corpus, tmp_path / "x", format="fhir")


def test_a_quantity_in_years_is_an_age(tmp_path: Path) -> None:
    def measured(value: int, unit: str) -> Any:
        return OBSERVATION | {"valueQuantity": {"value": value, "system": "http://unitsofmeasure.org", "code": unit}}

    deidentify(run(tmp_path, measured(93, "a"), measured(61, "a"), measured(93, "kg"), policy="safe-harbor"))
    old, young, heavy = (resource["valueQuantity"] for resource in written(tmp_path / "out.ndjson"))
    assert "value" not in old and "93" not in json.dumps(old) and old["_value"]["extension"]
    assert (young["value"], heavy["value"]) == (61, 93)
