"""Things by name that installed packages offer, ours among them: kinds of submodels, and feature columns.

    COLUMNS = Registry("phistack.columns", "feature column")
    COLUMNS.names                 ("ward",): from the metadata of packages alone; nothing of theirs is imported
    COLUMNS.load("ward")          what the package has under that name; imported now

A package declares what it offers as entry points (Python Packaging User Guide, "Entry points specification"), in its
`pyproject.toml`:

    [project.entry-points."phistack.columns"]
    ward = "hospital_columns:WARD"

What is loaded is always code that somebody installed: a file names a thing, and never where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from phistack.features.errors import PackageError
from phistack.features.suggestions import did_you_mean


@dataclass(frozen=True)
class Registry:
    """The things of one sort.

    :param group: of the entry points.
    :param what: one of the things, in words.
    :param ours: name -> `module:attribute` of those that phistack itself has.
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
        """What the name stands for.

        :raises PackageError: if no installed package offers it, or more than one, or it cannot be imported.
        """
        if name not in self._entries:
            raise self.missing(name)
        self.refuse_two(name, self.packages(name))
        entry = self._entries[name][0]
        try:
            return entry.load()
        except Exception as error:
            raise PackageError(
                f"the {self.what} {name} cannot be imported from {entry.value} of the package {_package(entry)} "
                f"({type(error).__name__}); install that package again"
            ) from error

    def missing(self, name: str) -> PackageError:
        """What is raised where no installed package offers a name, which may be a stranger's."""
        shown = ascii(name[:40])[1:-1]
        return PackageError(
            f"the {self.what} {shown} is not installed{did_you_mean(shown, self.names)}; "
            f"install the package that provides it"
        )

    def refuse_two(self, name: str, packages: tuple[str, ...]) -> None:
        """See that one package alone claims a name; :raises PackageError: if not."""
        if len(packages) > 1:
            claiming = " and ".join(sorted(packages))
            raise PackageError(f"the {self.what} {name} is claimed by the packages {claiming}; uninstall one of them")


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "phistack"
