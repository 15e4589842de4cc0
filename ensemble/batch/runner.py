"""A run over a whole input, from start to end, or from where an earlier start stopped.

    summary = deidentify(RunSettings(source, target, bundle, Policy.named("safe-harbor")))
    summary["notes"], summary["quarantined"]

    process    chunks of the input that are not done yet go to the workers, what comes back to the store
    check      the output is put together, read again, compared note by note, and searched for identifiers
    report     audit log, quarantine, review list, summary
    publish    two renames: reports, then the output

Whatever interrupts it, the next start with the same settings goes on, and the output is the same byte for byte.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ensemble.batch.checking import check_output
from ensemble.batch.chunks import Chunk, chunks_of
from ensemble.batch.detector import bundle_digest
from ensemble.batch.forms import open_form
from ensemble.batch.journal import Journal
from ensemble.batch.lock import locked
from ensemble.batch.meter import meter
from ensemble.batch.reports import read_summary, write_reports
from ensemble.batch.rows import Form
from ensemble.batch.settings import RunSettings
from ensemble.batch.store import Store
from ensemble.batch.work import Job, Note
from ensemble.batch.workers import Workers
from ensemble.paths import refuse_existing
from features.errors import CorpusError, SettingsError

__all__ = ["deidentify"]

_OR_RESTART = "or start with --restart to throw away what was done"


def deidentify(settings: RunSettings) -> dict[str, Any]:
    """De-identify every note of an input.

    :returns: the summary of the run, as in `summary.json`; of an earlier start, if that had finished the same run.
    :raises SettingsError: if the output is taken, another run is at it, or input, bundle, policy, key or code are not
        those with which the run began.
    :raises CorpusError: if the input cannot be opened.
    :raises MissingResourceError: if the disk is full or the cluster is gone; a later start goes on.
    """
    form = open_form(settings.source, settings.target, settings.form_settings, settings.form)
    fingerprint = settings.fingerprint(form.name, bundle_digest(settings.model))
    with locked(settings.work):
        if settings.restart:
            _clear(settings.work)
        try:
            if not _is_begun(settings.work):
                finished = _finished(settings, form, fingerprint)
                if finished is not None:
                    _clear(settings.work)
                    return finished
            return _run(settings, form, fingerprint)
        finally:
            if not _is_begun(settings.work):
                _remove(settings.work)


def _is_begun(work: Path) -> bool:
    return (work / "journal.sqlite").exists()


def _finished(settings: RunSettings, form: Form, fingerprint: Mapping[str, Any]) -> dict[str, Any] | None:
    """The summary of a finished run with the same settings and input; nothing if the output is free."""
    summary = read_summary(settings.reports) if all(map(os.path.lexists, _outputs(settings))) else None
    if summary is None or summary.get("settings") != fingerprint:
        for path in _outputs(settings):
            refuse_existing(path)
        return None
    if summary.get("input") != _digest_of(chunk.digest for chunk in chunks_of(form)):
        taken = settings.target
        raise SettingsError(f"{taken} is already there, made from another input; remove it or give another name")
    return summary


def _outputs(settings: RunSettings) -> tuple[Path, Path]:
    return settings.target, settings.reports


def _run(settings: RunSettings, form: Form, fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    with Journal(settings.work) as journal:
        secret = _begun(settings, journal, fingerprint)
        if not journal.fact("published"):
            for path in _outputs(settings):
                refuse_existing(path)
            _work(settings, form, fingerprint, journal, secret)
            # From here on only renames remain, and all that they rename is on the disk.
            os.sync()
            journal.set_fact("published", True)
    return _publish(settings)


def _begun(settings: RunSettings, journal: Journal, fingerprint: Mapping[str, Any]) -> bytes:
    """Begin the run or take it up; :returns: the secret of its register."""
    # Where nothing is done yet, as after a bundle that could not be loaded, there is nothing to go on with.
    begun_with = journal.fact("settings") if journal.numbers() else None
    if begun_with is None:
        journal.set_fact("salt", secrets.token_hex(32))
        journal.set_fact("settings", dict(fingerprint))
        begun_with = fingerprint
    changed = sorted(name for name in fingerprint if begun_with.get(name) != fingerprint[name])
    if changed:
        raise SettingsError(
            f"the unfinished run in {settings.work} was begun with another {' and another '.join(changed)}; go on with "
            f"the same, {_OR_RESTART}"
        )
    return hmac.digest(settings.key or b"no key", str(journal.fact("salt")).encode(), "sha256")


def _work(settings: RunSettings, form: Form, fingerprint: Mapping[str, Any], journal: Journal, secret: bytes) -> None:
    store = Store(settings.work, journal, form, secret)
    damaged = store.forget_damaged()
    job = Job(
        model=settings.model.resolve(),
        model_digest=fingerprint["bundle"],
        code=fingerprint["code"],
        policy=settings.policy,
        key=settings.key,
        secret=secret,
        struck=settings.struck,
        timeout=settings.timeout,
        second_pass=settings.second_pass,
        load=settings.load,
    )
    with Workers(job, jobs=settings.jobs, cluster=settings.cluster) as workers:
        begin = time.monotonic()
        n_notes = _process(form, store, workers)
        seconds = time.monotonic() - begin
        check_output(settings, form, store, workers)
    facts = {"notes of this start": n_notes, "seconds": round(seconds, 3), "chunks done again": damaged}
    write_reports(settings, fingerprint, store, facts)


def _process(form: Form, store: Store, workers: Workers) -> int:
    """Do the chunks that are not done; :returns: how many notes that were."""
    digests = hashlib.sha256()
    n_chunks = n_notes = 0

    def todo() -> Iterator[tuple[Chunk, list[Note]]]:
        nonlocal n_chunks
        for chunk in chunks_of(form):
            n_chunks += 1
            digests.update(chunk.digest)
            done = store.journal.done(chunk.number)
            if done is None:
                yield chunk, [Note(row.id, row.patient, row.parts) for row in chunk.rows if row.parts]
            elif done.input != chunk.digest:
                raise _changed_input(store)

    with meter("de-identifying") as show:
        for chunk, results in workers.process(todo()):
            store.add(chunk, results)
            n_notes += sum(row.is_note for row in chunk.rows)
            show(n_notes, chunk.fraction, store.journal.totals()[1])
    if store.journal.numbers() != list(range(n_chunks)):
        raise _changed_input(store)
    store.journal.set_fact("input", digests.hexdigest())
    return n_notes


def _changed_input(store: Store) -> SettingsError:
    return SettingsError(
        f"the input is not the one with which the unfinished run in {store.folder} was begun; go on with that, "
        f"{_OR_RESTART}"
    )


def _publish(settings: RunSettings) -> dict[str, Any]:
    """Rename reports and output to where they belong, whichever of them are not there yet."""
    for staged, target in (
        (settings.work / "reports", settings.reports),
        (settings.work / "output" / settings.target.name, settings.target),
    ):
        if staged.exists():
            if os.path.lexists(target):
                raise SettingsError(f"{target} was made by something else during the run; move it away and start again")
            staged.rename(target)
    for folder in (settings.target.parent, settings.work):
        _sync(folder)
    summary = read_summary(settings.reports)
    if summary is None:
        raise CorpusError(f"the reports in {settings.reports} cannot be read")
    _clear(settings.work)
    return summary


def _sync(folder: Path) -> None:
    """See to it that the renames in a folder are on the disk before what they were renamed from is given up."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _clear(work: Path) -> None:
    """Remove what a run made, and nothing else; the journal first, as without it the rest means nothing."""
    for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"):
        (work / name).unlink(missing_ok=True)
    for name in ("chunks", "output", "reports"):
        shutil.rmtree(work / name, ignore_errors=True)


def _remove(work: Path) -> None:
    with suppress(OSError):
        (work / "lock").unlink()
        work.rmdir()


def _digest_of(digests: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()
