"""The folder of a run: its lock, how its results take their places, and what is left of it.

    with locked(settings.work): ...        a second process that tries the same is refused
    publish(settings, replace=False)       OUT.partial/reports -> OUT.run, OUT.partial/output/OUT -> OUT
    clear(settings.work, all=True)         nothing of the run is left in OUT.partial

Both renames can be interrupted anywhere: what is still staged has not been renamed yet. Nothing is replaced but what
the same run had published before, and only if it is still as it was written.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.reports.audit import changes
from phistack.ensemble.batch.reports.report import AUDIT
from phistack.ensemble.batch.reports.summary import Summary, read_summary
from phistack.ensemble.batch.settings import RunSettings
from phistack.features.errors import SettingsError, StorageError
from phistack.features.writing import make_way, refuse_taken

ROSTER_INDEX = "roster.sqlite"
"""The roster for all workers, in the folder of the unfinished run, while they work."""

_JOURNAL = ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm")
_STAGED = ("output", "reports", "old")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is missing; the lock ends with the process, however that ends.

    :raises SettingsError: if another process holds it.
    """
    while True:
        # No other user may read it: an unfinished run is as secret as its input.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SettingsError(f"another run is writing to {folder}; wait until it ends") from None
            # The run that held it may have finished and removed the file before we had it.
            if _is_still(folder / "lock", file.fileno()):
                yield
                return


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def is_published(settings: RunSettings) -> bool:
    """Whether both results are in their places, of this run or another."""
    return all(map(os.path.lexists, (settings.target, settings.reports)))


def published_summary(settings: RunSettings) -> dict[str, Any] | None:
    """The summary beside a published output; None if there is none."""
    return read_summary(settings.reports) if is_published(settings) else None


def refuse_changed(settings: RunSettings, summary: Mapping[str, Any]) -> None:
    """Refuse to accept or replace a finished run if anything of it was changed.

    :raises SettingsError: naming what.
    """
    changed = changes(settings.reports / AUDIT, settings.target, summary)
    if changed:
        raise SettingsError(
            f"{settings.target} was finished, but {changed[0]}; move {settings.target} and {settings.reports} away, "
            "and the same command makes them again"
        )


def replaces_own(settings: RunSettings, *, published: bool) -> bool:
    """Whether this run will replace what it published before.

    :param published: whether it has published anything before.
    :raises SettingsError: if anything else is there, or what was published has been changed.
    """
    summary = published_summary(settings) if published else None
    if summary is None:
        refuse_taken(settings.target, settings.reports)
        return False
    refuse_changed(settings, summary)
    return True


def publish(settings: RunSettings, *, replace: bool) -> Summary:
    """Rename reports and output into their places, unless they already are there.

    :param replace: whether what is there is an earlier result of the same run.
    :returns: the summary.
    :raises SettingsError: if something else is there.
    :raises StorageError: if the summary cannot be read.
    """
    for staged, target in (
        (settings.work / "reports", settings.reports),
        (settings.work / "output" / settings.target.name, settings.target),
    ):
        if staged.exists():
            if replace and os.path.lexists(target):
                old = settings.work / "old"
                shutil.rmtree(old, ignore_errors=True)
                old.mkdir()
                target.rename(old / target.name)
            make_way(target)
            staged.rename(target)
    for folder in (settings.target.parent, settings.work):
        _sync(folder)
    summary = read_summary(settings.reports)
    if summary is None:
        raise StorageError(f"the reports in {settings.reports} cannot be read")
    return Summary.from_dict(summary)


def _sync(folder: Path) -> None:
    """Flush the renames in a folder to the disk, before what is left of their sources is removed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clear(work: Path, *, all: bool = True) -> None:
    """Remove what a run made, and nothing else; the journal first, as without it the rest means nothing.

    :param all: otherwise journal and chunks stay.
    """
    (work / ROSTER_INDEX).unlink(missing_ok=True)
    for name in _JOURNAL if all else ():
        (work / name).unlink(missing_ok=True)
    for name in ("chunks", *_STAGED) if all else _STAGED:
        shutil.rmtree(work / name, ignore_errors=True)


def remove(work: Path) -> None:
    """Remove the folder of a run, if nothing but what a run makes is in it."""
    clear(work)
    with suppress(OSError):
        (work / "lock").unlink()
        work.rmdir()
