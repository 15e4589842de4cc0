"""Results on disk: whole or not at all, and never in the place of anything else.

    refuse_taken(Path("engine"))                          before long work begins
    with new_file(Path("scores.json")) as part:           a hidden path beside it, renamed at the end
        part.write_text("{}")
    with new_folder(Path("out")) as part: ...             the same for a folder
    with new_file(Path("kept.json"), replace=True): ...   what can be made again takes the place of the older one

A path is free where there is nothing, an empty file as `mktemp` leaves it, or, for a folder, an empty folder. After an
error nothing is left; what a killed process leaves is hidden and ends in `.part`.
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
    """See that paths are free; :raises SettingsError: if anything is there, were it a link to nothing, naming all."""
    taken = [str(path) for path in paths if os.path.lexists(path) and not _is_empty(path)]
    if taken:
        are, them = ("are", "them") if len(taken) > 1 else ("is", "it")
        raise SettingsError(f"{' and '.join(taken)} {are} already there; remove {them} or give another name")


def _is_empty(path: Path) -> bool:
    if path.is_symlink():
        return False
    return not any(path.iterdir()) if path.is_dir() else path.is_file() and not path.stat().st_size


def write_json(path: Path, value: object, *, indent: int | None = 2) -> None:
    """Write a value as JSON in UTF-8, by itself; within `new_folder` or the like it is whole or not at all."""
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def make_way(path: Path) -> None:
    """See that a path is free, and remove an empty file there, which no folder replaces.

    :raises SettingsError: if anything is there.
    """
    refuse_taken(path)
    if path.is_file():
        path.unlink()


@contextmanager
def new_file(path: Path, *, replace: bool = False, advice: str = "") -> Iterator[Path]:
    """A hidden path in the same folder, so that renaming never crosses a file system; what is written there takes the
    place at the end of the block if nothing failed.

    :param replace: whether it takes the place of an older file.
    :param advice: what to do where the disk refuses, if that is not only to free space.
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
    """As `new_file`, with a folder that is there to be filled."""
    with new_file(path) as part:
        part.mkdir()
        yield part


def write_new(path: Path, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, as a file that is new; raises what `new_file` does."""
    with new_file(path) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def refused_by_disk(path: Path, advice: str = "") -> Iterator[None]:
    """Say which file could not be written, and what to do; :raises StorageError: in place of OSError."""
    try:
        yield
    except OSError as error:
        what_to_do = f"; {advice}" if advice else remedy(error)
        raise StorageError(f"{path} cannot be written: {error.strerror or type(error).__name__}{what_to_do}") from None


def remedy(error: OSError) -> str:
    """What to do about a refusal of the disk, to be put behind what it was; nothing where that says it."""
    return "; free space on its disk and give the same command again" if error.errno in _FULL else ""
