"""A vault keeps the originals of a run for those who have its key; no note comes out without them."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch import RunSettings, deidentify
from phistack.ensemble.batch.columns import Columns
from phistack.ensemble.batch.store import Store
from phistack.ensemble.batch.vault import Vault, originals
from phistack.ensemble.deidentification import Policy
from phistack.features.errors import CorpusError, PhistackError, SettingsError, StorageError
from tests.batch_runs import KEY, run_over
from tests.fixture_types import Phistack

SECRET = b"fedcba9876543210"
TEXTS = [f"Patient Ann{i} Hill saw Dr. Ames{i} on 03/12/1990. All well." for i in range(300)]


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """A run over 300 notes in three chunks; one note cannot be read."""
    lines = [json.dumps({"id": f"{i}-1", "text": text}) for i, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("\n".join(["{broken", *lines]))
    (tmp_path / "kept").mkdir()
    return run_over(
        tmp_path / "in.jsonl", policy="number", key=KEY, vault=tmp_path / "kept" / "vault", vault_key=SECRET
    )


def restored(run: RunSettings, *ids: str, key: bytes = SECRET) -> list[Any]:
    return [note["parts"][0]["text"] for note in originals(run.target, run.vault, key, ids)]


def test_the_originals_come_back_and_the_log_says_who_asked(
    phistack: Phistack, run: RunSettings, tmp_path: Path
) -> None:
    assert deidentify(run).quarantined == 1
    assert oct(run.vault.stat().st_mode)[-3:] == "600"
    assert restored(run) == TEXTS
    (note,) = originals(run.target, run.vault, SECRET, ["7-1"])
    new = [json.loads(line)["text"] for line in run.target.read_text().splitlines()][7]
    span = note["parts"][0]["replaced"][0]
    assert (new[span["start"] : span["end"]], span["label"], span["original"]) == (
        new[8 : new.index(" saw")],
        "PATIENT",
        "Ann7 Hill",
    )
    log = [json.loads(line.partition("\t")[0]) for line in Path(f"{run.vault}.log").read_text().splitlines()]
    assert [(entry["notes"], f"({os.getuid()})" in entry["by"]) for entry in log] == [
        ("all", True), (["7-1"], True),
    ]  # fmt: skip
    files = [path for folder in (run.vault.parent, run.reports) for path in folder.iterdir()]
    assert not any(b"Ann7 Hill" in path.read_bytes() or b"Ames7" in path.read_bytes() for path in files)
    assert not run.work.exists() and deidentify(run).quarantined == 1


def test_the_command_prints_a_line_for_each_note(phistack: Phistack, run: RunSettings, tmp_path: Path) -> None:
    key = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
    deidentify(replace(run, vault_key=key.encode()))
    (tmp_path / "key").write_text(key)
    given = ("reidentify", run.target, "--vault", run.vault, "--vault-key", tmp_path / "key", "--note", "3-1")
    assert phistack(*given)[0] != 0
    (tmp_path / "key").chmod(0o600)
    status, shown, error = phistack(*given)
    assert status == 0, error
    assert json.loads(shown)["parts"][0]["text"] == TEXTS[3]


@pytest.mark.parametrize("where", ["Store.add", "Vault.write", "os.sync"])
def test_wherever_a_run_stops_the_next_start_has_all_originals(
    run: RunSettings, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = {"Store.add": (Store, "add"), "Vault.write": (Vault, "write"), "os.sync": (os, "sync")}[where]
    real, times = getattr(owner, name), iter([True] * (where == "Store.add"))

    def stopped(*given: Any) -> Any:
        if next(times, False):
            return real(*given)
        raise StorageError("stopped")

    with monkeypatch.context() as patch, pytest.raises(StorageError):
        patch.setattr(owner, name, stopped)
        deidentify(run)
    assert not run.target.exists()
    with pytest.raises(SettingsError, match="was begun with another vault"):
        deidentify(replace(run, vault_key=b"another key of 16"))
    with pytest.raises(SettingsError, match="was begun with another vault"):
        deidentify(replace(run, vault=None, vault_key=None))
    deidentify(run)
    assert restored(run) == TEXTS


def test_several_workers_write_the_same_vault(run: RunSettings) -> None:
    deidentify(replace(run, jobs=2))
    assert restored(run) == TEXTS


def test_every_part_of_a_row_comes_back(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('note,name,a,b\n1,"Hill, Ann",Dr. Ames,"Patient Ann Hill"\n')
    columns = Columns("note", ("a", "b"), "group", {"note": "pseudonym", "name": "PATIENT"})
    run = run_over(tmp_path / "in.csv", columns, key=KEY, vault=tmp_path / "vault", vault_key=SECRET)
    deidentify(run)
    (note,) = originals(run.target, run.vault, SECRET)
    assert [part["text"] for part in note["parts"]] == ["1", "Hill, Ann", "Dr. Ames", "Patient Ann Hill"]
    assert note["id"] == run.target.read_text().splitlines()[1].partition(",")[0]


def test_notes_of_the_same_text_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"{name}-1", "text": f"Patient {name} slept."}) for name in ("Ann", "Bo")]
    (tmp_path / "in.jsonl").write_text("".join(f"{line}\n" for line in lines))
    run = run_over(tmp_path / "in.jsonl", key=KEY, vault=tmp_path / "vault", vault_key=SECRET)
    deidentify(run)
    assert restored(run, "Bo-1") == ["Patient Bo slept."]
    for file, kept in ((run.target, 0), (run.vault, 1)):
        whole = file.read_text()
        lines = whole.splitlines(keepends=True)
        file.write_text("".join([*lines[:kept], *reversed(lines[kept:])]))
        with pytest.raises(CorpusError, match="is not the one that the run wrote there"):
            originals(run.target, run.vault, SECRET, ["Bo-1"])
        file.write_text(whole)


def test_what_does_not_belong_together_is_one_sentence(run: RunSettings, tmp_path: Path) -> None:
    deidentify(run)
    other = replace(run, target=tmp_path / "other.jsonl", vault=tmp_path / "kept" / "other", policy=Policy.named("tag"))
    deidentify(other)
    whole, lines = run.target.read_bytes(), run.vault.read_bytes().splitlines(keepends=True)

    def refused(message: str, *ids: str, error: type[PhistackError] = SettingsError, **more: Any) -> None:
        with pytest.raises(error, match=message) as caught:
            originals(**{"notes": run.target, "path": run.vault, "key": SECRET, "ids": ids, **more})
        assert "Ames" not in str(caught.value) and "\n" not in str(caught.value)

    refused("cannot be opened with this key", key=KEY)
    refused("is not a vault", path=tmp_path / "in.jsonl")
    refused("other is of another run than the output", path=other.vault)
    refused("cannot be used: No such file", path=tmp_path / "none")
    refused("has no note 999-1", "999-1", error=CorpusError)
    run.target.write_bytes(whole.replace(b"All well", b"All ill", 1))
    refused("the note 0-1 in .* is not the one that the run wrote", "0-1", error=CorpusError)
    assert restored(run, "1-1") == TEXTS[1:2]
    run.target.write_bytes(whole.partition(b"\n")[2])
    refused("the note 1-1 in .* is not the one", "1-1", error=CorpusError)
    refused("has more or fewer notes", "999-1", error=CorpusError)
    run.target.write_bytes(whole)
    run.vault.write_bytes(b"".join([*lines[:4], other.vault.read_bytes().splitlines(keepends=True)[4], *lines[5:]]))
    refused("the note 3-1 in .* is not the one", "3-1", error=CorpusError)
    log = Path(f"{run.vault}.log")
    log.write_text(log.read_text().partition("\n")[2])
    refused("line 1 of .*vault.log was changed, or a line before it removed")


def test_a_vault_that_would_not_be_safe_is_refused(run: RunSettings, tmp_path: Path) -> None:
    for settings, message in [
        ({"vault_key": None}, "give both --vault and --vault-key"),
        ({"vault_key": KEY}, "is that of the surrogates"),
        ({"vault": run.reports / "vault"}, "must not lie with the notes"),
    ]:
        with pytest.raises(SettingsError, match=message):
            replace(run, **settings)
    run.vault.write_text("something else")
    with pytest.raises(SettingsError, match="vault is already there"):
        deidentify(run)
    assert run.vault.read_text() == "something else" and not run.target.exists()
    run.vault.unlink()
    deidentify(run)
    run.vault.unlink()
    with pytest.raises(SettingsError, match=r"the vault .* cannot be used: No such file"):
        deidentify(run)
