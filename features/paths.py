"""Names of paths, and paths that must be free, as nothing that is on disk is overwritten.

refuse_existing(Path("engine"), BundleError)     raises where there is anything at the path
write_new(Path("scores.json"), "...")            a file that appears whole or not at all
names_of([Path("a/dev"), Path("b/dev")])         ["a/dev", "b/dev"]
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from features.errors import PhistackError, SettingsError
from features.files import write_file

__all__ = ["names_of", "new_folder", "refuse_existing", "write_new"]


def refuse_existing(path: Path, error: type[PhistackError] = SettingsError) -> None:
    """To be asked before long work begins, and again before its result takes its place.

    :param error: the class to raise.
    :raises PhistackError: of the class `error`, if there is anything at the path, were it a link to nothing.
    """
    if os.path.lexists(path):
        raise error(f"{path} is already there; remove it or give another name")


def write_new(path: Path, text: str) -> None:
    """Write a file, whole or not at all.

    :raises SettingsError: if there is anything at the path.
    :raises CorpusError: if the disk refuses.
    """
    refuse_existing(path)
    write_file(path, text.encode("utf-8"))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside the path, which takes its place at the end if nothing failed.

    :raises SettingsError: if there is anything at the path.
    """
    refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as temporary:
        folder = Path(temporary) / "results"
        folder.mkdir()
        yield folder
        refuse_existing(path)
        folder.rename(path)


def names_of(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart: `train`, or `a/train` and `b/train`.

    :raises SettingsError: if a path is given twice.
    """
    parts = [path.resolve().parts for path in paths]
    if len(set(parts)) < len(parts):
        raise SettingsError("the same path is given twice; give each corpus or system once")
    for length in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return names
