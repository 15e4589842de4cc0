"""The recipes of CONTRIBUTING.md work, each in a copy of the packages.

Under a heading "How to add", a ```toml, ```python or ```diff block changes the packages, and the commands of a
```console block must end with status 0. The sentence before a block names its file and says `Write` or `Append to`; a
python block without such a sentence is run. A diff names its file after `---`; its lines have no context. Commands run
in a folder beside the packages, which also gets files whose folder is in no package.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### (?P<name>[^\n]+)\n(?P<body>.*?)(?=^###? |\Z)", re.M | re.S)
BLOCK = re.compile(r"(?P<before>(?:(?!\n\n).)*?)\n\n?```(?P<language>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
RECIPES = {match["name"]: match["body"] for match in SECTION.finditer(PAGE)}
PACKAGES = ("features", "tbed", "submodels", "ensemble")
PROGRAMS = {
    "phistack": '#!/bin/sh\nexec "{python}" -m phistack.ensemble.command_line.app "$@"\n',
    "pip": '#!/bin/sh\nexec "{python}" -m pip "$@" --no-index --no-deps --no-build-isolation --target "$PYTHONPATH"\n',
}
"""What stands for the programs of the same names; packages are installed beside the copy, from this machine alone."""


def changed(text: str, lines: list[str], file: str) -> str:
    """The text with each run of removed lines replaced by the added lines that follow it."""
    for match in re.finditer(r"((?:^-.*\n)+)((?:^\+.*\n)*)", "\n".join([*lines, ""]), re.M):
        old, new = ("\n".join(line[1:] for line in part.splitlines()) for part in match.groups())
        assert text.count(old) == 1, f"{file} has no such lines, or more than once: {old}"
        text = text.replace(old, new)
    return text


def hunks(diff: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"^--- ", diff, flags=re.M)[1:]:
        file, *lines = part.splitlines()
        yield file.strip(), lines


@pytest.fixture
def house(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of the packages, and an environment with the `phistack` and `python` of the copy."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / "house" / package, ignore=shutil.ignore_patterns("__pycache__"))
    # As installed: `phistack`, with the folders in it.
    tree = tmp_path / "tree" / "phistack"
    tree.mkdir(parents=True)
    for part in (*PACKAGES, *(f"ensemble/face/{file.name}" for file in (ROOT / "ensemble" / "face").glob("*.py*"))):
        (tree / Path(part).name).symlink_to(tmp_path / "house" / part)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in PROGRAMS.items():
        (programs / name).write_text(script.format(python=sys.executable), encoding="utf-8")
        (programs / name).chmod(0o755)
    paths = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(tree.parent)}
    return tmp_path / "house", os.environ | paths


def run(command: list[str], house: tuple[Path, dict[str, str]]) -> None:
    folder, environment = house
    work = folder.parent / "work"
    work.mkdir(exist_ok=True)
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_there_are_recipes() -> None:
    assert {"A submodel or column", "A pattern", "A format", "A command", "A label set"} <= set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works(name: str, house: tuple[Path, dict[str, str]]) -> None:
    folder, _ = house
    for block in BLOCK.finditer("\n\n" + RECIPES[name]):
        body = block["body"]
        place = re.search(r"(Write|Append to|here)\s+`([^`]+)`", block["before"])
        if block["language"] == "diff":
            for file, lines in hunks(body):
                path = folder / file
                path.write_text(changed(path.read_text(encoding="utf-8"), lines, file), encoding="utf-8")
        elif block["language"] == "console":
            for line in body.replace("\\\n", " ").splitlines():
                if line.startswith("$ "):
                    run(["bash", "-euc", line[2:]], house)
        elif place:
            path = (folder if (folder / place[2]).parent.is_dir() else folder.parent / "work") / place[2]
            path.parent.mkdir(parents=True, exist_ok=True)
            begun = path.read_text(encoding="utf-8") + "\n" if place[1] == "Append to" else ""
            path.write_text(begun + body, encoding="utf-8")
        elif block["language"] == "python":
            run([sys.executable, "-c", body], house)
