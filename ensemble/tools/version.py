"""Which phistack, and which Python and libraries it runs on, without importing them.

code_version()      "0.1.0"
version_lines()     "phistack 0.1.0", "Python 3.11.9", "tensorflow 2.17.0, keras 3.5.0, ..."
"""

from __future__ import annotations

import platform
from importlib import metadata

__all__ = ["code_version", "installed", "version_lines"]

_CORE = ("tensorflow", "keras", "scikit-learn", "python-crfsuite", "numpy", "scipy", "lxml", "pyarrow", "typer")
"""The libraries that decide results or read files."""


def code_version() -> str:
    """The version of phistack as installed."""
    return installed("phistack")


def version_lines() -> tuple[str, ...]:
    """Phistack, Python and the core libraries, a line each."""
    libraries = ", ".join(f"{name} {installed(name)}" for name in _CORE)
    return f"phistack {code_version()}", f"Python {platform.python_version()} on {platform.platform()}", libraries


def installed(name: str) -> str:
    """The version of an installed package, in words where there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
