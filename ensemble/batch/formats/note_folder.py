"""What is in a folder of notes: the notes, and what is passed over, which is counted.

    for relative, kind in found_in(Path("notes"), ".txt"):
        kind                                               NOTE, BESIDE, HIDDEN or OTHER

Folders inside the folder are looked into, links to folders are not: they could lead in a circle, or anywhere. They
count as notes that cannot be read, so that nobody takes the run for complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from features.errors import CorpusError
from features.formats.recognise import HIDDEN, OTHER
from features.shown import shown_id

__all__ = ["BESIDE", "HIDDEN", "NOTE", "OTHER", "found_in", "wrong_link"]

NOTE = "notes"
BESIDE = "annotation beside notes"
_DEEPEST = 500


def found_in(root: Path, suffix: str, beside: str = "", folder: str = "") -> Iterator[tuple[str, str]]:
    """The path of each file relative to the root, sorted by name within each folder, and what it is.

    :param suffix: the ending of notes, in lower case.
    :param beside: the ending of files that belong to notes, if there are any.
    :param folder: to begin with, relative to the root, with a slash at its end.
    :raises CorpusError: if a folder cannot be read, or is nested too deep.
    """
    if folder.count("/") > _DEEPEST:
        raise CorpusError(f"the folders in {root} go deeper than {_DEEPEST} levels; give one of them")
    try:
        with os.scandir(root / folder) as entries:
            found = sorted((e.name, e.is_dir(follow_symlinks=False), e.is_dir()) for e in entries)
    except OSError as error:
        inner = f"{shown_id(folder[:-1])} in the folder " if folder else ""
        raise CorpusError(f"the folder {inner}{root} cannot be read: {error.strerror}") from None
    for name, is_folder, leads_to_folder in found:
        if is_folder:
            yield from found_in(root, suffix, beside, f"{folder}{name}/")
        elif f"/{folder}{name}".find("/.") >= 0:
            yield folder + name, HIDDEN
        elif leads_to_folder or name.lower().endswith(suffix):
            yield folder + name, NOTE
        else:
            yield folder + name, BESIDE if beside and name.lower().endswith(beside) else OTHER


def wrong_link(file: Path, root: Path) -> str:
    """Why a link in a folder of notes is not followed; nothing if it may be, or is none."""
    if not file.is_symlink():
        return ""
    if file.is_dir():
        return "a link to a folder, which is not followed; put the folder itself in its place"
    inside = Path(os.path.realpath(root)) in Path(os.path.realpath(file)).parents
    return "" if inside else "a link to a file outside the input; put the file itself in its place"
