"""The commands deidentify and audit with a trained engine, as a user runs them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet
from tests.invented_names import NAMES


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An engine that learned that a name after `Dr.` is a doctor's."""
    documents = []
    for i, name in enumerate(NAMES):
        text = f"Seen by Dr. {name} on 0{i % 9 + 1}/12/2019.\nPlan: rest and fluids. Call Dr. {name}."
        spans = [Span(at, at + len(name), "DOCTOR") for at in (12, text.rindex(name))]
        date = text.index("/12/") - 2
        documents.append(Document(f"{100 + i}-01", text, (*spans, Span(date, date + 10, "DATE")), f"{100 + i}"))
    path = tmp_path_factory.mktemp("bundle") / "engine"
    corpus = Corpus(tuple(documents), LabelSet.named("i2b2-2014"))
    train_bundle(corpus, path, EngineSettings(folds=2).only(("regex", "crf")))
    return path


def phistack(*arguments: Any, key: str = "") -> Any:
    environment = {**os.environ, "PHISTACK_KEY": key}
    command = [sys.executable, "-m", "phistack.ensemble.command_line.app", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_notes_come_out_and_the_audit_agrees(bundle: Any, tmp_path: Path) -> None:
    bodies = [f"Seen by Dr. {name} on 05/11/2018." for name in NAMES]
    lines = [{"note": str(i), "who": "p", "body": body} for i, body in enumerate(bodies)]
    lines += [{"note": "empty", "who": "q", "body": ""}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    columns = ("--id-column", "note", "--text-column", "body", "--patient-column", "who", "--column", "note=keep")
    out = tmp_path / "out.jsonl"
    more = ("--strategy", "DATE=surrogate", "--column", "who=pseudonym", *columns)
    key = "8f3a5c1e9b7d2f4068acbd13579e2460"
    done = phistack("deidentify", tmp_path / "in.jsonl", out, "--model", bundle, *more, key=key)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["note"] for line in written] == [line["note"] for line in lines]
    assert len({line["who"] for line in written}) == 2 and re.fullmatch("[0-9a-f]{16}", written[0]["who"])
    assert all("Dr. [DOCTOR] on" in line["body"] and "05/11/2018" not in line["body"] for line in written[:-1])
    assert len({line["body"] for line in written[:-1]}) == 1, "one patient, one shift"
    audited = phistack("audit", out, key=key)
    assert audited.returncode == 0 and "11 notes is complete" in audited.stdout and "seal is right" in audited.stdout
    out.write_text(out.read_text().replace("Seen", "seen", 1))
    audited = phistack("audit", out)
    assert audited.returncode == 1 and "differs from the one that the run wrote" in audited.stderr


def test_a_quarantined_note_makes_the_status_3_and_says_how_many(bundle: Any, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"id": "1", "text": "Dr. Alder"}\n{"id": "2", "text": "\xff secret"}\n')
    done = phistack(
        "deidentify", tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--model", bundle, "--column", "id=keep"
    )
    assert done.returncode == 3 and "1 of 2 notes are in quarantine" in done.stderr
    assert "secret" not in done.stderr + done.stdout + (tmp_path / "out.jsonl").read_text()
