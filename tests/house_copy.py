"""A copy of the packages in which an English engine ships, and programs that use it, for commands of pages."""

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "bundle_protocol_2.zip"
PROGRAMS = {
    "phistack": '#!/bin/sh\nexec "{python}" -c "from ensemble.command_line.app import main; main()" "$@"\n',
    "python": '#!/bin/sh\nexec "{python}" "$@"\n',
}


def house_copy(folder: Path) -> dict[str, str]:
    """Copy the packages; gives an environment in which `phistack` and `python` are those of the copy.

    Where no English engine ships, the golden bundle stands for it.
    """
    for package in ("features", "tbed", "submodels", "ensemble"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    english = folder / "ensemble" / "bundles" / "engines" / "english.zip"
    if not english.exists():
        english.parent.mkdir(exist_ok=True)
        shutil.copy(GOLDEN, english)
    programs = folder / "programs"
    programs.mkdir()
    for name, script in PROGRAMS.items():
        (programs / name).write_text(script.format(python=sys.executable), encoding="utf-8")
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "PYTHONPATH": str(folder), "COLUMNS": "120"}
