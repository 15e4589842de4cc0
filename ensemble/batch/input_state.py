"""The state of an input: what changes when somebody changes the input, without reading it.

state = input_state(form, path)      "3f5a..."; equal as long as no file was added, removed, changed or touched

It is taken when a run begins, and again when it goes on and when all was read. The notes that are done have checksums;
this is for those that are not yet.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ensemble.batch.formats.note_files import NoteFiles
from ensemble.batch.formats.rows import InputFormat

__all__ = ["input_state", "passed_over"]


def input_state(form: InputFormat, path: Path) -> str:
    """SHA-256 over name, size and time of change of each file of an input."""
    digest = hashlib.sha256()
    for name in form.files() if isinstance(form, NoteFiles) and path.is_dir() else ("",):
        found = os.lstat(path / name) if name else path.stat()
        digest.update(f"{len(os.fsencode(name))}:{found.st_size}:{found.st_mtime_ns}:".encode() + os.fsencode(name))
    return digest.hexdigest()


def passed_over(form: InputFormat) -> dict[str, int]:
    """What of an input was not read, though it was there, and how many files that are; after its rows were read."""
    return form.passed_over if isinstance(form, NoteFiles) else {}
