"""One run at a time on an output.

with lock(folder): ...      a second process that tries the same is refused
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from phistack.features.errors import SettingsError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is not there; it ends with the process, however that ends.

    :raises SettingsError: if another process holds it.
    """
    while True:
        # Nobody else may look in: what is not finished is no less secret than the input.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SettingsError(f"another run is writing to {folder}; wait until it ends") from None
            # The run that held it may have finished and removed the file before we had it.
            if _is_still(folder / "lock", file.fileno()):
                yield
                return


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
