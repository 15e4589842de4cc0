"""Files that a command writes beside its tables: whole or not at all, and never over another."""

import errno
from pathlib import Path

import pytest

from features.errors import CorpusError, SettingsError
from features.paths import write_new


def test_a_file_is_written_once(tmp_path):
    write_new(tmp_path / "scores.json", "{}\n")
    assert (tmp_path / "scores.json").read_bytes() == b"{}\n"
    with pytest.raises(SettingsError, match="already there"):
        write_new(tmp_path / "scores.json", "[]\n")


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    write_bytes = Path.write_bytes

    def half(path, content):
        write_bytes(path, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(CorpusError, match=r"scores.json cannot be written: No space left .* free space"):
        write_new(tmp_path / "scores.json", "{}\n")
    assert list(tmp_path.iterdir()) == []
