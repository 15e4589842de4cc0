"""The folder of a run: its lock, what an earlier start left in it, and how its results are put in place.

    with locked(settings.work), kept_journal(settings.work) as journal:      no second process tries the same
        secret = begun(settings, form, journal, fingerprint)    raises if the run began with other settings
        publish(settings, form, replace=False)       OUT.partial/reports -> OUT.run, OUT.partial/output/OUT -> OUT
    clear(settings.work)                       nothing of the run is left in OUT.partial

Both renames can be interrupted anywhere: what is still staged has not been renamed yet. A run replaces only what it
published before, and only if that is unchanged.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.chunks import chunks_of
from phistack.ensemble.batch.journal import Journal
from phistack.ensemble.batch.reports.audit import audit_run
from phistack.ensemble.batch.reports.summary import Summary, read_summary
from phistack.ensemble.batch.rows import InputFormat
from phistack.ensemble.batch.settings import RunSettings
from phistack.features.errors import SettingsError, StorageError
from phistack.features.writing import make_way, refuse_taken

ROSTER_INDEX = "roster.sqlite"
"""The roster for all workers, in the folder of the unfinished run, while they work."""
OWN_ROSTER = "identifiers.jsonl"
"""The roster that records bring along, in the same folder."""

_JOURNAL = ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm")
_STAGED = ("output", "reports", "old")


@contextmanager
def locked(folder: Path, taken: str = "another run is writing to {}; wait until it ends") -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is missing; the lock ends with the process, however that ends.

    :param taken: the message, with the folder in it, if another process holds it.
    :raises SettingsError: with that message.
    """
    while True:
        # No other user may read it: an unfinished run is as secret as its input.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SettingsError(taken.format(folder)) from None
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


def published_summary(settings: RunSettings) -> Summary | None:
    """The summary beside a published output; None if there is none."""
    return read_summary(settings.reports) if is_published(settings) else None


def refuse_changed(settings: RunSettings) -> None:
    """Refuse to accept or replace a finished run if anything of it was changed.

    :raises SettingsError: naming what.
    """
    problems = audit_run(settings.target).problems
    if problems:
        raise SettingsError(
            f"{settings.target} was finished, but {problems[0]}; move {settings.target} and {settings.reports} away, "
            "and the same command makes them again"
        )


def kept(settings: RunSettings) -> str:
    """What is kept of a run that was stopped, in words; empty if nothing is."""
    return f"what is done is kept in {settings.work}; the same command continues" if is_begun(settings.work) else ""


def is_begun(work: Path) -> bool:
    """Whether a folder holds a run that began."""
    return (work / "journal.sqlite").exists()


def finished_summary(settings: RunSettings, form: InputFormat, fingerprint: Mapping[str, Any]) -> Summary | None:
    """The summary of a finished run with the same settings and input; None if there is none."""
    summary = published_summary(settings)
    if summary is None or summary.settings != fingerprint:
        return None
    if summary.input != hashlib.sha256(b"".join(chunk.digest for chunk in chunks_of(form))).hexdigest():
        taken = settings.target
        raise SettingsError(f"{taken} is already there, made from another input; remove it or give another name")
    refuse_changed(settings)
    return summary


def year_begun(settings: RunSettings) -> int:
    """The year in which an earlier start of the run counted ages; 0 without one."""
    summary = published_summary(settings)
    begun_with: Any = summary.settings if summary else None
    if is_begun(settings.work):
        with Journal(settings.work) as journal:
            begun_with = journal.fact("settings")
    year = begun_with.get("present year") if isinstance(begun_with, dict) else None
    return year if isinstance(year, int) else 0


@contextmanager
def kept_journal(work: Path) -> Iterator[Journal]:
    """The journal; if the run fails before anything is done, nothing of it is left."""
    nothing_done = False
    try:
        with Journal(work) as journal:
            try:
                yield journal
            except BaseException:
                with suppress(StorageError):
                    nothing_done = not _is_worth(journal)
                raise
    finally:
        if nothing_done:
            clear(work)


def _is_worth(journal: Journal) -> bool:
    """Whether anything is done that a run can continue from."""
    return bool(journal.numbers() or journal.fact("staged") or journal.fact("published"))


def begun(settings: RunSettings, form: InputFormat, journal: Journal, fingerprint: Mapping[str, Any]) -> bytes:
    """Begin or resume the run; :returns: the secret of its register."""
    # If nothing is done yet, as after a bundle that could not be loaded, any settings may begin the run anew.
    begun_with = journal.fact("settings") if _is_worth(journal) else None
    if begun_with is None:
        journal.set_fact("salt", secrets.token_hex(32))
        journal.set_fact("begun on", datetime.now(UTC).date().isoformat())
        journal.set_fact("settings", dict(fingerprint))
        journal.set_fact("source", form.state())
        begun_with = fingerprint
    changed = sorted(name for name in fingerprint if begun_with.get(name) != fingerprint[name])
    if changed:
        raise _other_run(
            settings, journal, f"was begun with another {' and another '.join(changed)}; continue with the same"
        )
    refuse_changed_input(settings, form, journal)
    return hmac.digest(settings.key or b"no key", str(journal.fact("salt")).encode(), "sha256")


def refuse_changed_input(settings: RunSettings, form: InputFormat, journal: Journal) -> None:
    """Refuse an input if any of its files changed since the run began, read or not."""
    if journal.fact("source") not in (None, form.state()):
        raise changed_input(settings, journal)


def changed_input(settings: RunSettings, journal: Journal) -> SettingsError:
    """The error for an input that is not the one with which the run began."""
    difference = (
        "is of another input, or the input was changed since; restore it with its modification time (cp -p keeps it)"
    )
    return _other_run(settings, journal, difference)


def _other_run(settings: RunSettings, journal: Journal, difference: str) -> SettingsError:
    if journal.fact("published") and is_published(settings):
        taken = f"{settings.target} is already there, and its run {difference}"
        return SettingsError(f"{taken}, or remove {settings.target}, {settings.reports} and {settings.work}")
    return SettingsError(
        f"the unfinished run in {settings.work} {difference}, or start with --restart to discard what was done"
    )


def replaces_own(settings: RunSettings, form: InputFormat, *, published: bool) -> bool:
    """Whether this run will replace what it published before.

    :raises SettingsError: if anything else is there, or what was published has been changed.
    """
    summary = published_summary(settings) if published else None
    if summary is None:
        refuse_taken(settings.target, settings.reports)
        form.table.refuse_taken()
        return False
    refuse_changed(settings)
    return True


def publish(settings: RunSettings, form: InputFormat, *, replace: bool) -> Summary:
    """Rename reports and output into their places, unless they already are there.

    :param replace: whether what is there is an earlier result of the same run.
    :raises SettingsError: if something else is there.
    :raises StorageError: if the summary cannot be read.
    """
    form.table.publish(replace=replace)
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
    return summary


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
    for name in (ROSTER_INDEX, OWN_ROSTER, *(_JOURNAL if all else ())):
        (work / name).unlink(missing_ok=True)
    for name in ("chunks", *_STAGED) if all else _STAGED:
        shutil.rmtree(work / name, ignore_errors=True)


def remove(work: Path) -> None:
    """Remove the folder of a run, if nothing but what a run makes is in it."""
    clear(work)
    with suppress(OSError):
        (work / "lock").unlink()
        work.rmdir()
