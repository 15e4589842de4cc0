"""The files of a trained engine as bytes by name.

    files = SavedFiles.of_folder(Path("engine"))
    files.part("stacker").json("stacker.json", State)     JSON of a declared type
    files.part("stacker").arrays("stacker.npz")           arrays by name
    files.names                                           ("MODEL_CARD.md", "features/features.json", ...)
    SavedFiles.written_by(model.save).write_to(folder)    what a `save` writes, and the same elsewhere

An engine may come from a stranger. Its files are read into memory once, so the bytes used are the bytes hashed; names
keep to a narrow alphabet; links, devices, pipes and absurd sizes are refused before anything is read. Any error in a
file becomes a `BundleError` that names the file but not its content, which may be patient text.
"""

from __future__ import annotations

import lzma
import os
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from numpy.typing import NDArray

from phistack.features.arrays import read_arrays
from phistack.features.errors import BundleError, MissingResourceError, PackageError, PhistackError
from phistack.features.files import read_regular

T = TypeVar("T")

LARGEST = 2**31
"""The most bytes of all files of an engine."""

MOST_FILES = 10_000
"""The most files of an engine."""

_DEEPEST = 8
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}(/[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}){0,7}")
_DAMAGE: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError, PhistackError,
    RuntimeError, TypeError, ValueError, lzma.LZMAError, re.error, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a damaged file can raise."""


@contextmanager
def damage_refused(what: str) -> Iterator[None]:
    """Turn whatever a damaged file raises in the block into a BundleError without its content.

    Errors about a package or a tagger's data that this machine lacks are not damage and pass unchanged.

    :param what: what is read in the block, for the message.
    """
    try:
        yield
    except (BundleError, MissingResourceError, PackageError):
        raise
    except _DAMAGE as error:
        raise BundleError(
            f"{what} cannot be read ({type(error).__name__}); get a complete copy of the engine, or train it again"
        ) from None


class SavedFiles:
    """Some files by name.

    :param contents: name -> bytes; a name may have folders, with slashes.
    :param home: the folder of these files in the engine, for messages.
    :raises BundleError: for a name that is not allowed.
    """

    def __init__(self, contents: Mapping[str, bytes], home: str = "") -> None:
        for name in contents:
            check_name(name)
        self._contents = dict(contents)
        self._home = home

    @classmethod
    def of_folder(cls, folder: Path) -> SavedFiles:
        """Read all files of a folder and the folders in it; :raises BundleError: for links, devices or too much."""
        return cls({name: read_file(path, size) for name, (path, size) in files_below(folder).items()})

    @classmethod
    def written_by(cls, save: Callable[[Path], None]) -> SavedFiles:
        """The files that a `save` writes into a folder."""
        with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
            save(Path(folder))
            return cls.of_folder(Path(folder))

    def write_to(self, folder: Path) -> None:
        """Make a folder and write all files into it."""
        for name, data in self._contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def __str__(self) -> str:
        """Where they are in the engine, for messages."""
        return self._home.removesuffix("/")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files, sorted."""
        return tuple(sorted(self._contents))

    def __contains__(self, name: object) -> bool:
        """Whether there is a file or a folder of this name."""
        return isinstance(name, str) and any(own == name or own.startswith(f"{name}/") for own in self._contents)

    def part(self, name: str) -> SavedFiles:
        """The files of one folder, which may be none."""
        inside = {own[len(name) + 1 :]: data for own, data in self._contents.items() if own.startswith(f"{name}/")}
        return SavedFiles(inside, f"{self._home}{name}/")

    def without(self, name: str) -> SavedFiles:
        """All but one file."""
        return SavedFiles({own: data for own, data in self._contents.items() if own != name}, self._home)

    def read(self, name: str) -> bytes:
        """The bytes of a file; :raises BundleError: if it is not there."""
        try:
            return self._contents[name]
        except KeyError:
            raise BundleError(f"the engine lacks the file {self._home}{name}; get a complete copy of it") from None

    def text(self, name: str) -> str:
        """A file as text; :raises BundleError: if it is missing, or not UTF-8."""
        with damage_refused(f"the file {self._home}{name}"):
            return self.read(name).decode("utf-8")

    def json(self, name: str, kind: type[T]) -> T:
        """A JSON file; :raises BundleError: if it is missing, or not of the type.

        :param kind: the type of its content, for example a `TypedDict`; other keys are dropped. Numbers must be finite,
            and no value is converted.
        """
        with damage_refused(f"the file {self._home}{name}"):
            return msgspec.json.decode(self.read(name), type=kind)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays in a file; :raises BundleError: see `features.arrays.read_arrays`."""
        with damage_refused(f"the file {self._home}{name}"):
            return read_arrays(self.read(name))


def check_name(name: str) -> None:
    """Check that a name is inside its folder; :raises BundleError: if not."""
    if not _NAME.fullmatch(name):
        raise BundleError("the engine names a file outside its folder, or one that engines do not have; do not use it")


def files_below(folder: Path) -> dict[str, tuple[Path, int]]:
    """The regular files of a folder and the folders in it, and their sizes; nothing is opened.

    The folder itself may be a link, since the user named it.

    :raises BundleError: if there is a link, a device or a pipe, or too many or too large files.
    """
    found: dict[str, tuple[Path, int]] = {}
    _walk(folder, "", found)
    if sum(size for _, size in found.values()) >= LARGEST:
        raise BundleError(f"the files in {folder} are far larger than those of an engine; do not use it")
    return found


def _walk(folder: Path, prefix: str, found: dict[str, tuple[Path, int]]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{prefix}{entry.name}"
            check_name(name)
            about = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode) and prefix.count("/") < _DEEPEST:
                _walk(Path(entry.path), f"{name}/", found)
            elif not stat.S_ISREG(about.st_mode):
                raise BundleError(f"{name} is a link or a device, which an engine never contains; do not use it")
            else:
                found[name] = Path(entry.path), about.st_size
            if len(found) > MOST_FILES:
                raise BundleError("there are far more files than an engine has; do not use it")


def read_file(path: Path, most: int) -> bytes:
    """Read a regular file, without following links or waiting for pipes.

    :param most: the most bytes that it may have.
    :raises BundleError: if it is not a regular file, or is larger.
    """
    try:
        return read_regular(path, most, follow_links=False)
    except OSError as error:
        raise BundleError(
            f"the file {path.name} of the engine cannot be read: {error.strerror}; do not use the engine"
        ) from None
