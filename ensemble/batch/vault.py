"""The originals of a run's notes, encrypted, for those who must find a patient again.

    vault = Vault(key, run)
    token = vault.sealed(row, result)                       what went out of a note, kept with its facts until the end
    vault.write(Path("vault"), tokens, log_end)             all notes of the run
    originals(Path("out"), Path("vault"), key, ["110-01"])      [{"id": "110-01", "parts": [{"text": "Seen by ..."}]}]

A vault consists of lines of Fernet tokens (AES-128 in CBC mode with HMAC-SHA256, of the library cryptography): first
its run, then each note that came out, in the order of the output. A log beside it says who opened it, when, and for
which notes; each line is sealed with an HMAC of itself and of the seal before.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import pwd
import socket
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import msgspec

from phistack.ensemble.batch.columns import KEEP, PSEUDONYM, Columns
from phistack.ensemble.batch.reports.audit import opened_output
from phistack.ensemble.batch.rows import Row, open_format, texts_digest
from phistack.ensemble.batch.workers.job import NoteResult
from phistack.ensemble.deidentification.context import spliced
from phistack.features.errors import CorpusError, SettingsError, need
from phistack.features.files import file_named, open_regular
from phistack.features.shown import shown_id
from phistack.features.writing import new_file, refused_by_disk


class Vault:
    """Encrypts and decrypts.

    :param key: at least 16 bytes.
    :param run: names the run whose notes are sealed.
    :raises MissingResourceError: if cryptography is not installed.
    """

    def __init__(self, key: bytes, run: str = "") -> None:
        need("cryptography", "vault", "A vault")
        from cryptography.fernet import Fernet

        self.run = run
        self._fernet = Fernet(urlsafe_b64encode(hmac.digest(key, b"phistack vault", "sha256")))

    def sealed(self, row: Row, result: NoteResult) -> str:
        """What was replaced in each part of a note: start and end in the new text, the label, and what was there."""
        places = zip(row.texts, result.places, strict=True)
        parts = [
            [(r.start_in_output, r.end_in_output, r.span.label, text[r.span.start : r.span.end]) for r, _ in of_part]
            for text, of_part in places
        ]
        return self._token({"run": self.run, "id": row.id, "output": result.record["output"], "parts": parts})

    def write(self, path: Path, tokens: Iterable[str], log_end: str) -> None:
        """Write a vault, which only its owner can read, in place of an earlier one of the same run.

        :raises SettingsError: if anything else is there.
        :raises StorageError: if the disk refuses.
        """
        self.refuse_other(path)
        with new_file(path, replace=path.exists()) as part:
            part.touch(mode=0o600)
            with part.open("w") as file:
                file.writelines(f"{token}\n" for token in (self._token({"run": self.run, "log": log_end}), *tokens))

    def refuse_other(self, path: Path) -> None:
        """Refuse a path that holds anything but a vault of this run; :raises SettingsError: saying so."""
        with suppress(SettingsError):
            if not os.path.lexists(path) or self.run_of(path) == self.run:
                return
        raise SettingsError(f"{path} is already there; give --vault another name")

    def run_of(self, path: Path, log_end: str | None = None) -> str:
        """The run of a vault; :raises SettingsError: if it is not a vault, or belongs to another run."""
        head = self.opened(path, 0, next(self.tokens(path), b""))
        if log_end not in (None, head["log"]):
            raise SettingsError(
                f"the vault {path} is of another run than the output; give the vault that its run wrote"
            )
        return str(head["run"])

    def tokens(self, path: Path) -> Iterator[bytes]:
        """The lines of a vault; :raises SettingsError: if the file cannot be read."""
        with file_named("the vault", path), open_regular(path) as file:
            yield from file

    def _token(self, facts: dict[str, Any]) -> str:
        return self._fernet.encrypt(json.dumps(facts).encode()).decode()

    def opened(self, path: Path, number: int, token: bytes) -> dict[str, Any]:
        """What a line of a vault holds; :raises SettingsError: if it cannot be decrypted."""
        from cryptography.fernet import InvalidToken

        try:
            facts: dict[str, Any] = json.loads(self._fernet.decrypt(token.strip()))
        except InvalidToken:
            what = "is damaged" if number else "cannot be opened with this key, or is not a vault"
            raise SettingsError(
                f"the vault {path} {what}; give the vault and the key with which the run wrote it"
            ) from None
        return facts


def originals(notes: Path, path: Path, key: bytes, ids: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The originals of notes: the id in the output, and of each part its text and what was replaced.

    :param notes: the output of the run.
    :param path: the vault; who asks, when and for which notes is added to the log beside it before anything is read.
    :param ids: the ids of the notes in the output; empty for all.
    :raises CorpusError: if there is no such run, or a note is missing or was changed.
    :raises SettingsError: if the vault cannot be opened, belongs to another run, or its log was changed.
    :raises StorageError: if the log cannot be written.
    """
    form, summary = opened_output(notes)
    names_stay = True
    if summary.settings["columns"]:
        # Notes are named as the output names them.
        of_run = msgspec.convert(summary.settings["columns"], Columns)
        treatment = of_run.treatment(of_run.id or "")
        id, names_stay = of_run.id if treatment in (KEEP, PSEUDONYM) else None, treatment == KEEP
        columns = replace(form.settings.columns, id=id)
        form = open_format(notes, notes, replace(form.settings, columns=columns), form.name)
    vault = Vault(key)
    run = vault.run_of(path, summary.log_end)
    _log(path, key, {"vault": run, "notes": list(ids) or "all"})
    found = []
    tokens = enumerate(islice(vault.tokens(path), 1, None), 1)
    for row, (number, token) in zip_longest((row for row in form.rows() if row.parts), tokens, fillvalue=(0, b"")):
        if not isinstance(row, Row) or not number:
            raise CorpusError(f"{notes} has more or fewer notes than {path}; give the output as the run wrote it")
        if ids and row.id not in ids:
            continue
        facts = vault.opened(path, number, token)
        name = row.id if names_stay else facts["id"]
        if (facts["run"], facts["id"], facts["output"]) != (run, name, texts_digest(row.texts, None)):
            where = f"the note {shown_id(row.id)} in {notes} is not the one that the run wrote there"
            raise CorpusError(f"{where}, so its originals have no place; give the output as the run wrote it")
        found.append({"id": row.id, "parts": list(map(_part, row.texts, facts["parts"]))})
    missing = [id for id in ids if id not in {note["id"] for note in found}]
    if missing:
        raise CorpusError(f"{notes} has no note {shown_id(missing[0])}; ids are those of the output")
    return found


