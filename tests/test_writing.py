"""Output appears whole or not at all, and never replaces anything."""

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phistack.features.errors import SettingsError, StorageError
from phistack.features.writing import new_file, new_folder, refuse_taken, write_new

ROOT = Path(__file__).parents[1]


def _fill(path: Path) -> None:
    with new_folder(path) as folder:
        (folder / "a.txt").write_bytes(b"abcdef")


WRITERS = pytest.mark.parametrize("write", [lambda path: write_new(path, "abcdef"), _fill])


@WRITERS
def test_nothing_is_overwritten(tmp_path: Path, write: Any) -> None:
    write(tmp_path / "out")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SettingsError, match="out is already there; remove it"):
        write(tmp_path / "out")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(SettingsError, match="link is already there"):
        write(tmp_path / "link")
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "link"])


def test_what_is_empty_is_free(tmp_path: Path) -> None:
    for name, write in (("file", lambda path: write_new(path, "abcdef")), ("other", _fill), ("folder", _fill)):
        (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).touch()
        write(tmp_path / name)
        assert list((tmp_path / name).iterdir()) if write is _fill else (tmp_path / name).read_text() == "abcdef"
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match="empty cannot be written: Is a directory"):
        write_new(tmp_path / "empty", "abcdef")
    with pytest.raises(SettingsError, match=r"file and \S*folder are already there; remove them"):
        refuse_taken(tmp_path / "file", tmp_path / "free", tmp_path / "folder")


@WRITERS
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any) -> None:
    write_bytes = Path.write_bytes

    def half(path: Any, content: Any) -> None:
        write_bytes(path, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(StorageError, match=r"out cannot be written: No space left on device; free space on its disk"):
        write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_takes_the_place_meanwhile_stays(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="already there"), new_file(tmp_path / "out") as part:
        part.write_text("ours")
        (tmp_path / "out").write_text("another's")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out", "another's")]


def test_an_older_file_is_replaced_only_when_the_new_one_is_whole(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("old")
    with pytest.raises(ZeroDivisionError), new_file(kept, replace=True) as part:
        part.write_text("ne")
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["kept"] and kept.read_text() == "old"
    with new_file(kept, replace=True) as part:
        part.write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"] and kept.read_text() == "new"


def test_a_killed_process_leaves_nothing_under_the_name(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from phistack.features.writing import new_folder\n"
        "with new_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], cwd=ROOT, check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".") and left.suffix == ".part"
    _fill(tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["a.txt"]


def test_only_one_module_renames_what_it_wrote() -> None:
    """A rename makes a writer all-or-nothing; a run over many notes publishes what it staged."""
    packages = ("features", "tbed", "submodels", "ensemble")
    renaming = {
        path.relative_to(ROOT).as_posix()
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _renames(node, node.func)
    }
    assert renaming == {"features/writing.py", "ensemble/batch/run_folder.py"}


def _renames(call: ast.Call, name: ast.Attribute) -> bool:
    return name.attr == "rename" or (name.attr == "replace" and len(call.args) == 1 and not call.keywords)
