"""How the results of a run take their places, and what is left of its folder.

    publish(settings, replace=False)       OUT.partial/reports -> OUT.run, OUT.partial/output/OUT -> OUT
    clear(settings.work, all=True)         nothing of the run is left in OUT.partial

Both renames can be interrupted anywhere: what is still staged has not been renamed yet. Nothing is replaced but what
the same run had published before, and only if it is still as it was written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.reports.audit import changes
from phistack.ensemble.batch.reports.report import AUDIT
from phistack.ensemble.batch.reports.summary import Summary, read_summary
from phistack.ensemble.batch.settings import RunSettings
from phistack.features.errors import SettingsError, StorageError
from phistack.features.writing import make_way, refuse_taken

ROSTER_INDEX = "roster.sqlite"
"""The roster for all workers, in the folder of the unfinished run; it is there while they work only."""

_JOURNAL = ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm")
_STAGED = ("output", "reports", "old")


def is_published(settings: RunSettings) -> bool:
    """Whether both results are where they belong, whoever made them."""
    return all(map(os.path.lexists, (settings.target, settings.reports)))


def refuse_changed(settings: RunSettings, summary: Mapping[str, Any]) -> None:
    """Refuse to take a finished run for done, or to replace it, if anything of it was changed.

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
    summary = read_summary(settings.reports) if published and is_published(settings) else None
    if summary is None:
        refuse_taken(settings.target, settings.reports)
        return False
    refuse_changed(settings, summary)
    return True


def publish(settings: RunSettings, *, replace: bool) -> Summary:
    """Rename reports and output to where they belong, whichever of them are not there yet.

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
                _put_away(target, settings.work / "old")
            make_way(target)
            staged.rename(target)
    for folder in (settings.target.parent, settings.work):
        _sync(folder)
    summary = read_summary(settings.reports)
    if summary is None:
        raise StorageError(f"the reports in {settings.reports} cannot be read")
    return Summary.from_dict(summary)


def _put_away(target: Path, old: Path) -> None:
    shutil.rmtree(old, ignore_errors=True)
    old.mkdir()
    target.rename(old / target.name)


def _sync(folder: Path) -> None:
    """See to it that the renames in a folder are on the disk before what they were renamed from is given up."""
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
