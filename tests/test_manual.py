"""The manual: its pages are found, its links and its commands' options exist, and Sphinx builds it.

The manual and the notebooks need the extra `manual`, which `make docs` installs.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import phistack
from phistack.ensemble.command_line.app import app
from tests.test_readme import ROOT, examples_of, ran

DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *DOCS.glob("*.md")]
PAGES += [*DOCS.glob("papers/*.md")]
COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)")
CALL = re.compile(r"^(?:\$ |.*\| )?phistack ([a-z-]+)((?:.*\\\n)*.*)", re.M)
ELSEWHERE = re.compile(r"""(?:src|srcset)="https?:|<link[^>]+href="https?:|url\(["']?https?:|@import""")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.+)$", text_of(page), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def listed() -> Iterator[Path]:
    """The pages that the first page lists."""
    for block in re.findall(r"^```{toctree}\n(.*?)^```$", text_of(DOCS / "index.md"), re.M | re.S):
        for name in re.findall(r"^[^:\s].*$", block, re.M):
            yield from DOCS.glob(f"{name}.*") if not name.startswith("..") else [ROOT / f"{name[3:]}.md"]


def test_the_first_page_lists_every_page() -> None:
    assert {*PAGES, *DOCS.glob("notebooks/*.ipynb")} - {DOCS / "index.md"} <= {*listed()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_to_a_place(page: Path) -> None:
    for file, anchor in LINK.findall(text_of(page)):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_has_the_options_that_it_is_given(page: Path) -> None:
    blocks = re.findall(r"^ *```(\w*).*?\n(.*?)^ *```$", text_of(page), re.M | re.S)
    for language, block in blocks:
        for name, rest in CALL.findall(block) if language in ("", "console", "sh") else ():
            command = COMMANDS.get(name)
            assert command or name in ("count",), f"phistack {name}"
            known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)} if command else set()
            given = re.findall(r"(?<![\w-])(--[a-z][\w-]*)", rest.partition(" | ")[0])
            assert not {*given} - known - {"--help"}, f"phistack {name}"


@pytest.mark.slow
def test_the_shared_task_runs(tmp_path: Path) -> None:
    examples = [example for example in examples_of(text_of(DOCS / "shared-task.md")) if not example.reason]
    said = [ran(command, tmp_path) for example in examples for command in example.commands()]
    assert "Strict" in said[-1] or "strict" in said[-1]


@pytest.mark.slow
def test_the_manual_is_built_without_a_warning_and_asks_for_nothing_elsewhere(tmp_path: Path) -> None:
    for library in ("furo", "myst_nb"):
        pytest.importorskip(library, reason="the manual needs: pip install '.[manual]'")
    build = ("-m", "sphinx", "-qnW", "-D", "nb_execution_mode=off", "-c", str(DOCS), str(ROOT), str(tmp_path))
    done = subprocess.run([sys.executable, *build], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    pages = {path.relative_to(tmp_path / "docs").as_posix(): text_of(path) for path in tmp_path.rglob("docs/**/*.html")}
    assert not [name for name, page in pages.items() if ELSEWHERE.search(page)]
    assert not [name for name in COMMANDS if f"generated/{name}.html" not in pages]
    described = re.findall(r'id="phistack\.(\w+)"', pages["generated/python.html"])
    assert {*described} == {*phistack.__all__}


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted(DOCS.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="notebooks need: pip install '.[manual]'")
    nbformat = pytest.importorskip("nbformat")
    nbclient.NotebookClient(nbformat.read(notebook, 4), timeout=300).execute()
