"""Inputs and results that change between two starts of a run, and disks that refuse."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import RunSettings, audit_run, deidentify
from phistack.ensemble.batch.store import Store
from phistack.features.errors import CorpusError, SettingsError, StorageError
from tests.batch_runs import run_over


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSettings:
    """Settings of a run over 300 notes in five chunks."""
    monkeypatch.setattr("phistack.ensemble.batch.chunks._ROWS", 64)
    with (tmp_path / "in.jsonl").open("w") as file:
        for i in range(300):
            file.write(json.dumps({"id": str(i), "text": f"Patient Ann{i} Hill saw Dr. Ames."}) + "\n")
    return run_over(tmp_path / "in.jsonl")


@pytest.fixture
def folder(run: RunSettings, tmp_path: Path) -> RunSettings:
    """The same with a folder of 300 files."""
    (tmp_path / "notes").mkdir()
    for i in range(300):
        (tmp_path / "notes" / f"{i:03d}.txt").write_text(f"Patient Ann{i} Hill saw Dr. Ames.")
    return replace(run, source=tmp_path / "notes", target=tmp_path / "out")


def stopped(run: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a run that is stopped when two of its five chunks are done."""
    add = Store.add

    def until_second(self: Any, chunk: Any, results: Any) -> None:
        add(self, chunk, results)
        if chunk.number == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "add", until_second)
        with pytest.raises(KeyboardInterrupt):
            deidentify(run)
    assert run.work.exists()


def append(source: Path) -> None:
    with source.open("a") as file:
        file.write('{"id": "new", "text": "Dr. Ames"}\n')


def change_the_end(source: Any) -> None:
    """Put other text of the same length into the last note, which is not done yet."""
    content = source.read_text()
    source.write_text(content[:-10].replace("Ann299", "Eve299") + content[-10:])


@pytest.mark.parametrize("change", [append, change_the_end, os.utime])
def test_an_input_that_is_changed_where_it_was_not_done_yet_is_refused(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]
) -> None:
    stopped(run, monkeypatch)
    before = run.source.stat()
    change(run.source)
    with pytest.raises(SettingsError, match=r"input was changed.*or start with --restart"):
        deidentify(run)
    assert not run.target.exists()
    if change is os.utime:
        # If the file is restored with its time, the run continues.
        os.utime(run.source, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert deidentify(run).start.notes == 300 - 2 * 64
    else:
        assert deidentify(replace(run, restart=True)).notes in (300, 301)


def add_last(folder: Any) -> None:
    (folder / "999.txt").write_text("Dr. Ames")


def change_last(folder: Any) -> None:
    (folder / "299.txt").write_text("Patient Eve299 Hill saw Dr. Ames.")


@pytest.mark.parametrize("change", [add_last, change_last])
def test_a_folder_that_is_changed_where_it_was_not_done_yet_is_refused(
    folder: RunSettings, monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]
) -> None:
    stopped(folder, monkeypatch)
    change(folder.source)
    with pytest.raises(SettingsError, match="input was changed"):
        deidentify(folder)
    assert deidentify(replace(folder, restart=True)).notes in (300, 301)


def test_an_input_that_is_changed_while_it_is_read_is_not_published(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Store.add

    def and_append(self: Any, chunk: Any, results: Any) -> None:
        add(self, chunk, results)
        if chunk.number == 4:
            append(run.source)

    monkeypatch.setattr(Store, "add", and_append)
    with pytest.raises(SettingsError, match="input was changed"):
        deidentify(run)
    assert not run.target.exists()


@pytest.mark.parametrize("cut", [lambda path: os.truncate(path, 100), append, lambda path: path.write_text("")])
def test_a_finished_output_that_was_cut_or_changed_is_not_called_done(
    run: RunSettings, cut: Callable[..., Any]
) -> None:
    deidentify(run)
    cut(run.target)
    with pytest.raises(
        SettingsError, match=r"was finished, but the output .*differs from the one that the run wrote.*move .* away"
    ):
        deidentify(run)
    run.target.unlink()
    shutil.rmtree(run.reports)
    deidentify(run)
    assert audit_run(run.target).problems == ()


@pytest.mark.parametrize("name", ["quarantine.jsonl", "replaced.jsonl", "review.tsv", "summary.html", "summary.json"])
def test_reports_that_are_changed_are_found_by_audit_and_the_same_command(run: RunSettings, name: str) -> None:
    with run.source.open("ab") as file:
        file.write(b"no note\n")
    summary = deidentify(run)
    assert audit_run(run.target).problems == () and deidentify(run) == summary
    path = run.reports / name
    path.write_text(path.read_text().replace("line 301", "line 1").replace('"notes": 301', '"notes": 300') + "\n")
    if name == "quarantine.jsonl":
        path.unlink()
    assert audit_run(run.target).problems == (f"{path} differs from the one that the run wrote, or is missing",)
    with pytest.raises(SettingsError, match=f"was finished, but .*{name} differs from the one that the run wrote"):
        deidentify(run)


@pytest.mark.parametrize("timeout", [float("inf"), float("nan"), -1.0])
def test_a_time_limit_that_is_no_number_of_seconds_is_refused(run: RunSettings, timeout: float) -> None:
    with pytest.raises(SettingsError, match="--timeout"):
        replace(run, timeout=timeout)


def test_an_input_that_cannot_be_read_leaves_nothing(run: RunSettings, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    (tmp_path / "in.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "in.txt").write_bytes(b"")
    for name in ("in.csv", "in.jsonl.gz", "none.jsonl"):
        bad = replace(run, source=tmp_path / name, target=tmp_path / f"out-{name}")
        with pytest.raises(CorpusError):
            deidentify(bad)
        assert not list(tmp_path.glob("out-*"))


@pytest.mark.parametrize("refused", ["chunks/", "output/", "reports/"])
def test_a_full_disk_is_reported_with_the_file_and_what_to_do_and_the_run_goes_on(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch, refused: Any
) -> None:
    real_open, real_write = Path.open, Path.write_bytes

    def full(path: Any) -> None:
        if f".partial/{refused}" in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(self: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
        if "w" in mode or "x" in mode:
            full(self)
        return real_open(self, mode, *more, **named)

    def written(self: Any, content: Any) -> Any:
        full(self)
        return real_write(self, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", opened)
        patch.setattr(Path, "write_bytes", written)
        reported = (
            f"{run.work}/{refused.rstrip('/')}.* cannot be written: No space left on device; .*free space.*goes on"
        )
        with pytest.raises(StorageError, match=reported):
            deidentify(run)
    assert deidentify(run).notes == 300 and audit_run(run.target).problems == ()
