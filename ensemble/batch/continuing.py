"""What an earlier start left: a finished run, one to continue, or a run with other settings.

with kept_journal(settings.work) as journal:
    secret = begun(settings, form, journal, fingerprint)        raises if the run began with other settings
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.chunks import chunks_of
from phistack.ensemble.batch.journal import Journal
from phistack.ensemble.batch.publishing import clear, is_published, published_summary, refuse_changed
from phistack.ensemble.batch.reports.summary import Summary
from phistack.ensemble.batch.rows import InputFormat
from phistack.ensemble.batch.settings import RunSettings
from phistack.features.errors import SettingsError, StorageError


def kept(settings: RunSettings) -> str:
    """What is kept of a run that was stopped, in words; empty if nothing is."""
    return f"what is done is kept in {settings.work}; the same command continues" if is_begun(settings.work) else ""


def is_begun(work: Path) -> bool:
    """Whether a folder holds a run that began."""
    return (work / "journal.sqlite").exists()


def finished_summary(settings: RunSettings, form: InputFormat, fingerprint: Mapping[str, Any]) -> Summary | None:
    """The summary of a finished run with the same settings and input; nothing if there is none."""
    summary = published_summary(settings)
    if summary is None or summary.get("settings") != fingerprint:
        return None
    if summary.get("input") != hashlib.sha256(b"".join(chunk.digest for chunk in chunks_of(form))).hexdigest():
        taken = settings.target
        raise SettingsError(f"{taken} is already there, made from another input; remove it or give another name")
    refuse_changed(settings, summary)
    return Summary.from_dict(summary)


def year_begun(settings: RunSettings) -> int:
    """The year in which ages count in an earlier start of the run; 0 without one."""
    summary = published_summary(settings)
    begun_with = summary.get("settings") if summary else None
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
    """Begin the run or take it up; :returns: the secret of its register."""
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
