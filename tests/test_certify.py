"""Certificates: a patient's identifiers that are left, counted by hand, and what the command says and refuses."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as replaced

from benchmarks.function_engine import FunctionEngine
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.certificate import certificate_for, certificates_of, read_certificate, with_certificate
from phistack.ensemble.bundles.files import engine_digest
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.engine import EngineOptions
from phistack.ensemble.evaluation.bounds import betting_upper, binomial_upper
from phistack.ensemble.experiments.certificate import Leaks, PatientLeaks, bounds_of, certify, summed
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError, SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.annotated import annotated
from tests.fixture_types import Phistack

LABELS = LabelSet.named("i2b2-2014")
PROGRAM = [sys.executable, "-c", "from phistack.ensemble.command_line.app import main; main()"]
NOTES = synthesize(42, seed=12)


def finding(pattern: str) -> FunctionEngine:
    """An engine that finds what a regular expression does."""
    return FunctionEngine(
        lambda note: [Decision(Span(*m.span(), "DOCTOR"), 0.9, True, ()) for m in re.finditer(pattern, note.text)]
    )


def left(pattern: str, policy: str, *notes: Document, direct: bool = False) -> list[PatientLeaks]:
    leaks = Leaks(Corpus(notes, LABELS), finding(pattern), Policy.named(policy))
    return summed(leaks.of(finding(pattern)), direct=direct)


def test_what_is_not_found_is_left_whole_and_what_is_found_in_part_by_its_letters() -> None:
    one = annotated("Dr. [Ann Hill|DOCTOR] saw [Bo Reed|PATIENT].")
    assert left("Hill", "tag", one) == [PatientLeaks((3 / 7, 1.0), (True,))]
    assert left("Ann Hill|Bo Reed", "tag", one) == [PatientLeaks((0.0, 0.0), (False,))]


def test_the_units_are_patients_and_notes_without_identifiers_do_not_count() -> None:
    notes = (
        annotated("[Ann Hill|PATIENT] came.", "1", "p"),
        annotated("[Ann|PATIENT] again.", "2", "p"),
        Document("3", "No pain.", (), "p"),
        Document("4", "Well.", (), "q"),
    )
    [patient] = left("Ann Hill", "tag", *notes)
    assert patient == PatientLeaks((0.0, 1.0), (False, True)) and (patient.share, patient.of_notes) == (0.5, 0.5)


def test_what_the_policy_keeps_is_no_identifier_and_places_are_not_direct() -> None:
    one = annotated("Seen in [2019|DATE] in [Salem|CITY], MRN [4711|MEDICALRECORD].")
    assert len(left("x", "tag", one)[0].left) == 3
    assert len(left("x", "safe-harbor", one)[0].left) == 2
    assert len(left("x", "safe-harbor", one, direct=True)[0].left) == 1


def test_bounds_are_those_of_the_patients() -> None:
    leaks = [PatientLeaks((0.0, 0.0), (False,))] * 80 + [PatientLeaks((0.5, 0.0), (True, False))] * 15
    leaks += [PatientLeaks((1.0, 0.0), (True,))] * 5
    bounds = bounds_of(leaks)
    assert (bounds.identifiers, bounds.patients) == (200, 100)
    assert bounds.anything == (0.2, binomial_upper(20, 100)) and bounds.whole == (0.05, binomial_upper(5, 100))
    assert bounds.share == (pytest.approx(0.0625), betting_upper([one.share for one in leaks]))
    assert bounds.notes[0] == pytest.approx(0.125)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certify") / "notes"
    write_corpus(NOTES, folder, format="brat")
    return folder


@pytest.fixture(scope="module")
def certificate(notes: Path) -> tuple[Path, str]:
    """The file that the command wrote, and what it printed."""
    out = notes.with_name("certificate.json")
    options = ("--model", "english", "--policy", "safe-harbor", "--max-leak", "0.3", "--out", out, "--into")
    done = subprocess.run(
        [*PROGRAM, "certify", notes, *options, out.with_name("certified.zip")],
        capture_output=True,
        text=True,
        check=True,
    )
    return out, done.stdout


def test_the_command_gives_bounds_of_each_choice_of_recall(certificate: tuple[Path, str]) -> None:
    out, said = certificate
    assert "Names, numbers and contacts" in said
    assert "certify no share of patients below" in said and "holds with --recall" in said
    text = out.read_text()
    found = json.loads(text)
    assert list(found["bounds"]) == ["everything", "high", "balanced", "precise"]
    shares = [of["all"]["share"][0] for of in found["bounds"].values()]
    assert shares == sorted(shares) and shares[0] < shares[-1] and found["allowed"][0] == "everything"
    assert not any(d.text[s.start : s.end] in text for d in NOTES.documents for s in d.spans if s.label == "PATIENT")


def test_a_run_repeats_its_certificate_on_the_terminal_in_the_summary_and_in_the_log(
    certificate: tuple[Path, str], tmp_path: Path, phistack: Phistack
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("Seen by Dr. Birchwood on 03/04/2021.")
    options = ("--model", "english", "--policy", "safe-harbor", "--certificate", certificate[0])
    status, _, said = phistack("deidentify", tmp_path / "in", tmp_path / "out", *options)
    sentence = re.search(r"certificate: (with 95 % confidence at most \d.*)", said)
    assert status == 0 and sentence is not None and "at most 30.00 % of a patient's identifiers" in sentence[1]
    # If a recall was chosen, the other figures need not hold.
    assert "one left whole" not in sentence[1]
    for name in ("summary.json", "audit.jsonl"):
        assert sentence[1] in (tmp_path / "out.run" / name).read_text()
    assert "Certificate: with 95 % confidence" in (tmp_path / "out.run" / "summary.html").read_text()


def test_a_certified_bundle_has_its_certificate_in_its_card_and_repeats_it_in_each_run_of_that_policy(
    certificate: tuple[Path, str], tmp_path: Path, phistack: Phistack
) -> None:
    certified = certificate[0].with_name("certified.zip")
    [own] = certificates_of(certified)
    assert own == read_certificate(certificate[0])
    card = phistack("engines", certified)[1]
    assert f"| safe-harbor | balanced | 0.95 | {own.bounds['balanced']['all'].share[1]:.4f}" in card
    assert own.method in card and own.corpus in card
    (tmp_path / "1.txt").write_text("Seen by Dr. Birchwood on 03/04/2021 for chest pain.")
    run = ("deidentify", tmp_path / "1.txt", "--model", certified, "--policy")
    said = phistack(*run, "safe-harbor", tmp_path / "out.txt")[2]
    assert f"certificate: {own.sentence('balanced')}" in said
    assert own.sentence("balanced") in (tmp_path / "out.txt.run" / "audit.jsonl").read_text()
    assert load_bundle(certified).names == load_bundle(bundle_path("english")).names


def test_a_bundle_has_one_certificate_for_each_policy(certificate: tuple[Path, str], tmp_path: Path) -> None:
    certified, own = certificate[0].with_name("certified.zip"), read_certificate(certificate[0])
    again, other = replaced(own, date="2000-01-01"), replaced(own, policy="0" * 64)
    with_certificate(certified, other, tmp_path / "two")
    with_certificate(tmp_path / "two", again, tmp_path / "three")
    assert certificates_of(tmp_path / "three") == (other, again)
    assert own.bundle == engine_digest(tmp_path / "three") == engine_digest(bundle_path("english"))
    with pytest.raises(SettingsError, match="is already there"):
        with_certificate(certified, own, tmp_path / "two")


def test_a_run_that_the_engine_was_not_certified_for_is_told_why(
    certificate: tuple[Path, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certified, policy = certificate[0].with_name("certified.zip"), Policy.named("safe-harbor")
    assert certificate_for(certified, policy, EngineOptions(recall="high")) is not None
    assert certificate_for(bundle_path("english"), policy, EngineOptions()) is None and not caplog.records
    assert certificate_for(certified, Policy.named("tag"), EngineOptions()) is None
    assert "not for this run: the certificate is about another policy" in caplog.text


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--model", "english"), "about another policy"),
        (("--model", "german", "--policy", "safe-harbor"), "about another engine"),
        (("--policy", "safe-harbor"), "about one engine"),
        (("--model", "english", "--policy", "safe-harbor", "--other-languages", "read"), "with --other-languages read"),
        (("--model", "english", "--policy", "safe-harbor", "--never", "never.txt"), "does not hold with --never"),
    ],
)
def test_a_certificate_of_something_else_is_refused(
    options: tuple[str, ...], reported: str, certificate: tuple[Path, str], tmp_path: Path, phistack: Phistack
) -> None:
    (tmp_path / "1.txt").write_text("Seen by Dr. Birchwood for chest pain; she was sent home on aspirin.")
    (tmp_path / "never.txt").write_text("aspirin\n")
    given = [tmp_path / option if option == "never.txt" else option for option in options]
    status, _, said = phistack(
        "deidentify", tmp_path / "1.txt", tmp_path / "out.txt", *given, "--certificate", certificate[0]
    )
    assert status and reported in said and not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("content", ["", "{}", '{"schema": "phistack.certificate.v1"}'])
def test_a_file_that_is_no_certificate_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(SettingsError, match="is not a certificate"):
        read_certificate(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (
            ("--max-leak", "0.001"),
            "patients cannot show that at most 0.10 % is left, even if nothing is; that takes 3,067",
        ),
        (("--policy", "safe"), "no policy named safe"),
    ],
)
def test_what_cannot_be_certified_is_one_sentence(
    options: tuple[str, ...], reported: str, notes: Path, phistack: Phistack
) -> None:
    status, said, reason = phistack("certify", notes, "--model", "english", *options)
    assert status and reported in reason and not said


def test_an_old_bundle_has_one_choice_of_recall() -> None:
    old = Path(__file__).parent / "golden" / "bundle_protocol_1.zip"
    assert [*certify(NOTES, old, Policy.named("tag")).bounds] == ["balanced"]


def test_a_bound_needs_patients_and_notes_that_the_engine_did_not_learn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(NOTES, documents=NOTES.documents[:12])
    with pytest.raises(EvaluationError, match="a bound needs 20 or more"):
        certify(few, bundle_path("english"), Policy.named("tag"), recalls=("balanced",))
    learned = "phistack.ensemble.experiments.certificate.read_manifest"
    from phistack.ensemble.training.fit_tasks import corpus_digest

    monkeypatch.setattr(learned, lambda _: {"trained_on": {"corpus SHA-256": corpus_digest(few.documents)}})
    with pytest.raises(EvaluationError, match="the engine learned from these notes"):
        certify(few, bundle_path("english"), Policy.named("tag"))
