"""What installed packages add to phistack, by name: code, and files such as presets and policies.

    COLUMNS = Registry("phistack.columns", "feature column")
    COLUMNS.names                 ("ward",): from the metadata of packages alone; nothing of theirs is imported
    COLUMNS.load("ward")          what the package has under that name; imported now

    PRESETS = FileRegistry("presets", "preset", ".toml")
    PRESETS.names                 ("zhao2020", ...): the files in the folders that packages declare
    PRESETS.text("zhao2020")      the file

A package declares what it offers as entry points (Python Packaging User Guide, "Entry points specification"), in its
`pyproject.toml`; a folder of files is named by the package that it is in:

    [project.entry-points."phistack.columns"]
    ward = "hospital_columns:WARD"

    [project.entry-points."phistack.files"]
    presets = "hospital_columns:presets"

Only installed code is loaded: settings refer to it by name, never by location. `ensemble/papers` is registered in the
same way, so the rest of phistack does not import it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from phistack.features.errors import PackageError, SettingsError, did_you_mean, no_such
from phistack.features.files import file_named, read_regular

_T = TypeVar("_T")


@dataclass(frozen=True)
class Registry:
    """Code of one sort.

    :param group: of the entry points.
    :param what: what one of them is called in messages.
    :param ours: name -> `module:attribute` of phistack's own.
    """

    group: str
    what: str
    ours: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _entries(self) -> dict[str, list[EntryPoint]]:
        """Every entry by its name, ours first; read once in a process."""
        found = {name: [EntryPoint(name, value, self.group)] for name, value in self.ours.items()}
        for entry in sorted(entry_points(group=self.group), key=lambda entry: (entry.name, entry.value)):
            found.setdefault(entry.name, []).append(entry)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All names, ours first."""
        return tuple(self._entries)

    def packages(self, name: str) -> tuple[str, ...]:
        """The packages that offer something under the name."""
        return tuple(dict.fromkeys(map(_package, self._entries.get(name, ()))))

    def load(self, name: str) -> Any:
        """The object of that name.

        :raises PackageError: if no installed package offers it, or more than one, or it cannot be imported.
        """
        if name not in self._entries:
            raise self.missing(name)
        refuse_two(self.what, name, self.packages(name))
        entry = self._entries[name][0]
        try:
            return entry.load()
        except Exception as error:
            raise PackageError(
                f"the {self.what} {name} cannot be imported from {entry.value} of the package {_package(entry)} "
                f"({type(error).__name__}); install that package again"
            ) from error

    def missing(self, name: str) -> PackageError:
        """The error for a name that no installed package offers."""
        shown = ascii(name[:40])[1:-1]
        return PackageError(
            f"the {self.what} {shown} is not installed{did_you_mean(shown, self.names)}; "
            f"install the package that provides it"
        )


def refuse_two(what: str, name: str, packages: Collection[str]) -> None:
    """Check that only one package offers a name; :raises PackageError: if several do."""
    if len(packages) > 1:
        claiming = " and ".join(sorted(packages))
        raise PackageError(f"the {what} {name} is claimed by the packages {claiming}; uninstall one of them")


def packaged_text(package: str, name: str) -> str:
    """A file in a package."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


@cache
def packaged_table(package: str, name: str) -> dict[str, Any]:
    """A TOML file in a package, read once in a process."""
    return tomllib.loads(packaged_text(package, name))


FILES = "phistack.files"
"""The group of the entry points that name folders."""


@dataclass(frozen=True)
class FileRegistry:
    """Files of one sort by their names, without the suffix.

    :param sort: the name of the entry points in the group `phistack.files`.
    :param what: what one of the files is called in messages.
    :param suffix: of the files.
    :param ours: `package:folder` of phistack's own; empty for none.
    """

    sort: str
    what: str
    suffix: str
    ours: str = ""

    @cached_property
    def _files(self) -> dict[str, list[tuple[str, Path]]]:
        """Name -> each package that has such a file, and the file; read once in a process."""
        entries = sorted(entry_points(group=FILES, name=self.sort), key=lambda entry: entry.value)
        own = [EntryPoint(self.sort, self.ours, FILES)] if self.ours else []
        found: dict[str, list[tuple[str, Path]]] = {}
        for entry in (*own, *entries):
            for path in sorted(_folder(entry).glob(f"*{self.suffix}")):
                found.setdefault(path.name.removesuffix(self.suffix), []).append((_package(entry), path))
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All names in alphabetical order."""
        return tuple(sorted(self._files))

    def text(self, name: str) -> str:
        """The text of a file.

        :raises SettingsError: if no installed package has a file of that name.
        :raises PackageError: if several have one.
        """
        if name not in self._files:
            raise SettingsError(no_such(self.what, name, self.names))
        refuse_two(self.what, name, [package for package, _ in self._files[name]])
        return self._files[name][0][1].read_text(encoding="utf-8")

    def read(self, given: str, parse: Callable[[str], _T]) -> _T:
        """One of the files, or a user's at a path, as `parse` reads it; raises what `text` does.

        :raises SettingsError: naming the user's file, if it cannot be read or parsed.
        """
        if given in self._files or not Path(given).exists():
            return parse(self.text(given))
        with file_named(f"the {self.what}", Path(given)):
            return parse(read_regular(Path(given)).decode("utf-8"))

    def table(self, name: str) -> dict[str, Any]:
        """A TOML file as a table; raises what `text` does."""
        return tomllib.loads(self.text(name))


def _folder(entry: EntryPoint) -> Path:
    """The folder that an entry names as `package:folder`, without importing the package."""
    spec = find_spec(entry.module)
    places = (spec and spec.submodule_search_locations) or ["/nowhere"]
    return Path(next(iter(places))) / entry.attr


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "phistack"
