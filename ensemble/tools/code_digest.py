"""The version of the code, told by its content.

code_digest()                       SHA-256 over every module and table of phistack
code_digest("features", "tbed")     the same of some packages
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

__all__ = ["code_digest"]

_PACKAGES = ("features", "tbed", "submodels", "ensemble")
_CODE = (".py", ".toml", ".txt")


@cache
def code_digest(*packages: str) -> str:
    """SHA-256 over names and content of the modules and tables of packages, by default all."""
    digest = hashlib.sha256()
    for package in packages or _PACKAGES:
        folder = Path(import_module(package).__path__[0])
        for path in sorted(folder.rglob("*")):
            if path.suffix in _CODE and path.is_file():
                content = path.read_bytes()
                digest.update(f"{package}/{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
