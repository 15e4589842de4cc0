"""Results on disk: complete or not at all, and never over anything else.

    refuse_taken(Path("engine"))                          before long work begins
    with new_file(Path("scores.json")) as part:           a hidden path beside it, renamed at the end
        part.write_text("{}")
    with new_folder(Path("out")) as part: ...             the same for a folder
    with new_file(Path("kept.json"), replace=True): ...   replaces the older file

A path is free if there is nothing, an empty file (as from `mktemp`) or an empty folder. After an error nothing is left;
what a killed process leaves is hidden and ends in `.part`.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from phistack.features.errors import SettingsError, StorageError

_FULL = (errno.ENOSPC, errno.EDQUOT)


def refuse_taken(*paths: Path) -> None:
    """Check that paths are free; :raises SettingsError: naming all that are not, dangling links too."""
    taken = [str(path) for path in paths if os.path.lexists(path) and not _is_empty(path)]
    if taken:
        are, them = ("are", "them") if len(taken) > 1 else ("is", "it")
        raise SettingsError(f"{' and '.join(taken)} {are} already there; remove {them} or give another name")


def _is_empty(path: Path) -> bool:
    if path.is_symlink():
        return False
    return not any(path.iterdir()) if path.is_dir() else path.is_file() and not path.stat().st_size


def write_json(path: Path, value: object, *, indent: int | None = 2) -> None:
    """Write a value as JSON in UTF-8; not atomic, so use it within `new_folder` or the like."""
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def make_way(path: Path) -> None:
    """Check that a path is free, and remove an empty file there; :raises SettingsError: if anything else is there."""
    refuse_taken(path)
    if path.is_file():
        path.unlink()


@contextmanager
def new_file(path: Path, *, replace: bool = False, advice: str = "") -> Iterator[Path]:
    """A hidden path in the same folder, renamed to the path at the end of the block if nothing failed.

    :param replace: whether an older file is replaced.
    :param advice: what to do if the disk refuses, besides freeing space.
    :raises SettingsError: if the path is taken, at the beginning or the end.
    :raises StorageError: if the disk refuses.
    """
    part = path.absolute().with_name(f".{uuid.uuid4().hex[:12]}.part")
    with refused_by_disk(path, advice):
        try:
            if not replace:
                refuse_taken(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            yield part
            if not replace:
                make_way(path)
            part.replace(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)
            with suppress(OSError):
                part.unlink()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """As `new_file`, with an empty folder."""
    with new_file(path) as part:
        part.mkdir()
        yield part


def write_new(path: Path, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, to a new file; raises what `new_file` does."""
    with new_file(path) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def refused_by_disk(path: Path, advice: str = "") -> Iterator[None]:
    """Turn OSError into StorageError, with the file and what to do."""
    try:
        yield
    except OSError as error:
        what_to_do = f"; {advice}" if advice else remedy(error)
        raise StorageError(f"{path} cannot be written: {error.strerror or type(error).__name__}{what_to_do}") from None


def remedy(error: OSError) -> str:
    """What to do about an error of the disk, to append to its message; empty if the message is enough."""
    return "; free space on its disk and give the same command again" if error.errno in _FULL else ""
