"""What an earlier start left: a run that is finished, one that goes on, or one that is another.

with kept_journal(settings.work) as journal:
    secret = begun(settings, form, journal, fingerprint)        raises where the run was begun with other settings
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.chunks import chunks_of
from phistack.ensemble.batch.journal import Journal
from phistack.ensemble.batch.publishing import clear, is_published, refuse_changed
from phistack.ensemble.batch.reports.summary import Summary, read_summary
from phistack.ensemble.batch.rows import InputFormat
from phistack.ensemble.batch.settings import RunSettings
from phistack.features.errors import SettingsError, StorageError

_OR_RESTART = "or start with --restart to discard what was done"


def kept(settings: RunSettings) -> str:
    """What is kept of a run that was stopped, in words; empty where that is nothing."""
    return f"what is done is kept in {settings.work}; the same command continues" if is_begun(settings.work) else ""


def is_begun(work: Path) -> bool:
    """Whether a run was begun in a folder."""
    return (work / "journal.sqlite").exists()


def finished_summary(settings: RunSettings, form: InputFormat, fingerprint: Mapping[str, Any]) -> Summary | None:
    """The summary of a finished run with the same settings and input; nothing if there is none."""
    summary = read_summary(settings.reports) if is_published(settings) else None
    if summary is None or summary.get("settings") != fingerprint:
        return None
    if summary.get("input") != _digest_of(chunk.digest for chunk in chunks_of(form)):
        taken = settings.target
        raise SettingsError(f"{taken} is already there, made from another input; remove it or give another name")
    refuse_changed(settings, summary)
    return Summary.from_dict(summary)


def year_begun(settings: RunSettings) -> int:
    """The year in which ages count in an earlier start of the run; 0 without one."""
    summary = read_summary(settings.reports) if is_published(settings) else None
    begun_with = summary.get("settings") if summary else None
    if is_begun(settings.work):
        with Journal(settings.work) as journal:
            begun_with = journal.fact("settings")
    year = begun_with.get("present year") if isinstance(begun_with, dict) else None
    return year if isinstance(year, int) else 0


@contextmanager
def kept_journal(work: Path) -> Iterator[Journal]:
    """The journal; it goes, so that nothing is left of the run, if that fails with nothing done."""
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
    """Whether anything is done with which a run can go on."""
    return bool(journal.numbers() or journal.fact("staged") or journal.fact("published"))


def begun(settings: RunSettings, form: InputFormat, journal: Journal, fingerprint: Mapping[str, Any]) -> bytes:
    """Begin the run or take it up; :returns: the secret of its register."""
    # Where nothing is done yet, as after a bundle that could not be loaded, there is nothing to go on with.
    begun_with = journal.fact("settings") if _is_worth(journal) else None
    if begun_with is None:
        journal.set_fact("salt", secrets.token_hex(32))
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
    """Refuse an input of which any file is not as it was when the run began, also one that is not read yet."""
    if journal.fact("source") not in (None, form.state()):
        raise changed_input(settings, journal)


def changed_input(settings: RunSettings, journal: Journal) -> SettingsError:
    """What is raised where the input is not that with which the run began."""
    difference = (
        "is of another input, or the input was changed since; restore it with its modification time (cp -p keeps it)"
    )
    return _other_run(settings, journal, difference)


def _other_run(settings: RunSettings, journal: Journal, difference: str) -> SettingsError:
    if journal.fact("published") and is_published(settings):
        taken = f"{settings.target} is already there, and its run {difference}"
        return SettingsError(f"{taken}, or remove {settings.target}, {settings.reports} and {settings.work}")
    return SettingsError(f"the unfinished run in {settings.work} {difference}, {_OR_RESTART}")


def _digest_of(digests: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()
