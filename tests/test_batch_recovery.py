"""Runs that are killed, run out of disk, lose their workers, or meet each other."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import RunSettings, audit_run, deidentify
from phistack.ensemble.batch.journal import Journal
from phistack.features.errors import MissingResourceError, PhistackError, StorageError
from tests import batch_engines as engines
from tests.batch_runs import ENVIRONMENT, KEY, SCRIPT, finish, results, run_over, started


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Settings of a run over 600 notes of 200 patients in five chunks."""
    with (tmp_path / "in.jsonl").open("w") as file:
        for i in range(600):
            text = f"Patient Ann{i % 5} Hill saw Dr. Ames{i % 7} on 03/12/{1990 + i % 30}. Nothing else to report."
            file.write(json.dumps({"id": f"{100 + i // 3}-0{i % 3 + 1}", "text": text}) + "\n")
    return run_over(tmp_path / "in.jsonl", policy="number", key=KEY, load=engines.slow)


@pytest.fixture
def expected(run: RunSettings) -> Any:
    """What an undisturbed run writes, by name."""
    undisturbed = replace(run, target=run.target.with_name("undisturbed.jsonl"))
    deidentify(undisturbed)
    return results(undisturbed)


def wait_for(condition: Any, seconds: float = 180.0) -> None:
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds
        time.sleep(0.005)


def test_killed_once_a_run_goes_on_with_what_is_missing(run: RunSettings, expected: Any) -> None:
    process = started(run)
    wait_for(lambda: len(list(run.work.rglob("*.json"))) >= 3)
    process.kill()
    process.communicate()
    summary = deidentify(run)
    assert 0 < summary.start.notes < 600
    assert results(run) == expected


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk needs root")
def test_on_a_full_disk_a_run_stops_and_goes_on_when_there_is_room(
    run: RunSettings, expected: Any, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        small = replace(run, target=disk / "out.jsonl")
        for _ in range(2):
            with pytest.raises(StorageError, match=f"{small.work}.*(space|full|FULL|IOERR)") as stopped:
                deidentify(small)
            assert "free space" in str(stopped.value) and "goes on where it stopped" in str(stopped.value)
            assert "Hill" not in str(stopped.value)
            assert not small.target.exists()
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        deidentify(small)
        assert results(small) == expected
    finally:
        subprocess.run(["umount", disk], check=True)


CALLS = (
    (Path, "write_bytes"), (Path, "replace"), (Path, "rename"), (Path, "unlink"), (Path, "mkdir"), (shutil, "rmtree"),
    (Journal, "add"), (Journal, "set_fact"), (os, "sync"),
    (os, "fsync"),
)  # fmt: skip


@contextmanager
def interrupted_at(which: Any, chance: Any) -> Iterator[Any]:
    """Stop a run before or after one of its calls that change the disk; the value counts these calls."""
    count = [0]

    def failing(real: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            count[0] += 1
            if count[0] == which and chance.random() < 0.5:
                raise KeyboardInterrupt
            result = real(*arguments, **keywords)
            if count[0] == which:
                raise KeyboardInterrupt
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in CALLS:
            patch.setattr(owner, name, failing(getattr(owner, name)))
        yield count


def lose_power(work: Any, chance: Any) -> None:
    """Whatever was written last and is not yet on the disk is gone, empty, or cut off."""
    for path in list((work / "chunks").rglob("*.*")) if work.exists() else ():
        if chance.random() < 0.3:
            loss = chance.choice((0, 40, None))
            path.unlink() if loss is None else os.truncate(path, min(loss, path.stat().st_size))


def test_stopped_at_any_change_of_the_disk_and_without_power_a_run_ends_as_if_undisturbed(
    run: RunSettings, expected: Any
) -> None:
    run = replace(run, load=engines.quick)
    chance = random.Random(3)
    with interrupted_at(0, chance) as count:
        deidentify(run)
    n_calls = count[0]
    for which in sorted(chance.sample(range(1, n_calls + 1), 5)) + list(range(n_calls - 11, n_calls + 1, 2)):
        shutil.rmtree(run.reports, ignore_errors=True)
        run.target.unlink(missing_ok=True)
        with interrupted_at(which, chance), suppress(KeyboardInterrupt):
            deidentify(run)
        if not run.target.exists() and not run.reports.exists():
            lose_power(run.work, chance)
        deidentify(run)
        assert results(run) == expected
        assert not run.work.exists() and audit_run(run.target).problems == ()


def test_two_runs_at_once_on_the_same_output_do_not_meet(run: RunSettings, expected: Any) -> None:
    first = started(run)
    wait_for(lambda: (run.work / "journal.sqlite").exists())
    with pytest.raises(PhistackError, match="another run is writing"):
        deidentify(run)
    finish(first)
    assert results(run) == expected


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_killed_a_run_leaves_no_process_behind(run: RunSettings, expected: Any) -> None:
    process = started(run, jobs=2)
    wait_for(lambda: run.work.exists() and list(run.work.rglob("*.json")))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) >= 2
    process.kill()
    process.communicate()
    wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children), seconds=20)
    deidentify(run)
    assert results(run) == expected


def cluster(tmp_path: Path, n_workers: Any) -> Any:
    """A scheduler and workers as processes of their own, and the scheduler's address."""
    scheduler_file = tmp_path / "scheduler.json"
    quiet = {"env": ENVIRONMENT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", scheduler_file], **quiet)  # type: ignore[call-overload]
    wait_for(lambda: scheduler_file.exists() and scheduler_file.read_text().strip().endswith("}"))
    address = json.loads(scheduler_file.read_text())["address"]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    command += ["--no-dashboard", "--local-directory", tmp_path / "dask"]  # type: ignore[list-item]
    workers = [subprocess.Popen(command, **quiet) for _ in range(n_workers)]  # type: ignore[call-overload]
    return address, [scheduler, *workers]


@pytest.mark.slow
@pytest.mark.skipif(util.find_spec("distributed") is None, reason="dask.distributed is not installed")
@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer and an exception of another thread block each other")
def test_on_a_cluster_of_which_a_worker_dies_the_output_is_the_same(
    run: RunSettings, expected: Any, tmp_path: Path
) -> None:
    address, processes = cluster(tmp_path, 2)
    try:
        client = started(run, jobs=address, script=SCRIPT.replace("jobs=int(jobs)", "cluster=jobs"))
        wait_for(lambda: len(list(run.work.rglob("*.json"))) >= 2 or client.poll() is not None)
        os.kill(processes[1].pid, signal.SIGKILL)
        finish(client)
        assert results(run) == expected
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.skipif(util.find_spec("distributed") is None, reason="dask.distributed is not installed")
@pytest.mark.filterwarnings("default")
def test_a_cluster_that_does_not_answer_is_reported(run: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phistack.ensemble.batch.workers.clusters._SECONDS_TO_CONNECT", 1)
    with pytest.raises(MissingResourceError, match="no Dask scheduler answers"):
        deidentify(replace(run, cluster="tcp://127.0.0.1:9"))
