"""Processes that die during a run: only a note that kills is held back, and notes held back are tried again."""

import json
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import RunSettings, audit_run, deidentify
from phistack.ensemble.deidentification import Policy
from phistack.features.errors import MissingResourceError, SettingsError
from tests import batch_engines as engines
from tests.batch_runs import KEY, finish, quarantine, results, run_over, started

N_NOTES = 400


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Settings of a run over 400 notes of 200 patients in four chunks."""
    monkeypatch.setattr("phistack.ensemble.batch.workers.isolation._SECONDS_OF_PAUSE", 0.01)
    write(tmp_path / "in.jsonl", {})
    return run_over(tmp_path / "in.jsonl", policy="number", key=KEY, jobs=2, load=engines.slow)


def write(path: Any, special: Any) -> None:
    """Write the notes; those with the given numbers have an additional word."""
    with path.open("w") as file:
        for i in range(N_NOTES):
            text = f"Patient Ann{i % 5} Hill saw Dr. Ames{i % 7} on 03/12/{1990 + i % 30}. {special.get(i, 'Well')}."
            file.write(json.dumps({"id": f"{100 + i // 2}-0{i % 2 + 1}", "text": text}) + "\n")


def undisturbed(run: RunSettings) -> Any:
    """What an undisturbed run writes."""
    other = replace(run, target=run.target.with_name("undisturbed.jsonl"), load=engines.quick, jobs=1)
    deidentify(other)
    return results(other)


def test_four_deaths_at_one_innocent_note_cost_no_note(run: RunSettings) -> None:
    write(run.source, {30: "UNLUCKY"})
    summary = deidentify(replace(run, load=engines.unlucky))
    assert len(list((run.model / "deaths").iterdir())) == 4
    assert (summary.notes, summary.quarantined) == (N_NOTES, 0)
    assert results(run) == undisturbed(run)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_workers_killed_from_outside_again_and_again_cost_no_note(run: RunSettings) -> None:
    process = started(run, "dawdling", jobs=2)
    chance, killed = random.Random(5), 0
    while process.poll() is None and killed < 5:
        time.sleep(chance.uniform(0.2, 0.8))
        killed += kill_a_worker(process.pid, chance)
    finish(process)
    assert killed >= 3
    assert results(run) == undisturbed(run)


def kill_a_worker(parent: Any, chance: Any) -> Any:
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        os.kill(int(chance.choice([pid for pid in children if is_a_worker(pid)])), signal.SIGKILL)
    except (OSError, IndexError):
        return False
    return True


def is_a_worker(pid: str) -> bool:
    """Not the tracker of semaphores: its death between its start and its first word ends the run."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"loky" in command and b"resource_tracker" not in command


@pytest.mark.slow
def test_where_everything_dies_no_note_is_blamed_and_the_run_goes_on_later(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(run.source, {})
    (run.model / "kill").touch()
    with pytest.raises(MissingResourceError, match="die on every note"):
        deidentify(replace(run, load=engines.deadly_machine))
    (run.model / "kill").unlink()
    assert deidentify(replace(run, load=engines.deadly_machine)).quarantined == 0
    assert results(run) == undisturbed(run)


def test_with_one_process_a_deadly_note_stops_the_run_twice_and_not_for_ever(run: RunSettings) -> None:
    write(run.source, {200: "DIE"})
    statuses = []
    for _ in range(3):
        process = started(run, "faulty")
        process.communicate()
        statuses.append(process.returncode)
    assert statuses == [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert quarantine(run) == [
        {"id": "200-01", "place": "line 201", "reason": "its process died each time it worked on this note alone"}
    ]
    assert len(run.target.read_text().splitlines()) == N_NOTES - 1


def test_the_same_command_tries_notes_again_that_died_or_took_too_long_and_no_others(run: RunSettings) -> None:
    write(run.source, {7: "WAIT", 70: "FAIL", 300: "WAIT"})
    (run.model / "wait").touch()
    run = replace(run, load=engines.waiting, jobs=1)
    first = deidentify(replace(run, timeout=1.5))
    assert first.quarantined == 3 and run.work.exists()
    before = results(run)
    again = deidentify(replace(run, timeout=1.0))
    assert again.quarantined == 3 and {note["id"] for note in quarantine(run)} == {"103-02", "135-01", "250-01"}
    assert {note["reason"] for note in quarantine(run)} >= {"it took longer than 1 second"}
    assert run.target.read_bytes() == before[0] and audit_run(run.target).problems == ()
    (run.model / "wait").unlink()
    last = deidentify(run)
    assert last.quarantined == 1 and [note["id"] for note in quarantine(run)] == ["135-01"]
    assert 0 < last.start.notes < N_NOTES
    assert audit_run(run.target).problems == () and not run.work.exists()
    once = replace(run, target=run.target.with_name("once.jsonl"))
    deidentify(once)
    assert results(once)[:3] == results(run)[:3]


def test_notes_are_tried_again_only_where_nothing_was_changed(run: RunSettings) -> None:
    write(run.source, {7: "WAIT"})
    run = replace(run, load=engines.faulty, jobs=1, timeout=1.0)
    deidentify(run)
    with pytest.raises(SettingsError, match="already there"):
        deidentify(replace(run, policy=Policy.named("mask")))
    whole = run.target.read_bytes()
    run.target.write_bytes(whole[:-10])
    with pytest.raises(SettingsError, match="differs from the one"):
        deidentify(run)
    run.target.unlink()
    with pytest.raises(SettingsError, match="already there"):
        deidentify(run)
    run.target.write_bytes(whole)
    with run.source.open("a") as file:
        file.write('{"id": "new", "text": "Dr. Ames"}\n')
    with pytest.raises(SettingsError, match="input was changed"):
        deidentify(run)
    assert run.target.read_bytes() == whole
