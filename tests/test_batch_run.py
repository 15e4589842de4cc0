"""Runs from outside: what comes out, what goes to quarantine, what is refused, what the reports say."""

import hashlib
import hmac
import json
import re
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import Columns, RunSettings, audit_run, deidentify
from phistack.ensemble.batch.journal import DoneChunk, Journal
from phistack.ensemble.batch.reports.audit import _START, _link
from phistack.ensemble.batch.reports.shown_summary import next_steps
from phistack.ensemble.batch.reports.summary import read_summary
from phistack.ensemble.batch.rows import FormatSettings, Part, Row, open_format
from phistack.ensemble.batch.run_folder import locked
from phistack.ensemble.batch.settings import key_from, policy_from, read_struck
from phistack.ensemble.batch.store import Store
from phistack.ensemble.batch.workers.job import NoteResult
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices
from phistack.ensemble.engine import EngineOptions
from phistack.ensemble.engine.steps import stretches
from phistack.ensemble.tools.clock import deadline
from phistack.ensemble.tools.progress import duration
from phistack.features.errors import BundleError, CorpusError, OverdueError, SettingsError, StorageError
from tests import batch_engines as engines
from tests.batch_runs import quarantine, run_over

KEY = b"8f3a5c1e9b7d2f4068acbd13579e2460"


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Settings of a run over a few notes, to be changed by tests."""
    write(tmp_path / "in.jsonl", [f"Patient Ann{i} Hill saw Dr. Ames on 03/12/2019." for i in range(9)])
    return run_over(tmp_path / "in.jsonl")


def write(path: Any, texts: Any) -> None:
    lines = [
        json.dumps({"id": f"{100 + i // 3}-0{i % 3 + 1}", "ward": i, "text": text}) for i, text in enumerate(texts)
    ]
    path.write_text("\n".join(lines) + "\n")


def lines(path: Any, *records: Any) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def texts(path: Any) -> Any:
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def key_file(path: Any, key: Any) -> None:
    path.touch(mode=0o600)
    path.write_bytes(key)


def test_every_note_comes_out_in_order_with_its_phi_replaced(run: RunSettings) -> None:
    summary = deidentify(run)
    assert texts(run.target) == ["Patient [PATIENT] saw Dr. [DOCTOR] on [DATE]."] * 9
    assert [json.loads(line)["ward"] for line in run.target.read_text().splitlines()] == list(range(9))
    assert (summary.notes, summary.quarantined, summary.by_label["DOCTOR"]) == (9, 0, 9)
    assert not run.work.exists()
    assert {path.name for path in run.reports.iterdir()} == {
        "audit.jsonl", "quarantine.jsonl", "replaced.jsonl", "review.tsv", "summary.html", "summary.json",
    }  # fmt: skip


def test_numbers_go_on_through_the_notes_of_a_patient(run: RunSettings) -> None:
    deidentify(replace(run, policy=Policy.named("number")))
    assert texts(run.target)[:4] == [
        "Patient [PATIENT-1] saw Dr. [DOCTOR-1] on [DATE-1].",
        "Patient [PATIENT-2] saw Dr. [DOCTOR-1] on [DATE-1].",
        "Patient [PATIENT-3] saw Dr. [DOCTOR-1] on [DATE-1].",
        "Patient [PATIENT-1] saw Dr. [DOCTOR-1] on [DATE-1].",
    ]


def test_surrogates_do_not_depend_on_the_order_of_notes(run: RunSettings) -> None:
    """A name has one surrogate, or its initial if the surrogate is itself a name in notes that are read together."""
    names = ("Ann", "Mary", "John", "Michael", "Smith", "Johnson", "Thomas", "Garcia", "Jonhson", "Ruby")
    bodies = [f"Patient {names[i % 4]} {names[i % 7]} saw Dr. {names[i % 10]} ok" for i in range(180)]
    records = [{"id": str(i), "group": f"p{i % 9}", "text": body} for i, body in enumerate(bodies)]
    found = []
    for order in (lambda r: r["group"], lambda r: int(r["id"]), lambda r: -int(r["id"]) * 7 % 180):
        lines(run.source, *sorted(records, key=order))
        target = run.target.with_name(f"{len(found)}.jsonl")
        deidentify(replace(run, policy=Policy.named("surrogate"), key=KEY, target=target))
        written = map(json.loads, target.read_text().splitlines())
        found.append({record["id"]: record["text"].split() for record in written})
    differing = 0
    for id in found[0]:
        for words in zip(*(notes[id] for notes in found), strict=True):
            differing += len(set(words)) > 1
            assert len({word[:1] for word in words}) == 1 and len({w for w in words if w[1:] != "."}) <= 1
    assert differing < 30, "of 540 names"


def test_a_note_that_fails_waits_or_cannot_be_read_goes_to_quarantine_and_the_others_come_out(run: RunSettings) -> None:
    write(run.source, ["Dr. Ames", "Dr. FAIL", "Dr. Hill", "Dr. WAIT", "Dr. Pell"])
    with run.source.open("ab") as file:
        file.write(b'{"id": "x", "text": "Dr. \xff secret"}\n{"id": "y", "text": "Dr. Last"}\n')
    summary = deidentify(replace(run, load=engines.faulty, timeout=0.2))
    assert texts(run.target) == ["Dr. [DOCTOR]"] * 4
    assert (summary.notes, summary.quarantined) == (7, 3)
    found = quarantine(run)
    assert found[0].pop("reason").startswith("ValueError in batch_engines.py line ")
    assert found == [
        {"id": "100-02", "place": "line 2"},
        {"id": "101-01", "place": "line 4", "reason": "it took longer than 0.2 seconds"},
        {"id": "line 6", "place": "line 6", "reason": "not UTF-8 at byte 25 of the record"},
    ]
    reported = b"".join(path.read_bytes() for path in run.reports.iterdir())
    assert not any(word in reported for word in (b"FAIL", b"WAIT", b"secret", b"quotes", b"Dr."))
    assert audit_run(run.target).problems == ()


def test_a_note_whose_output_cannot_be_checked_does_not_come_out(run: RunSettings) -> None:
    summary = deidentify(replace(run, load=engines.failing_second_pass))
    assert run.target.read_text() == "" and summary.quarantined == 9
    assert {problem["reason"].partition(" ")[0] for problem in quarantine(run)} == {"RuntimeError"}


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer and an exception of another thread block each other")
def test_time_is_limited_in_threads_too(tmp_path: Path) -> None:
    caught = []

    def work() -> None:
        try:
            with deadline(0.05, OverdueError):
                while True:
                    sum(range(100))
        except OverdueError:
            caught.append(True)
        with deadline(60, OverdueError):
            caught.append(False)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert caught == [True, False]


def test_a_note_that_the_encoding_cannot_express_goes_to_quarantine(run: RunSettings, tmp_path: Path) -> None:
    """ASCII cannot express Swedish surrogates; question marks must not replace what the output cannot hold."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "1.txt").write_text("Dr. Ames")
    run = replace(run, source=folder, target=tmp_path / "out", form_settings=FormatSettings(encoding="ascii"))
    form = open_format(folder, tmp_path / "out", run.form_settings)
    row = next(form.rows())
    result = NoteResult(("Dr. Ström",), record={})
    store = Store(tmp_path, None, form, b"0" * 32)
    assert store._encoded([(row, result)]) == form.encode([])
    assert result.problem == "the encoding ascii has no code for a character of the new text"


