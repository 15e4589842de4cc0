"""What a careless or hostile user gives the command line: one sentence each, and no crash."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from phistack.ensemble.engine import Reading
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.views.explanation import print_explanation
from phistack.features.documents import Document, Span
from phistack.features.plain_view import plain_view
from phistack.features.shown import shown_id, whole
from tests.fixture_types import Phistack

PROGRAM = [sys.executable, "-c", "from phistack.ensemble.command_line.app import main; main()"]
KEY = "8f3a5c1e9b7d2f4068acbd13579e2460"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("policy = { a = 1 }", "policy must be one string or number"),
        ("jobs = true", "jobs must be one string or number"),
        ("recall = 2024-01-01", "recall must be one string or number"),
        ('second-pass = "no"', "second-pass must be true or false"),
        ("text-column = 3", "text-column must be a string or a list of strings"),
        ("text-column = [1, 2]", "text-column must be a string or a list of strings"),
    ],
)
def test_a_value_of_another_type_in_a_config_file_is_refused(
    phistack: Phistack, tmp_path: Path, config: str, said: str
) -> None:
    (tmp_path / "release.toml").write_text(config)
    status, _, error = phistack("deidentify", "in", tmp_path / "out", "--config", tmp_path / "release.toml")
    assert (status, f"cannot be used: {said}" in error.splitlines()[-1]) == (1, True), error


def test_escape_sequences_of_an_id_reach_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    id = "note\x1b[31m\u202e\udc80"
    assert whole(id) == r"note\x1b[31m\u202e\udc80"
    monkeypatch.setenv("PHISTACK_SHOW_IDS", "1")
    assert shown_id(id) == whole(id)
    shown = StringIO()
    note = Document(id, "Ames")
    reading = Reading(note, plain_view(note), decisions=[Decision(Span(0, 4, "DOCTOR"), 0.5, True, ())])
    print_explanation(reading, Console(width=80, file=shown), show_text=True)
    assert "\x1b" not in shown.getvalue() and f"{whole(id)}: 1 PHI" in shown.getvalue()


@pytest.mark.parametrize("key", ["0" * 34, "01" * 20, "0123456789abcdef" * 2, "aAaAaAaA" * 8, "0011223" * 5 + "1"])
def test_a_key_without_entropy_is_refused(phistack: Phistack, tmp_path: Path, key: str) -> None:
    (tmp_path / "notes.jsonl").write_text(json.dumps({"id": "1", "text": "Seen by Dr. Hartley."}))
    given = ("deidentify", tmp_path / "notes.jsonl", tmp_path / "out.jsonl", "--model", "engine", "--key-file", "key")
    (tmp_path / "key").write_text(key)
    (tmp_path / "key").chmod(0o600)
    status, _, error = phistack(*given[:-1], tmp_path / "key")
    assert status == 1 and "is not random, as it repeats few digits; make one with" in error.splitlines()[-1]
    assert key not in error
    (tmp_path / "key").write_text(KEY)
    assert "not random" not in phistack(*given[:-1], tmp_path / "key")[2]


def test_a_strategy_may_be_given_its_string_as_the_message_says(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text(json.dumps({"id": "1", "text": "Seen by Dr. Hartley."}))
    (tmp_path / "release.toml").write_text('[strategies]\nDOCTOR = "substitute"\n[substitutes]\nDOCTOR = "Dr. X"\n')
    options = ("--model", "english", "--column", "id=keep")
    given = ("deidentify", tmp_path / "notes.jsonl", tmp_path / "out.jsonl", *options)
    status, _, error = phistack(*given, "--strategy", "DOCTOR=substitute")
    assert status == 1 and "--substitute DOCTOR=STRING" in error.splitlines()[-1]
    assert phistack(*given, "--strategy", "DOCTOR=substitute", "--substitute", "DOCTOR=A. N. Other")[0] == 0
    assert "Seen by Dr. A. N. Other." in (tmp_path / "out.jsonl").read_text()
    assert phistack(*given[:2], tmp_path / "new.jsonl", *given[3:], "--config", tmp_path / "release.toml")[0] == 0
    assert "Seen by Dr. Dr. X." in (tmp_path / "new.jsonl").read_text()


def run_closed(closing: str, *arguments: Any, home: Path) -> int:
    """The status of the command, run by a shell that closes standard streams."""
    line = ["sh", "-c", f'"$@" {closing}', "sh", *PROGRAM, *map(str, arguments)]
    return subprocess.run(line, check=False, cwd=home).returncode


def test_closed_standard_streams_change_nothing(tmp_path: Path) -> None:
    all_closed = "0<&- 1>&- 2>&-"
    assert run_closed(all_closed, "synthesize", "notes", "--documents", 3, home=tmp_path) == 0
    assert run_closed("1>&-", "convert", "notes", "notes.jsonl", home=tmp_path) == 0
    assert len((tmp_path / "notes.jsonl").read_text().splitlines()) == 3
    assert run_closed(all_closed, "convert", "absent", "out.jsonl", home=tmp_path) == 1
    assert run_closed("1>&-", "convert", "notes", "-", "--to", "jsonl", home=tmp_path) == 1
