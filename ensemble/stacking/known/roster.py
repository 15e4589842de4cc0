"""A roster: the known identifiers of each patient of a hospital.

    roster = Roster.open(Path("roster.csv"))
    roster.record("110")          {"name": ("Ann Hill",), "birth_date": ("1950-04-03",), "DOCTOR": ("Lee Ames",)}
    role_of("Date of birth")                        "birth_date"
    label_of("staff", LabelSet.named("meddocan"))   "NOMBRE_PERSONAL_SANITARIO"
    role_of("DOCTOR"), role_of("ward")              "", "": the first can be a label of the engine

All rows of a patient form one record. They are read once into a temporary SQLite database without a name, which ends
with the process, so memory does not grow with the roster. Other processes can share a copy.

A role is the relation of a value to the patient: `name`, `relative`, `staff`, `birth_date` and so on. The tables are in
`columns.toml`. A column may also have the name of a label; its values are then searched for as that kind of PHI.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Literal

from phistack.ensemble.deidentification.kinds import kind_of
from phistack.features.errors import SettingsError, StorageError
from phistack.features.files import file_named, open_regular
from phistack.features.formats.recognise import Cells, rows_of
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from phistack.features.registry import packaged_table
from phistack.features.shown import shown_label

PATIENT = "patient"
"""The role of the column that names the patient."""

PARTS = ("first", "middle", "last")
"""The roles of columns with a part of the patient's name, in order."""

SearchedAs = Literal["name", "date", "code", "phone", "phrase", "address"]
"""How a value is searched for, see `ensemble.stacking.known.search`."""

_tables = partial(packaged_table, "phistack.ensemble.stacking.known", "columns.toml")
_BY_KIND: dict[str, SearchedAs] = {
    "PERSON": "name", "RELATIVE": "name", "DATE": "date", "PHONE": "phone", "ID": "code", "ZIP": "code",
    "STREET": "address", "ADDRESS": "address",
}  # fmt: skip
"""For columns that are named as a label; others contain phrases."""

Record = Mapping[str, tuple[str, ...]]
"""Role, or column name without a role -> values, each once."""

_LOG = logging.getLogger("phistack")
_WHAT = "the roster"
_LARGEST_RECORD = "SELECT COUNT(DISTINCT row) AS n FROM record GROUP BY patient ORDER BY n DESC LIMIT 1"
_MOST_ROWS = 1000
"""The most rows of one patient; searching for many more would exceed a note's time limit."""


@cache
def role_of(column: str) -> str:
    """The role of a column by its name; empty for an unusual name."""
    name, tables = re.sub(r"[\W_]+", "_", fold(column)).strip("_"), _tables()
    columns = {role: table["columns"] for role, table in tables["roles"].items()} | tables["parts"]
    columns[PATIENT] = tables["patient"]["columns"]
    return next((role for role, names in columns.items() if name in names), "")


def roles() -> tuple[str, ...]:
    """The names of all roles but that of the patient."""
    return tuple(_tables()["roles"])


def searched_as(role: str, label: str, label_set: str = "") -> SearchedAs:
    """How the values of a role, or of a column named as a label, are searched for.

    :param label_set: the name of the label set, for the kind of the label.
    """
    known: dict[str, SearchedAs] = _tables()["roles"].get(role, {})
    return known.get("search") or _BY_KIND.get(kind_of(label, label_set), "phrase")


def label_of(role: str, label_set: LabelSet) -> str:
    """The label of a role; :raises SettingsError: if the set has none."""
    tables = _tables()
    usual = tables["labels"].get(label_set.name, {}).get(role)
    kinds = tables["roles"][role]["kinds"]
    fitting = (label for kind in kinds for label in label_set.labels if kind_of(label, label_set.name) == kind)
    label: str | None = usual if usual in label_set.labels else next(fitting, None)
    if label is None:
        raise SettingsError(f"the engine has no label for {role.replace('_', ' ')}; leave that column out")
    return label


