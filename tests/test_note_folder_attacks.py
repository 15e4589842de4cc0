"""What others may put into a folder of notes: pipes, devices, links, hidden files, two notes in one file."""

import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import Columns, RunSettings, deidentify
from phistack.ensemble.batch.rows import FormatSettings
from phistack.ensemble.batch.settings import read_struck
from phistack.ensemble.deidentification import Policy, read_key
from phistack.ensemble.training.settings import EngineSettings
from phistack.features import files
from phistack.features.errors import BundleError, CorpusError, PhistackError, SettingsError
from phistack.features.files import open_regular, read_regular
from phistack.features.formats import read_corpus
from phistack.features.formats.found import HIDDEN, OTHER
from phistack.features.saved_files import read_file
from tests.batch_runs import run_over


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A reader that waits for ever would stall the whole test run, so a time limit ends it."""
    signal.alarm(120)
    yield
    signal.alarm(0)


@pytest.fixture
def run(tmp_path: Path) -> RunSettings:
    """Settings of a run over a folder with one note, to which tests add more."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "1.txt").write_text("Dr. Ames")
    return run_over(folder, Columns())


def held_back(run: RunSettings) -> dict[str, str]:
    lines = (run.reports / "quarantine.jsonl").read_text().splitlines()
    return {note["id"]: note["reason"] for note in map(json.loads, lines)}


def out(run: RunSettings) -> dict[str, str]:
    return {path.relative_to(run.target).as_posix(): path.read_text() for path in run.target.rglob("*.txt")}


def test_a_pipe_or_device_among_the_notes_is_listed_and_stops_nothing(run: RunSettings) -> None:
    os.mkfifo(run.source / "2.txt")
    (run.source / "3.txt").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(run.source / "4.txt"))
        summary = deidentify(run)
    assert (summary.notes, summary.quarantined) == (4, 3)
    reasons = held_back(run)
    assert reasons["2"] == "the file cannot be read: a pipe, not a regular file"
    assert reasons["3"] == "the file is a link out of the input; put the file itself in its place"
    assert reasons["4"] == "the file cannot be read: a socket, not a regular file"
    assert out(run) == {"1.txt": "Dr. [DOCTOR]"}


def test_links_are_followed_inside_the_input_only_and_never_in_a_circle(run: RunSettings, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Dr. Hill")
    (run.source / "again.txt").symlink_to("1.txt")
    (run.source / "outside.txt").symlink_to(tmp_path / "secret.txt")
    (run.source / "circle").symlink_to(".")
    assert deidentify(run).notes == 4
    assert out(run) == {"1.txt": "Dr. [DOCTOR]", "again.txt": "Dr. [DOCTOR]"}
    assert set(held_back(run)) == {"outside", "circle"} and "a link to a folder" in held_back(run)["circle"]


def test_a_note_that_grows_beyond_the_limit_is_listed_whatever_its_size_was(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run.source / "2.txt").write_text("x" * 200)
    deidentify(replace(run, form_settings=FormatSettings(max_bytes=100)))
    assert held_back(run) == {"2": "the file is longer than the limit of 100 bytes; split it"}
    with pytest.raises(OSError, match="longer than the limit of 10 bytes"):
        read_regular(run.source / "2.txt", 10)
    # The size of this one is 0, as it is made when it is read.
    assert len(read_regular(Path("/proc/self/status"), 10**6)) > 100


def test_a_folder_that_cannot_be_read_stops_the_run_and_is_reported_without_a_name(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run.source / "Birchwood").mkdir()
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "Birchwood":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(CorpusError, match="cannot be read: Permission denied") as refused:
        deidentify(run)
    assert "Birchwood" not in str(refused.value)


def test_folders_in_folders_without_end_are_refused(run: RunSettings) -> None:
    deep = run.source
    for _ in range(600):
        deep = deep / "a"
        deep.mkdir()
    with pytest.raises(CorpusError, match="deeper than 500 levels"):
        deidentify(run)


def test_a_link_is_not_followed_where_none_may_be(run: RunSettings) -> None:
    (run.source / "2.txt").symlink_to("1.txt")
    assert read_regular(run.source / "2.txt") == b"Dr. Ames"
    with pytest.raises(OSError):
        read_regular(run.source / "2.txt", follow_links=False)
    with pytest.raises(BundleError, match="do not use the engine"):
        read_file(run.source / "2.txt", 100)
    with pytest.raises(BundleError, match="longer than the limit of 3 bytes"):
        read_file(run.source / "1.txt", 3)


def test_standard_input_without_end_is_read_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_FILE", 1000)
    files.standard_input.cache_clear()
    with open("/dev/zero", encoding="utf-8") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        with pytest.raises(CorpusError, match="more than 1000 bytes"):
            read_corpus(files.STANDARD_INPUT)
    files.standard_input.cache_clear()


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.csv", "note.txt", "note.xml"])
def test_a_pipe_given_as_the_input_is_refused_and_leaves_nothing(run: RunSettings, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(CorpusError, match="a pipe, not a regular file"):
        deidentify(replace(run, source=tmp_path / name))
    assert not run.work.exists()


def test_a_pipe_given_as_a_setting_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (read_key, read_struck, EngineSettings.from_toml, Policy.from_toml):
        with pytest.raises(SettingsError, match="a pipe, not a regular file"):
            read(tmp_path / "pipe")
    with pytest.raises(OSError, match="a folder, not a regular file"):
        open_regular(tmp_path)


def test_hidden_files_and_those_of_other_endings_are_counted_and_reported(run: Any) -> None:
    (run.source / ".hidden.txt").write_text("Dr. Ames")
    (run.source / ".old").mkdir()
    (run.source / ".old" / "2.txt").write_text("Dr. Ames")
    (run.source / "3.dat").write_text("Dr. Ames")
    summary = deidentify(run)
    assert summary.passed_over == {HIDDEN: 2, OTHER: 1}
    assert "hidden files were skipped" in (run.reports / "summary.html").read_text()
    assert read_corpus(run.source).warnings == {HIDDEN: 2, OTHER: 1}


def test_annotation_beside_notes_is_not_passed_over(run: RunSettings) -> None:
    (run.source / "1.ann").write_text("")
    assert deidentify(replace(run, form="brat")).passed_over == {}
    assert not read_corpus(run.source).warnings


@pytest.mark.parametrize(
    "inside",
    [
        "<TEXT>Dr. Ames</TEXT><TEXT>Dr. Hill</TEXT>",
        "<TEXT>Dr. Ames</TEXT><MORE><TEXT>Dr. Hill</TEXT></MORE>",
        "<MORE><TEXT>Dr. Hill</TEXT></MORE>",
    ],
)
def test_a_second_text_in_one_file_is_refused_and_not_lost(run: RunSettings, inside: str) -> None:
    (run.source / "1.txt").unlink()
    (run.source / "1.xml").write_text(f"<deIdi2b2>{inside}<TAGS/></deIdi2b2>")
    with pytest.raises(PhistackError, match="must have one element TEXT"):
        read_corpus(run.source)
    deidentify(run)
    assert "must have one element TEXT" in held_back(run)["1"] and "Hill" not in held_back(run)["1"]
    assert not list(run.target.rglob("*.xml"))
