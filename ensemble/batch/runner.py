"""A run over a whole input, from start to end, or from where an earlier start stopped.

    summary = deidentify(RunSettings(source, target, bundle, Policy.named("safe-harbor")))
    summary.notes, summary.quarantined

    process    chunks of the input that are not done yet go to the workers, what comes back to the store
    check      the output is put together, read again, compared note by note, and searched for identifiers
    report     audit log, quarantine, review list, summary
    publish    two renames: reports, then the output

After any interruption, the next start with the same settings goes on, and the output is the same byte for byte. If
notes are held back for a transient reason, the unfinished run is kept beside the output, and the next start tries these
notes again and puts the output together anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.chunks import Chunk, chunks_of
from phistack.ensemble.batch.columns import check_labels
from phistack.ensemble.batch.journal import Journal
from phistack.ensemble.batch.own_roster import with_own_roster
from phistack.ensemble.batch.reports.report import PASSED_OVER, write_reports
from phistack.ensemble.batch.reports.summary import Start, Summary
from phistack.ensemble.batch.rows import InputFormat, Row, open_format, refuse_other_ending
from phistack.ensemble.batch.run_folder import (
    OWN_ROSTER,
    ROSTER_INDEX,
    begun,
    changed_input,
    clear,
    finished_summary,
    is_begun,
    is_published,
    kept_journal,
    locked,
    publish,
    refuse_changed_input,
    remove,
    replaces_own,
    year_begun,
)
from phistack.ensemble.batch.settings import RunSettings
from phistack.ensemble.batch.store import Store, check_output
from phistack.ensemble.batch.vault import Vault
from phistack.ensemble.batch.workers.clusters import connected
from phistack.ensemble.batch.workers.job import Bundle, Job, suited_engines
from phistack.ensemble.batch.workers.pool import Workers
from phistack.ensemble.bundles.files import bundle_label_set, bundle_labels, manifest_digest
from phistack.ensemble.stacking.known.roster import Roster, kept_open, tell_unused
from phistack.ensemble.tools.progress import meter

Engines = Mapping[str, Bundle]
"""Language -> the bundle that reads the notes in it."""

_LOG = logging.getLogger("phistack")
_MANY = 1000
_NO_PATIENTS = (
    "no column names the patient of a note, so its %s is used (110 of 110-01): notes of one patient under different "
    "ids get different surrogates and are not searched for each other's names; name the column with --patient-column"
)


def deidentify(settings: RunSettings) -> Summary:
    """De-identify every note of an input.

    :returns: the summary of the run, or of an earlier start that finished the same run.
    :raises SettingsError: if the output is taken or was changed, another run is writing it, or input, bundle, policy,
        key or code are not those with which the run began.
    :raises CorpusError: if the input cannot be opened.
    :raises StorageError: if the disk is full or fails; a later start goes on.
    :raises MissingResourceError: if the cluster is gone, or processes die whatever they get; a later start goes on.
    """
    form = open_format(settings.source, settings.target, settings.form_settings, settings.form)
    form.found.refuse_none()
    refuse_other_ending(form, settings.target)
    digest, labels = manifest_digest(settings.model), bundle_labels(settings.model)
    settings = _with_columns(settings, form, labels)
    label_set, own_roster = bundle_label_set(settings.model) if labels else None, settings.work / OWN_ROSTER
    with locked(settings.work):
        if settings.restart and not is_published(settings):
            clear(settings.work)
        try:
            return _finished(with_own_roster(settings, form, label_set, own_roster), form, digest, labels)
        finally:
            own_roster.unlink(missing_ok=True)
            if not is_begun(settings.work):
                remove(settings.work)


def _finished(settings: RunSettings, form: InputFormat, digest: str, labels: Sequence[str]) -> Summary:
    """Do the run, or return what an earlier start made of it; raises what `deidentify` does."""
    fingerprint = settings.fingerprint(form.name, digest) | {"form of output": form.written}
    roster = _roster(settings, form, fingerprint["roster"], labels)
    engines = suited_engines(settings, roster)
    fingerprint["choice of engines"] = {language: bundle for language, (_, bundle) in engines.items()}
    # The whole run counts ages in one year, even if it goes on after New Year.
    settings = replace(settings, policy=settings.policy.in_year(year_begun(settings)))
    fingerprint["present year"] = settings.policy.options.present_year
    earlier = None if is_begun(settings.work) else finished_summary(settings, form, fingerprint)
    if earlier is None:
        return _run(settings, form, fingerprint, engines)
    if settings.vault and settings.vault_key:
        Vault(settings.vault_key).run_of(settings.vault, earlier.log_end)
    return earlier


def _roster(settings: RunSettings, form: InputFormat, digest: str, labels: Sequence[str]) -> Roster | None:
    """The roster, checked before the run begins; None without one."""
    if settings.known is None:
        return None
    roster = kept_open(settings.known.resolve(), digest, settings.key, None)
    roster.check(labels)
    tell_unused(roster, labels)
    if not settings.unmatched_roster:
        notes = open_format(settings.source, settings.target, settings.form_settings, form.name).rows()
        roster.check_fits(note.patient for note in notes if note.parts)
    return roster


def _with_columns(settings: RunSettings, form: InputFormat, labels: Sequence[str]) -> RunSettings:
    """The settings with the columns of the input; a warning if none names the patient."""
    columns = form.find_columns(keyed=settings.key is not None)
    form.refuse_other_encoding()
    if columns is None:
        return settings
    if labels:
        check_labels(columns.labels, labels)
    if columns.patient is None:
        _LOG.warning(_NO_PATIENTS, columns.id)
    return replace(settings, form_settings=replace(settings.form_settings, columns=columns))


def _run(settings: RunSettings, form: InputFormat, fingerprint: Mapping[str, Any], engines: Engines) -> Summary:
    with kept_journal(settings.work) as journal:
        secret = begun(settings, form, journal, fingerprint)
        if not journal.fact("staged"):
            journal.set_fact("published", replaces_own(settings, form, published=bool(journal.fact("published"))))
            _work(settings, form, fingerprint, engines, journal, secret)
            # From here on only renames remain, and all that they rename is on the disk.
            os.sync()
            journal.set_fact("staged", True)
        summary = publish(settings, form, replace=bool(journal.fact("published")))
        keep = bool(summary.tried_again)
        if keep:
            journal.set_fact("published", True)
            journal.set_fact("staged", False)
    clear(settings.work, all=not keep)
    return summary


def _work(
    settings: RunSettings,
    form: InputFormat,
    fingerprint: Mapping[str, Any],
    engines: Engines,
    journal: Journal,
    secret: bytes,
) -> None:
    run = hashlib.sha256(f"vault {journal.fact('salt')}".encode()).hexdigest()
    vault = Vault(settings.vault_key, run) if settings.vault_key else None
    if vault and settings.vault:
        vault.refuse_other(settings.vault)
    store = Store(settings.work, journal, form, secret, vault)
    damaged = store.forget_damaged()
    suspects = store.chunks_to_retry()
    if suspects:
        journal.forget(suspects)
    job = Job(
        replace(settings, vault=None, vault_key=None),
        (settings.model.resolve(), fingerprint["bundle"]),
        fingerprint["code"],
        secret,
        engines,
        roster=fingerprint["roster"],
    )
    cluster = connected(settings.cluster, settings.spark)
    with (
        closing(cluster) if cluster else nullcontext(),
        _shared_roster(settings, fingerprint["roster"], is_shared=bool(cluster) or settings.jobs > 1) as index,
        Workers(replace(job, roster_index=index), settings.jobs, cluster) as workers,
    ):
        begin = time.monotonic()
        n_notes = _process(settings, form, store, workers, frozenset(suspects))
        seconds = time.monotonic() - begin
        refuse_changed_input(settings, form, journal)
        check_output(settings, form, store, workers)
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    start = Start(finished=finished, notes=n_notes, seconds=round(seconds, 3), damaged_chunks=damaged)
    log_end = write_reports(settings, fingerprint, store, start)
    if vault and settings.vault:
        vault.write(settings.vault, store.tokens(), log_end)


@contextmanager
def _shared_roster(settings: RunSettings, digest: str, *, is_shared: bool) -> Iterator[Path | None]:
    """The roster as a file that all workers of this machine read; None if this process is the only worker."""
    if settings.known is None or not is_shared:
        yield None
        return
    index = settings.work.resolve() / ROSTER_INDEX
    index.unlink(missing_ok=True)
    try:
        kept_open(settings.known.resolve(), digest, settings.key, None).save(index, digest)
        yield index
    finally:
        index.unlink(missing_ok=True)


def _process(settings: RunSettings, form: InputFormat, store: Store, workers: Workers, suspects: frozenset[int]) -> int:
    """Do the chunks that are not done; :returns: their number of notes.

    :param suspects: chunks with a note that may have killed its process; they get an isolated process.
    """
    digests = hashlib.sha256()
    n_chunks = n_notes = 0
    shares: dict[int, float] = {}
    share_done = read = 0.0

    def todo() -> Iterator[tuple[Chunk, list[Row]]]:
        nonlocal n_chunks, share_done, read
        for chunk in chunks_of(form):
            n_chunks += 1
            shares[chunk.number], read = chunk.fraction - read, chunk.fraction
            digests.update(chunk.digest)
            done = store.journal.done(chunk.number)
            if done is None:
                yield chunk, [replace(row, raw=None) for row in chunk.rows if row.parts]
            elif done.input != chunk.digest:
                raise changed_input(settings, store.journal)
            else:
                share_done += shares.pop(chunk.number)

    def deaths(chunk: Chunk) -> int:
        # The run dies with a note only if the note is in this process.
        times = store.journal.begin(chunk.number) if workers.is_this_process else 0
        return _MANY if chunk.number in suspects else times

    with meter("de-identifying") as show:
        for chunk, results in workers.process(todo(), deaths):
            store.add(chunk, results)
            n_notes += sum(row.is_note for row in chunk.rows)
            # Chunks come back in any order, so the share of the last one read would jump.
            share_done += shares.pop(chunk.number)
            show(n_notes, share_done, store.journal.totals()[1])
    if store.journal.numbers() != list(range(n_chunks)):
        raise changed_input(settings, store.journal)
    store.journal.set_fact("input", digests.hexdigest())
    store.journal.set_fact(PASSED_OVER, form.found.passed_over())
    return n_notes