class Roster:
    """The records of all patients."""

    def __init__(self, path: Path, database: sqlite3.Connection, columns: Collection[str]) -> None:
        self.path = path
        self.columns = tuple(columns)
        self._database = database

    @classmethod
    def open(cls, path: Path, labels: Collection[str] | None = ()) -> Roster:
        """Read a roster, all of it.

        :param labels: the engine's labels, which may name columns too; None to check that later.
        :raises SettingsError: if it cannot be read as UTF-8 rows, has no column of patients or more than one, rows
            without a patient, two columns of one name, or none that holds identifiers.
        :raises StorageError: if there is no room for the database.
        """
        columns: dict[str, None] = {}
        try:
            # An empty name makes a database on disk that no other process can open.
            database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
            database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-8000;")
            database.execute("CREATE TABLE record (patient TEXT, row TEXT)")
            database.execute("CREATE TABLE about (name TEXT, value TEXT)")
            with file_named(_WHAT, path), rows_of(path) as rows:
                database.executemany("INSERT INTO record VALUES (?, ?)", _pairs(rows, columns))
                if not columns:
                    raise ValueError("it has no rows")
            database.execute("CREATE INDEX of_patient ON record (patient)")
            (most,) = database.execute(_LARGEST_RECORD).fetchone()
            if most > _MOST_ROWS:
                raise SettingsError(
                    f"the roster {path} has {most} different rows for one patient: a wrong column seems to be named as "
                    f"that of the patient; correct it, or give a patient at most {_MOST_ROWS} rows"
                )
            database.executemany("INSERT INTO about VALUES ('column', ?)", ((name,) for name in columns))
        except sqlite3.Error:
            raise StorageError("the folder for temporary files has no room for the roster; set TMPDIR") from None
        roster = cls(path, database, columns)
        if labels is not None:
            roster.check(labels)
        return roster

    def save(self, index: Path, digest: str) -> None:
        """Write the records to a new file that only its owner may read.

        :param digest: of the roster, checked by `saved`.
        :raises StorageError: if there is no room for it.
        """
        try:
            os.close(os.open(index, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            self._database.execute("INSERT INTO about VALUES ('digest', ?)", (digest,))
            self._database.execute("VACUUM INTO ?", (str(index),))
        except (OSError, sqlite3.Error):
            raise StorageError(f"the roster cannot be copied to {index}; make room there, or give --jobs 1") from None

    @classmethod
    def saved(cls, path: Path, index: Path, digest: str) -> Roster | None:
        """The roster of that digest, as `save` wrote it; `None` if it is not there."""
        try:
            uri = f"{index.as_uri()}?mode=ro&immutable=1"
            database = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
            about = database.execute("SELECT name, value FROM about ORDER BY rowid").fetchall()
        except sqlite3.Error:
            return None
        columns = [value for name, value in about if name == "column"]
        return cls(path, database, columns) if ("digest", digest) in about else None

    def check(self, labels: Collection[str]) -> None:
        """Refuse a roster without identifiers; :raises SettingsError: if no column has a usual name or is a label."""
        if not any(role_of(name) not in ("", PATIENT) or name in labels for name in self.columns):
            others = ", ".join(shown_label(name) for name in self.columns if role_of(name) != PATIENT) or "none"
            with file_named(_WHAT, self.path):
                raise ValueError(
                    f"none of its columns holds identifiers ({others}); usual names are {', '.join(roles())}"
                )

    def check_fits(self, patients: Iterable[str]) -> None:
        """Refuse a roster of other patients.

        :param patients: of all notes; read up to the first in the roster.
        :raises SettingsError: if there are notes, and none is of a patient in the roster.
        """
        n_notes = 0
        for n_notes, patient in enumerate(patients, 1):  # noqa: B007
            if patient in self:
                return
        if n_notes:
            raise SettingsError(
                f"none of the {n_notes} notes is of a patient in the roster {self.path}: name the notes' "
                "column of patients with --patient-column, correct the roster, or give --unmatched-roster if "
                "this is right"
            )

    def __contains__(self, patient: str) -> bool:
        return self._rows(patient).fetchone() is not None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of its columns, and the names of those that have none."""
        found = dict.fromkeys(role_of(column) or column for column in self.columns)
        whole = dict.fromkeys("name" if role in PARTS else role for role in found)
        return tuple(role for role in whole if role != PATIENT)

    def record(self, patient: str) -> Record:
        """The record of a patient; empty if the patient is not in the roster."""
        record: dict[str, dict[str, None]] = {}
        for (row,) in self._rows(patient):
            for role, values in _by_role(json.loads(row)).items():
                record.setdefault(role, {}).update(dict.fromkeys(values))
        return {role: tuple(values) for role, values in record.items()}

    def _rows(self, patient: str) -> sqlite3.Cursor:
        return self._database.execute("SELECT row FROM record WHERE patient = ? ORDER BY rowid", (patient,))


@lru_cache(maxsize=1)
def kept_open(path: Path, digest: str, key: bytes | None, index: Path | None) -> Roster:
    """The roster of that digest, read once in a process; its columns are not checked.

    :param index: the copy of another process, if there is one.
    :raises SettingsError: if the file has changed, and as `Roster.open` does.
    """
    saved = Roster.saved(path, index, digest) if index is not None else None
    if saved is not None:
        return saved
    if roster_digest(path, key) != digest:
        raise SettingsError(f"the roster {path} was changed while a run was using it; start the run again")
    return Roster.open(path, None)


def tell_unused(roster: Roster, labels: Collection[str]) -> None:
    """Warn of columns that are not searched for; :param labels: of the engine, which may name columns."""
    unused = [shown_label(column) for column in roster.columns if not role_of(column) and column not in labels]
    if unused:
        _LOG.warning("columns of the roster that are ignored, as their names say nothing: %s", ", ".join(unused))


def roster_digest(path: Path, key: bytes | None) -> str:
    """SHA-256 of the file, or HMAC-SHA256 under a key; :raises SettingsError: if it cannot be read."""
    with file_named(_WHAT, path), open_regular(path) as file:
        plain = hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]
    return plain.hex() if key is None else hmac.digest(key, b"roster:" + plain, "sha256").hex()


def _pairs(rows: Iterator[tuple[str, Cells]], columns: dict[str, None]) -> Iterator[tuple[str, str]]:
    """The patient and the values of each row; adds the names of columns to `columns`."""
    for place, row in rows:
        columns.update(dict.fromkeys(row))
        patients = [name for name in row if role_of(name) == PATIENT]
        if len(patients) > 1:
            raise ValueError(f"its {place} names the patient in {len(patients)} columns; keep one of them")
        if not patients and not any(role_of(name) == PATIENT for name in columns):
            raise ValueError("it has no column of patients; name it patient")
        if not patients or len(row[patients[0]]) > 1:
            raise ValueError(f"its {place} names no patient or several; give each row the one whose record it is")
        yield row.pop(patients[0])[0], json.dumps(row, ensure_ascii=False)


def _by_role(row: Cells) -> Cells:
    """The values by role, with the parts of a name joined."""
    found: Cells = {}
    for column, values in row.items():
        found.setdefault(role_of(column) or column, []).extend(values)
    parts = [value for part in PARTS for value in found.pop(part, ())]
    if parts:
        found.setdefault("name", []).append(" ".join(parts))
    return found
