"""The journal of a run: which chunks are done, with checksums, in SQLite.

    with Journal(folder) as journal:
        journal.add(chunk_number, DoneChunk(...), entries)     one transaction
        journal.done(chunk_number)                             what was added, or nothing

Its write-ahead log keeps it whole when a process or a machine dies; entries of the last moments may be lost, and their
work is then done again. It holds numbers and hashes, but no text.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from phistack.ensemble.batch.workers.identifier_register import ByLength, HashedIdentifier
from phistack.features.errors import StorageError

GO_ON = "if the disk is full, free space on it, and start again: the run goes on where it stopped"
"""The advice if the disk refuses a file of an unfinished run."""

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunks (
    number INTEGER PRIMARY KEY, input BLOB NOT NULL, data BLOB NOT NULL, records BLOB NOT NULL,
    notes INTEGER NOT NULL, quarantined INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS register (
    patient BLOB, words INTEGER, identifier BLOB, label TEXT,
    PRIMARY KEY (patient, words, identifier, label)) WITHOUT ROWID;
"""


class DoneChunk(NamedTuple):
    """A chunk that is done: SHA-256 of its rows, of its part of the output and of the facts about its notes, the number
    of notes, and how many of them are in quarantine."""

    input: bytes
    data: bytes
    records: bytes
    notes: int
    quarantined: int


class Journal:
    """The journal in a folder, made if missing.

    :param folder: the folder of the unfinished run; only one process may use it.
    :raises StorageError: in every method, if the disk is full or fails.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.sqlite"
        with self._checked():
            self._database = sqlite3.connect(self.path, isolation_level=None)
            # Without shared memory, it works on network file systems too.
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(_TABLES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or type(error).__name__
            raise StorageError(f"the journal {self.path} cannot be used ({name}); {GO_ON}") from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._checked():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    def fact(self, name: str) -> Any:
        """A fact about the run, as it was set, or None."""
        with self._checked():
            row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    def set_fact(self, name: str, value: Any) -> None:
        """Store a fact about the run, JSON-ready."""
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value, sort_keys=True)))

    def begin(self, number: int) -> int:
        """Count a start of a chunk; :returns: how often it was started before and not finished."""
        times: int = self.fact(f"begun {number}") or 0
        self.set_fact(f"begun {number}", times + 1)
        return times

    def add(self, number: int, chunk: DoneChunk, entries: Iterable[tuple[bytes, HashedIdentifier]]) -> None:
        """Add a chunk that is done.

        :param entries: the hash of a patient and an entry of the register, for each identifier.
        """
        register = [(patient, words, digest, label) for patient, (label, words, digest) in sorted(entries)]
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?, ?)", (number, *chunk))
            if not chunk.quarantined:
                database.execute("DELETE FROM facts WHERE name = ?", (f"begun {number}",))
            database.executemany("INSERT OR IGNORE INTO register VALUES (?, ?, ?, ?)", register)

    def done(self, number: int) -> DoneChunk | None:
        """The chunk of that number, if it is done."""
        with self._checked():
            row = self._database.execute("SELECT * FROM chunks WHERE number = ?", (number,)).fetchone()
        return DoneChunk(*row[1:]) if row else None

    def forget(self, numbers: Iterable[int]) -> None:
        """Have chunks done again; as their identifiers can be in any note, all outputs are searched again."""
        with self._transaction() as database:
            database.executemany("DELETE FROM chunks WHERE number = ?", [(number,) for number in numbers])
            database.execute("DELETE FROM facts WHERE name GLOB 'search *'")

    def numbers(self) -> list[int]:
        """The numbers of all chunks that are done, in order."""
        with self._checked():
            return [row[0] for row in self._database.execute("SELECT number FROM chunks ORDER BY number")]

    def totals(self) -> tuple[int, int]:
        """The number of notes in the chunks that are done, and of those in quarantine."""
        with self._checked():
            query = "SELECT COALESCE(SUM(notes), 0), COALESCE(SUM(quarantined), 0) FROM chunks"
            notes, quarantined = self._database.execute(query).fetchone()
        return notes, quarantined

    def entries(self, patient: bytes) -> ByLength:
        """The identifiers of a patient."""
        query = "SELECT words, identifier, label FROM register WHERE patient = ? ORDER BY words, identifier, label"
        found: ByLength = {}
        with self._checked():
            for words, identifier, label in self._database.execute(query, (patient,)):
                found.setdefault(words, {})[identifier] = label
        return found

    def searched(self, number: int) -> list[tuple[str, str, int]] | None:
        """What the search of a chunk's output found: label, place and count; None before the search."""
        found: list[tuple[str, str, int]] | None = self.fact(f"search {number}")
        return found

    def add_search(self, number: int, counts: Iterable[tuple[str, str, int]]) -> None:
        """Add what the search of a chunk's output found."""
        self.set_fact(f"search {number}", sorted(counts))
