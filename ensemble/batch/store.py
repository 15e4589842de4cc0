"""The files of an unfinished run: each chunk's part of the output, and the facts about its notes.

    OUT.partial/lock                  held while a process works on the run
    OUT.partial/journal.sqlite        which chunks are done
    OUT.partial/chunks/000/000123.data, .json
    OUT.partial/output/OUT            the output, put together when all chunks are done
    OUT.partial/reports/              the reports, likewise

Files appear by renaming, whole or not at all; the checksums of the journal show what a power failure destroyed, and
those chunks are done again. `check_output` reads the whole output again: each text must have the checksum that its
worker computed, and the journal gets the counts of the patients' identifiers that are found.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.chunks import Chunk
from phistack.ensemble.batch.journal import GO_ON, DoneChunk, Journal
from phistack.ensemble.batch.rows import NO_LIMIT, InputFormat, Row, open_format, texts_digest
from phistack.ensemble.batch.settings import RunSettings
from phistack.ensemble.batch.vault import Vault
from phistack.ensemble.batch.workers.identifier_register import HashedIdentifier, IdentifierRegister, LeakSearch
from phistack.ensemble.batch.workers.job import NoteResult, is_transient
from phistack.ensemble.batch.workers.pool import Workers
from phistack.ensemble.tools.progress import meter
from phistack.features.errors import CorpusError, StorageError
from phistack.features.formats.format import sha256
from phistack.features.shown import hashed, shown_id
from phistack.features.writing import new_file, refused_by_disk

_CHUNKS_OF_A_FOLDER = 1000
Outcome = tuple[Row, NoteResult | None]
VAULT = "vault"
"""The fact of a note that holds what was replaced, encrypted, if the run has a vault."""


class Store:
    """Chunks on disk and in the journal.

    :param folder: the folder of the unfinished run.
    :param vault: seals what was replaced, if the run has one.
    """

    def __init__(
        self, folder: Path, journal: Journal, form: InputFormat, secret: bytes, vault: Vault | None = None
    ) -> None:
        self.folder = folder
        self.journal = journal
        self.form = form
        self.vault = vault
        self.register = IdentifierRegister(secret)

    def add(self, chunk: Chunk, results: Sequence[NoteResult]) -> None:
        """Store the results of a chunk: files first, then one transaction."""
        found = iter(results)
        outcomes = [(row, next(found) if row.parts else None) for row in chunk.rows]
        data = self._encoded(outcomes)
        records = [_record(row, result, self.vault) for row, result in outcomes if row.is_note]
        content = json.dumps(records, ensure_ascii=False).encode("utf-8", "surrogatepass")
        path = self._path(chunk.number)
        for suffix, part in ((".data", data), (".json", content)):
            with new_file(path.with_suffix(suffix), replace=True, advice=GO_ON) as new:
                new.write_bytes(part)
        quarantined = sum("problem" in record for record in records)
        done = DoneChunk(chunk.digest, sha256(data), sha256(content), len(records), quarantined)
        self.journal.add(chunk.number, done, self._entries(outcomes))

    def _encoded(self, outcomes: Sequence[Outcome]) -> bytes:
        """The rows that come out; a row that the form cannot write gets a problem."""
        try:
            return self._encode(outcomes)
        except (UnicodeEncodeError, CorpusError):
            for row, result in outcomes:
                if result is not None and not result.problem:
                    result.problem = self._problem(row, result)
            return self._encode(outcomes)

    def _encode(self, outcomes: Sequence[Outcome]) -> bytes:
        fine = [(row, result) for row, result in outcomes if not row.problem and not (result and result.problem)]
        if self.form.settings.write:
            fine = [(_edited(row, result), result) for row, result in fine]
        return self.form.encode([(row, result.texts if result else ()) for row, result in fine])

    def _problem(self, row: Row, result: NoteResult) -> str:
        try:
            self._encode([(row, result)])
        except UnicodeEncodeError as error:
            return f"the encoding {error.encoding} has no code for a character of the new text"
        except CorpusError as error:
            if self.form.settings.write:
                return str(error)
            return "the format of the output cannot hold the new text"
        return ""

    def _entries(self, outcomes: Sequence[Outcome]) -> set[tuple[bytes, HashedIdentifier]]:
        return {
            (self.register.patient(row.patient), entry)
            for row, result in outcomes
            if result is not None and not result.problem
            for entry in result.entries
        }

    def forget_damaged(self) -> int:
        """Forget every chunk whose files are not as the journal says; :returns: how many."""
        damaged = [number for number in self.journal.numbers() if not self._is_whole(number)]
        if damaged:
            self.journal.forget(damaged)
        return len(damaged)

    def chunks_to_retry(self) -> list[int]:
        """The numbers of the chunks with a note that was held back for a transient reason."""
        return [n for n, records in self.records() if any(is_transient(r.get("problem", "")) for r in records)]

    def _is_whole(self, number: int) -> bool:
        done, path = self.journal.done(number), self._path(number)
        try:
            found = tuple(sha256(path.with_suffix(suffix).read_bytes()) for suffix in (".data", ".json"))
        except FileNotFoundError:
            return False
        return done is not None and found == (done.data, done.records)

    def records(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """The number of each chunk, and the facts about each of its notes, in order."""
        for number in self.journal.numbers():
            content = self._path(number).with_suffix(".json").read_bytes()
            yield number, json.loads(content.decode("utf-8", "surrogatepass"))

    def tokens(self) -> Iterator[str]:
        """What the vault holds of each note that comes out, in order."""
        return (record[VAULT] for _, records in self.records() for record in records if "problem" not in record)

    def assemble(self, name: str) -> Path:
        """Put the output together; an earlier one is removed.

        :param name: the name of the output, which is gzipped if the name ends in .gz.
        """
        folder = self.folder / "output"
        shutil.rmtree(folder, ignore_errors=True)
        with refused_by_disk(folder / name, GO_ON):
            folder.mkdir()
            parts = (self._path(number).with_suffix(".data").read_bytes() for number in self.journal.numbers())
            self.form.table.assemble(parts, folder / name)
        return folder / name

    def _path(self, number: int) -> Path:
        return self.folder / "chunks" / f"{number // _CHUNKS_OF_A_FOLDER:03d}" / f"{number:06d}"


def _edited(row: Row, result: NoteResult | None) -> Row:
    edits = result.edits if result else []
    return replace(row, raw=replace(row.raw, edits=edits[0])) if row.raw and edits else row


def _record(row: Row, result: NoteResult | None, vault: Vault | None) -> dict[str, Any]:
    """The facts about a note: those of its result, or only the problem."""
    named = {"id": row.id, "place": row.place, "patient": row.patient}
    problem = row.problem or (result.problem if result else "")
    for name in (shown_id(row.id), hashed(row.id)):
        # The record names the note, or reports hide its name; a message must not.
        problem = problem.replace(f"document {name}", "the note")
    if problem or result is None:
        return {**named, "problem": problem}
    return {**named, **result.record, **({VAULT: vault.sealed(row, result)} if vault else {})}


def check_output(settings: RunSettings, form: InputFormat, store: Store, workers: Workers) -> None:
    """Put the output together, read it again, and search each patient's output for the patient's identifiers.

    :raises StorageError: if what is read is not what the workers made.
    """
    path = store.assemble(settings.target.name)
    # What went in under the limit may come out a little longer.
    columns = settings.form_settings.columns.of_output()
    unlimited = replace(settings.form_settings, columns=columns, max_bytes=NO_LIMIT)
    written = open_format(path, path, unlimited, form.written) if path.exists() else None
    rows = (row for row in (written.rows() if written else ()) if row.parts)

    n_notes, quarantined = store.journal.totals()
    n_read = 0

    def todo() -> Iterator[tuple[int, list[LeakSearch]]]:
        nonlocal n_read
        for number, records in store.records():
            searches = list(_searches(store, records, rows))
            n_read += len(records)
            if store.journal.searched(number) is None:
                yield number, searches

    with meter("checking the output") as show:
        for number, counts in workers.search(todo()):
            store.journal.add_search(number, [(*what, count) for what, count in counts.items()])
            show(n_read, n_read / max(1, n_notes), quarantined)
    if next(rows, None) is not None:
        raise _differs(store)


def _searches(store: Store, records: list[dict[str, Any]], rows: Iterator[Row]) -> Iterator[LeakSearch]:
    """The searches for some notes; the rows, which were read from the output, must be what the workers made."""
    fine = (record for record in records if "problem" not in record)
    for patient, of_patient in groupby(fine, key=itemgetter("patient")):
        entries = store.journal.entries(store.register.patient(patient))
        for record in of_patient:
            row = next(rows, None)
            if row is None or texts_digest(row.texts, None) != record["output"]:
                raise _differs(store)
            for text, replaced in zip(row.texts, record["replaced"], strict=True):
                yield LeakSearch(text, [(start, end) for start, end, *_ in replaced], entries)
            for column, value in row.kept:
                yield LeakSearch(value, [], entries, column)


def _differs(store: Store) -> StorageError:
    return StorageError(
        f"the output in {store.folder} does not read as it was written, so it is not published; check the disk and "
        f"start again"
    )
