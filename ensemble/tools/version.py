"""The versions of phistack, Python and libraries, without importing them.

installed("phistack")               "0.1.0"
versions()                          {"phistack": "0.1.0", "python": "3.11.9", "tensorflow": "2.17.0", ...}
version_lines()                     the same as lines, with the platform
code_digest()                       SHA-256 over every module and table of phistack
code_digest("features", "tbed")     the same for some of its packages

Packages that extend phistack by entry points (groups that begin with `phistack.`) always count as its code.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_CORE = ("tensorflow", "keras", "scikit-learn", "python-crfsuite", "numpy", "scipy", "lxml", "pyarrow", "typer")
"""The libraries that results depend on, or that read files."""

_ALSO = {"tensorflow": ("tensorflow-cpu", "tensorflow-intel")}
"""Packages that contain the same library under another name."""

_PACKAGES = ("features", "tbed", "submodels", "ensemble")
_CODE = (".py", ".toml", ".txt")


def versions() -> dict[str, str]:
    """Phistack, Python and the core libraries."""
    libraries = {name: installed(name) for name in _CORE}
    return {"phistack": installed("phistack"), "python": platform.python_version(), **libraries}


def version_lines() -> tuple[str, ...]:
    """Phistack, Python and the core libraries, a line each."""
    found = versions()
    libraries = ", ".join(f"{name} {found[name]}" for name in _CORE)
    return f"phistack {found['phistack']}", f"Python {found['python']} on {platform.platform()}", libraries


def installed(name: str) -> str:
    """The version of a package, or of one that contains the same library, or `not installed`."""
    for package in (name, *_ALSO.get(name, ())):
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(package)
    return "not installed"


@cache
def code_digest(*packages: str) -> str:
    """SHA-256 over names and content of the modules and tables of packages, by default all."""
    digest = hashlib.sha256()
    for name in (*(f"phistack.{package}" for package in packages or _PACKAGES), *_adding()):
        for place, path in _code_of(name):
            content = path.read_bytes()
            digest.update(f"{name}/{place}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _adding() -> list[str]:
    """The packages or modules that extend phistack by entry points, its own rooms too."""
    every = metadata.entry_points()
    added = (entry for group in every.groups if group.startswith("phistack.") for entry in every.select(group=group))
    parts = (entry.module.split(".") for entry in added)
    return sorted({".".join(names[: 3 if names[0] == "phistack" else 1]) for names in parts})


def _code_of(name: str) -> Iterator[tuple[str, Path]]:
    """The files of a package in order, or the file of a module, without importing them."""
    spec = find_spec(name)
    for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _CODE and path.is_file():
                yield path.relative_to(folder).as_posix(), path
    if spec and spec.origin and not spec.submodule_search_locations:
        yield Path(spec.origin).name, Path(spec.origin)