def _part(text: str, replaced: list[tuple[int, int, str, str]]) -> dict[str, Any]:
    names = ("start", "end", "label", "original")
    whole = spliced(text, ((start, end, original) for start, end, _, original in replaced))
    return {"text": whole, "replaced": [dict(zip(names, one, strict=True)) for one in replaced]}


def _log(path: Path, key: bytes, facts: dict[str, Any]) -> None:
    """Add a line to the log of a vault; :raises SettingsError: if a line of it was changed or removed."""
    path = path.with_name(f"{path.name}.log")
    with refused_by_disk(path), os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        seal = ""
        for number, line in enumerate(file, 1):
            content, _, given = line.rstrip("\n").rpartition("\t")
            seal = _seal(key, seal, content)
            if not hmac.compare_digest(seal, given):
                raise SettingsError(f"line {number} of {path} was changed, or a line before it removed; ask who did so")
        user, name = os.getuid(), ""
        with suppress(KeyError):
            name = pwd.getpwuid(user).pw_name
        who = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "by": f"{name} ({user}) on {socket.gethostname()}",
        }
        content = json.dumps(who | facts)
        file.write(f"{content}\t{_seal(key, seal, content)}\n")
        file.flush()
        os.fsync(file.fileno())


def _seal(key: bytes, before: str, content: str) -> str:
    return hmac.digest(key, f"phistack vault log\n{before}\n{content}".encode(), "sha256").hex()