def test_what_is_left_of_a_patient_is_counted_and_listed_without_context(run: RunSettings) -> None:
    write(run.source, ["Patient Ann Hillard came.", "The wife of hillard, Mrs Hilard, called.", "Ann Hillard? Not 2."])
    summary = deidentify(run)
    assert summary.still_there == {"PATIENT": 1}
    review = [line.split("\t") for line in (run.reports / "review.tsv").read_text().splitlines()]
    assert [row[0] for row in review[4:]] == ["Hilard", "Hillard", "hillard", "Ann"]
    assert review[4][1:4] == ["0.200", "1", "1"] and review[4][5:] == ["25-31"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Patient Ann Hillard\tand Mrs Hilard called.", "Patient [...] and Mrs Hilard called."),
        ("Hilard called.\nShe left.", "Hilard called."),
    ],
)
def test_the_review_list_shows_lines_on_request_without_what_was_replaced(
    run: RunSettings, text: str, line: str
) -> None:
    write(run.source, [f"Patient Ann Hillard came.\n{text}"])
    deidentify(replace(run, review_lines=True))
    rows = [line.split("\t") for line in (run.reports / "review.tsv").read_text().splitlines()[4:]]
    assert (rows[0][0], rows[0][6]) == ("Hilard", line)


def test_words_of_dates_are_not_listed_for_review(run: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_PATTERNS", (("DATE", re.compile("March 2019")), ("DOCTOR", re.compile("Penhale"))))
    write(run.source, ["In March 2019 seen by Penhale. A march, penhale."])
    deidentify(run)
    rows = [line.split("\t") for line in (run.reports / "review.tsv").read_text().splitlines()[4:]]
    assert [word for word, likely, *_ in rows if float(likely) > 0.1] == ["penhale"]


def test_struck_words_are_removed_everywhere_on_the_next_run(run: RunSettings, tmp_path: Path) -> None:
    write(run.source, ["Seen with HILL-Smith and Hillary.", "Patient Ann Hill, of hill."])
    (tmp_path / "strike.tsv").write_text("# word\tn\nHill\t1\t1\n")
    struck = read_struck(tmp_path / "strike.tsv")
    deidentify(replace(run, struck=struck))
    assert texts(run.target) == ["Seen with [STRUCK]-Smith and Hillary.", "Patient [PATIENT], of [STRUCK]."]
    policy = Policy.named("tag").with_overrides({"PATIENT": "keep", "DATE": "keep"})
    kept = replace(run, policy=policy, struck=struck, target=tmp_path / "kept.jsonl")
    write(kept.source, ["Patient Ann Hill came on 03/12/2019. Hill."])
    deidentify(kept)
    assert texts(kept.target) == ["Patient [STRUCK] came on 03/12/2019. [STRUCK]."]
    (tmp_path / "strike.tsv").write_text("two words\n")
    with pytest.raises(SettingsError, match="not one word"):
        read_struck(tmp_path / "strike.tsv")
    keep = replace(run, struck=struck, policy=Policy(default="keep"), target=tmp_path / "other.jsonl")
    with pytest.raises(SettingsError, match="words of --strike would not be removed"):
        deidentify(keep)


def test_a_second_start_finds_the_run_finished_and_another_run_is_refused(run: RunSettings, tmp_path: Path) -> None:
    first = deidentify(run)
    before = run.target.stat()
    assert deidentify(run) == first
    # Reading it, as the second start does, changes only the time of access.
    assert (run.target.stat().st_ino, run.target.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert not run.work.exists()
    with pytest.raises(SettingsError, match="already there"):
        deidentify(replace(run, policy=Policy.named("mask")))
    with pytest.raises(SettingsError, match="already there"):
        deidentify(replace(run, policy=Policy.named("mask"), restart=True))
    write(run.source, ["Dr. Other"])
    with pytest.raises(SettingsError, match="another input"):
        deidentify(run)
    (tmp_path / "taken.jsonl").write_text("mine")
    with pytest.raises(SettingsError, match="already there"):
        deidentify(replace(run, target=tmp_path / "taken.jsonl"))
    assert (tmp_path / "taken.jsonl").read_text() == "mine" and not (tmp_path / "taken.jsonl.partial").exists()


def interrupted(run: RunSettings, monkeypatch: pytest.MonkeyPatch, place: str = "check_output") -> None:
    """Start a run that is interrupted when all chunks are done and nothing is published."""

    def stop(*arguments: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"phistack.ensemble.batch.runner.{place}", stop)
        with pytest.raises(KeyboardInterrupt):
            deidentify(run)
    # If nothing was done, nothing is left.
    assert run.work.exists() == (place != "_process") and not run.target.exists()


@pytest.mark.parametrize("place", ["_process", "check_output", "write_reports", "publish"])
def test_an_interrupted_run_goes_on_to_the_same_result(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: Any
) -> None:
    undisturbed = replace(run, target=tmp_path / "undisturbed.jsonl", key=KEY)
    run = replace(run, key=KEY)
    deidentify(undisturbed)
    interrupted(run, monkeypatch, place)
    deidentify(run)
    assert run.target.read_bytes() == undisturbed.target.read_bytes()
    for name in ("audit.jsonl", "quarantine.jsonl", "review.tsv", "summary.html"):
        assert (run.reports / name).read_bytes() == (undisturbed.reports / name).read_bytes()
    assert not run.work.exists()


def test_a_changed_input_bundle_policy_key_or_code_is_refused_without_restart(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(run, monkeypatch)
    for change, what in (
        ({"policy": Policy.named("mask")}, "policy"),
        ({"key": KEY}, "key"),
        ({"struck": frozenset({"ames"})}, "strike list"),
        ({"second_pass": False}, "second pass"),
        ({"options": EngineOptions(cascade=False)}, "cascade"),
        ({"form_settings": FormatSettings(Columns(others={"id": "keep", "ward": "remove"}))}, "columns"),
    ):
        with pytest.raises(SettingsError, match=f"begun with another {what}"):
            deidentify(replace(run, **change))
    with monkeypatch.context() as patch:
        patch.setattr("phistack.ensemble.batch.settings.code_digest", lambda: "other")
        with pytest.raises(SettingsError, match="another code"):
            deidentify(run)
    bundle = (run.model / "manifest.json").read_text()
    (run.model / "manifest.json").write_text(bundle + " ")
    with pytest.raises(SettingsError, match="another bundle"):
        deidentify(run)
    (run.model / "manifest.json").write_text(bundle)
    write(run.source, ["Dr. Other"])
    with pytest.raises(SettingsError, match="input"):
        deidentify(run)
    deidentify(replace(run, restart=True, policy=Policy.named("mask")))
    assert texts(run.target) == ["Dr. *****"]


def test_a_run_that_did_nothing_can_be_begun_anew_with_anything(run: RunSettings) -> None:
    def broken(path: Any) -> None:
        raise BundleError("damaged")

    with pytest.raises(BundleError):
        deidentify(replace(run, load=broken))
    deidentify(replace(run, policy=Policy.named("mask")))
    assert "[" not in run.target.read_text()


def test_files_damaged_by_a_power_failure_are_made_again(run: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(run, monkeypatch)
    (data,) = run.work.rglob("*.data")
    data.write_bytes(data.read_bytes()[:50])
    assert deidentify(run).start.damaged_chunks == 1
    assert len(texts(run.target)) == 9


def test_an_output_that_does_not_read_as_written_is_not_published(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(self: Any, chunks: Any, target: Any) -> None:
        target.write_bytes(b"".join(chunks).replace(b"saw", b"SAW"))

    monkeypatch.setattr("phistack.features.formats.jsonl.JsonTable.assemble", spoil)
    with pytest.raises(StorageError, match="does not read as it was written"):
        deidentify(run)
    assert not run.target.exists()


def test_an_unfinished_run_keeps_other_runs_and_other_users_out(run: RunSettings) -> None:
    with locked(run.work):
        assert run.work.stat().st_mode & 0o077 == 0
        with pytest.raises(SettingsError, match="another run"):
            deidentify(run)
    assert run.work.exists()
    deidentify(run)


def test_a_bundle_that_is_missing_leaves_no_trace(run: RunSettings, tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        deidentify(replace(run, model=tmp_path / "none"))
    with pytest.raises(CorpusError):
        deidentify(replace(run, source=tmp_path / "none"))
    assert not run.work.exists()


def test_an_output_where_nothing_can_be_written_is_refused(run: RunSettings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        deidentify(replace(run, target=tmp_path / "file" / "out.jsonl"))


def test_an_output_in_the_input_is_refused(run: RunSettings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="must not be the input or lie inside it"):
        replace(run, target=run.source)
    with pytest.raises(SettingsError, match="must not be the input or lie inside it"):
        replace(run, source=tmp_path, target=tmp_path / "out")


@pytest.fixture
def audited(run: RunSettings) -> Any:
    run = replace(run, key=KEY)
    deidentify(run)
    return run


def test_the_audit_log_names_each_note_with_checksums_and_counts_and_holds_no_text(audited: Any) -> None:
    lines = [json.loads(line) for line in (audited.reports / "audit.jsonl").read_text().splitlines()]
    assert lines[1]["id"] == "100-01" and lines[1]["counts"] == {"DATE": 1, "DOCTOR": 1, "PATIENT": 1}
    assert lines[1]["output"] == hashlib.sha256(texts(audited.target)[0].encode()).hexdigest()
    assert lines[1]["input"] != hashlib.sha256(texts(audited.source)[0].encode()).hexdigest()
    assert lines[1]["lowest"] == 0.9 and lines[0]["run"]["policy"] == audited.policy.digest
    log = (audited.reports / "audit.jsonl").read_text()
    assert not any(word in log for word in ("Ames", "Hill", "saw", "03/12"))


@pytest.mark.parametrize("line", range(11))
def test_a_removed_or_changed_line_of_the_audit_log_is_found(audited: Any, line: Any, tmp_path: Path) -> None:
    log = audited.reports / "audit.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    assert len(lines) == 11 and audit_run(audited.target).problems == ()
    log.write_text("".join(lines[:line] + lines[line + 1 :]))
    assert audit_run(audited.target).problems
    log.write_text("".join([*lines[:line], lines[line].replace("1", "2", 1), *lines[line + 1 :]]))
    assert audit_run(audited.target).problems
    log.write_text("".join([*lines[:line], lines[line].replace(", ", ",  ", 1), *lines[line + 1 :]]))
    assert audit_run(audited.target).problems
    log.write_text("".join(lines[: line + 1]))
    assert bool(audit_run(audited.target).problems) == (line < 10)


@pytest.mark.parametrize("name", ["run", "counts", "id", "output", "reports", "summary", "bytes", "end", "second_pass"])
@pytest.mark.parametrize("value", [5, [5], {"a": {}}, None, True])
def test_a_log_whose_chain_was_made_anew_around_another_type_is_one_that_was_changed(
    audited: Any, name: Any, value: Any
) -> None:
    log = audited.reports / "audit.jsonl"
    chain, lines = _START, []
    for line in map(json.loads, log.read_text().splitlines()):
        facts = {**line, **({name: value} if name in line else {})}
        del facts["chain"]
        chain = _link(chain, facts)
        lines.append(json.dumps({**facts, "chain": chain}) + "\n")
    log.write_text("".join(lines))
    assert audit_run(audited.target).problems


def test_a_changed_output_is_found_by_the_audit(audited: Any) -> None:
    audited.target.write_text(audited.target.read_text().replace("saw", "SAW", 1))
    assert "the output of 100-01" in audit_run(audited.target).problems[0]
    audited.target.write_text("")
    assert audit_run(audited.target).problems


def test_the_seal_shows_a_log_that_was_made_anew(audited: Any, tmp_path: Path) -> None:
    key_file(tmp_path / "key", KEY)
    key_file(tmp_path / "other", KEY[::-1])
    assert audit_run(audited.target, key_file=tmp_path / "key").sealed
    report = audit_run(audited.target, key_file=tmp_path / "other")
    assert not report.sealed and "seal" in report.problems[0]
    assert audit_run(audited.target) == replace(audit_run(audited.target, key_file=tmp_path / "key"), sealed=False)


def test_a_log_without_a_seal_is_not_taken_for_forged(run: RunSettings, tmp_path: Path) -> None:
    deidentify(run)
    key_file(tmp_path / "key", KEY)
    problems = audit_run(run.target, key_file=tmp_path / "key").problems
    assert problems == ("the seal of the log is missing: the run had no key, or the seal was removed",)


def test_ids_can_be_hidden_in_the_reports(run: RunSettings, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "anna-hill.txt").write_text("Dr. Ames")
    (folder / "tom-pell.txt").write_text("FAIL")
    run = replace(run, source=folder, target=tmp_path / "out", key=KEY, hide_ids=True, load=engines.faulty)
    deidentify(run)
    reported = b"".join(path.read_bytes() for path in run.reports.iterdir())
    assert b"anna" not in reported and b"pell" not in reported
    with pytest.raises(SettingsError, match="key"):
        replace(run, key=None)


def test_a_note_of_two_megabytes_comes_out(run: RunSettings) -> None:
    phi, redacted = "Patient Ann Hill saw Dr. Ames on 03/12/2019.", "Patient [PATIENT] saw Dr. [DOCTOR] on [DATE]."
    between = "\n" + "nothing to report\n" * 1100
    write(run.source, ["Dr. Ames", (phi + between) * 100])
    assert run.source.stat().st_size > 2_000_000
    assert deidentify(run).quarantined == 0
    assert texts(run.target)[1] == (redacted + between) * 100


@pytest.mark.parametrize("text", ["", "x", "a b\n\nc", "word " * 20, "x" * 95, "line\n" * 30])
def test_pieces_of_a_long_note_are_the_note(text: Any) -> None:
    found = stretches(text, 40)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(end - start <= 40 for start, end in found) and len(found) >= 1


def test_strategies_policies_and_keys_are_taken_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: RunSettings
) -> None:
    assert policy_from("mask", ["DATE=keep"]).strategy("DATE", "DATE") == "keep"
    (tmp_path / "own.toml").write_text('default = "remove"\n')
    assert policy_from(str(tmp_path / "own.toml")).default == "remove"
    with pytest.raises(SettingsError, match="LABEL=STRATEGY"):
        policy_from("mask", ["DATE"])
    with pytest.raises(SettingsError, match="there is no policy named"):
        policy_from("no-such")
    monkeypatch.setenv("PHISTACK_KEY", KEY.decode())
    assert key_from(None) == KEY
    monkeypatch.delenv("PHISTACK_KEY")
    assert key_from(None) is None
    deidentify(replace(run, policy=policy_from("tag", ["DATE=remove"]), load=engines.quick))
    assert texts(run.target)[0] == "Patient [PATIENT] saw Dr. [DOCTOR] on ."


def test_without_a_terminal_progress_is_lines_at_the_begin_and_end_of_each_part(
    run: RunSettings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phistack.ensemble.tools.progress._SECONDS_BETWEEN_LINES", 3600)
    assert [duration(s) for s in (45, 720, 12_000, 360_000)] == ["45 s", "12 min", "3 h 20 min", "4 days 4 h"]
    write(run.source, ["Dr. Ames"] * 500)
    deidentify(run)
    reported = capsys.readouterr().err.splitlines()
    assert [line.partition(" a second")[0].rpartition(",")[0] for line in reported] == [
        "", "looking at the columns: 100%, 500 notes", "", "de-identifying: 100%, 500 notes",
        "", "checking the output: 100%, 500 notes",
    ]  # fmt: skip


def test_an_empty_input_gives_an_empty_output(run: RunSettings) -> None:
    run.source.write_text("")
    assert deidentify(run).notes == 0
    assert run.target.read_text() == "" and audit_run(run.target).problems == ()


@pytest.mark.slow
def test_five_thousand_empty_notes(run: RunSettings, tmp_path: Path) -> None:
    run = replace(run, source=tmp_path / "notes", target=tmp_path / "out")
    for i in range(5_000):
        (run.source / f"{i // 1000}").mkdir(parents=True, exist_ok=True)
        (run.source / f"{i // 1000}" / f"{i}.txt").touch()
    assert deidentify(run).notes == 5_000
    assert sum(path.is_file() and path.stat().st_size == 0 for path in run.target.rglob("*.txt")) == 5_000


def test_notes_of_the_same_id_are_each_looked_at(run: RunSettings) -> None:
    """If the first note were taken for the second, the second would show a year of birth over ninety years ago."""
    bodies = ("Seen on 03/12/1920.", "Seen on 03/12/2019, born on 05/05/1925.")
    lines(run.source, *({"id": "1", "group": "p", "text": body} for body in bodies))
    deidentify(replace(run, policy=Policy.named("safe-harbor")))
    assert texts(run.target) == ["Seen on [DATE].", "Seen on 2019, born on [DATE]."]


def test_a_note_may_come_out_longer_than_notes_may_go_in(run: RunSettings) -> None:
    write(run.source, ["Dr. A " * 15])
    deidentify(replace(run, form_settings=FormatSettings(Columns(rest="keep"), max_bytes=150)))
    assert texts(run.target) == ["Dr. [DOCTOR] " * 15]


def test_no_note_can_have_the_secret_of_a_patient_written_into_the_audit_log(run: RunSettings) -> None:
    write(run.source, ["patient:110", "phistack key check", "id:1"])
    deidentify(replace(run, key=KEY))
    log = (run.reports / "audit.jsonl").read_text()
    assert KeyedChoices(KEY, "110")._key.hex() not in log
    assert not any(hmac.digest(KEY, text.encode(), "sha256").hex() in log for text in texts(run.source))


def test_the_digest_of_a_strike_list_does_not_tell_its_words(run: RunSettings) -> None:
    struck = frozenset({"hill"})
    summary = deidentify(replace(run, key=KEY, struck=struck))
    assert summary.settings["strike list"] != hashlib.sha256(b"hill").hexdigest()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("quarantined", 1),
        ("notes", 8),
        ("PHI by label", {"DATE": 8}),
        ("identifiers still in the output", {"DOCTOR": 1}),
        ("settings", {"policy": "0"}),
        ("input", "0"),
    ],
)
def test_a_changed_summary_is_found_by_the_audit(audited: Any, name: Any, value: Any) -> None:
    path = audited.reports / "summary.json"
    summary = json.loads(path.read_text())
    changed = {**summary[name], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps({**summary, name: changed}))
    assert audit_run(audited.target).problems == (f"{path} differs from the one that the run wrote, or is missing",)


def test_a_summary_is_what_its_file_says(run: RunSettings) -> None:
    summary = deidentify(run)
    saved = json.loads((run.reports / "summary.json").read_text())
    assert summary.to_dict() == saved and read_summary(run.reports) == summary
    assert list(saved)[2:6] == [
        "notes",
        "quarantined",
        "quarantined, tried again by the same command",
        "notes with PHI",
    ]
    assert saved["this start"]["notes of this start"] == summary.start.notes == 9
    for other in ({"notes": "nine"}, {"more": 1}):
        (run.reports / "summary.json").write_text(json.dumps(saved | other))
        assert read_summary(run.reports) is None


@pytest.mark.parametrize("added", ['{"id": 1, "text": null, "name": "Ann Hill"}\n', "\n", " \n"])
def test_what_is_added_beside_the_notes_is_found_by_the_audit(audited: Any, added: Any) -> None:
    with audited.target.open("a") as file:
        file.write(added)
    assert audit_run(audited.target).problems == ("the output differs from the one that the run wrote",)


def test_what_is_added_to_a_folder_is_found_by_the_audit(run: RunSettings, tmp_path: Path) -> None:
    (tmp_path / "notes" / "a").mkdir(parents=True)
    (tmp_path / "notes" / "a" / "1.txt").write_text("Dr. Ames")
    run = replace(run, source=tmp_path / "notes", target=tmp_path / "out")
    deidentify(run)
    assert audit_run(run.target).problems == ()
    (run.target / "a" / "names.csv").write_text("Ann Hill")
    assert audit_run(run.target).problems == ("the output differs from the one that the run wrote",)


def test_what_is_reported_does_not_depend_on_which_chunk_is_done_first(tmp_path: Path) -> None:
    entries = [(b"p", (label, 1, b"x")) for label in ("DOCTOR", "PATIENT")]
    found = []
    for order in (entries, entries[::-1]):
        folder = tmp_path / str(len(found))
        folder.mkdir()
        with Journal(folder) as journal:
            for number, entry in enumerate(order):
                journal.add(number, DoneChunk(b"", b"", b"", 1, 0), [entry])
            found.append(journal.entries(b"p"))
    assert found[0] == found[1]


def test_nothing_that_is_shown_of_a_note_tells_its_patient_or_its_text() -> None:
    row = Row("line 1", None, b"", "1", "MRN 4711", (Part("Dr. Ames"),))
    assert repr(row) == "Row(place='line 1', id='1', problem='')"


def test_the_end_of_a_run_says_what_to_do_next(run: RunSettings) -> None:
    write(run.source, ["Patient Ann Hillard came.", "The wife of hillard, Mrs Hilard, called.", "Ann Hillard? Not 2."])
    steps = next_steps(deidentify(run), run.target)
    assert [word for step in steps for word in ("--always", "--strike", "--known", "sample") if word in step] == [
        "--always", "--strike", "--known", "sample",
    ]  # fmt: skip
    page = (run.reports / "summary.html").read_text()
    assert "What to do next" in page and "review.tsv" in page and str(run.target.parent) not in page
    assert f"On {datetime.now(UTC).date()}, 1 identifier replaced in 3 notes" in page
    assert "Engine bundle: trained on an unknown number of notes" in page
