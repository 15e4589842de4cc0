"""The names that a package offers, each imported when it is first used (PEP 562).

    __getattr__, __dir__, __all__ = face(__name__, __file__)

The names and their modules are in the package's `__init__.pyi`, which editors and type checkers read too.
"""

from __future__ import annotations

import sys
from ast import ImportFrom, parse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def face(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from its stub."""
    stub = parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {alias.name: str(line.module) for line in stub.body if isinstance(line, ImportFrom) for alias in line.names}

    def attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return attribute, names, sorted(homes)
