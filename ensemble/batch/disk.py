"""Writing to a disk that may be full.

with writing(path):
    path.write_bytes(content)      a refusal of the disk names the file and tells that the same command goes on
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from features.errors import StorageError

__all__ = ["GO_ON", "writing"]

GO_ON = "if the disk is full, free space on it, and start again: the run goes on where it stopped"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell which file of an unfinished run could not be written; :raises StorageError: in place of OSError."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or type(error).__name__}; {GO_ON}") from None
