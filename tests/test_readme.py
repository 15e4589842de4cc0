"""The examples of the README run.

Every ```console block in README.md is run: each line that begins with `$ ` in turn, all in one temporary folder,
`phistack` in this process and others by bash; each must end with status 0. Every ```python block is run as a program in
the same folder. A block is left out if the line above it says why:

    <!-- not run: the corpus must be fetched by hand -->

`make TARGET` is not run, as the tests themselves run under make, but the Makefile must have the target.
"""

import ast
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import phistack
from phistack.ensemble.command_line.app import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+?) -->\n+)?```(?P<language>console|python)\n(?P<body>.*?)^```$", re.M | re.S
)
TARGET = re.compile(r"^([a-z]+):", re.M)


@dataclass(frozen=True)
class Example:
    """One fenced block: its language, its text, its line, and the reason if it is not run."""

    language: str
    body: str
    line: int
    reason: str | None = None

    def commands(self) -> list[str]:
        """The lines after `$ `, each joined with the lines that continue it after a backslash."""
        joined = self.body.replace("\\\n", " ")
        return [line[2:].strip() for line in joined.splitlines() if line.startswith("$ ")]


def examples_of(markdown: str) -> Iterator[Example]:
    for match in BLOCK.finditer(markdown):
        line = markdown.count("\n", 0, match.start("language")) + 1
        yield Example(match["language"], match["body"], line, match["reason"])


def ran(command: str, folder: Path) -> str:
    """Run a command of a page in a folder; returns its output. Its status must be 0."""
    words = shlex.split(command)
    if words[0] == "phistack" and not {"|", ">", ";", "&&"} & {*words}:
        status, said = _ran_here(words, folder)
    else:
        done = subprocess.run(["bash", "-euc", command], cwd=folder, capture_output=True, text=True, check=False)
        status, said = done.returncode, done.stdout + done.stderr
    assert status == 0, f"{command}\n{said[-3000:]}"
    return said


def _ran_here(words: list[str], folder: Path) -> tuple[int, str]:
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(folder)
        patch.setenv("COLUMNS", "120")
        patch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0), said.getvalue()


def is_make(command: str) -> bool:
    return shlex.split(command)[0] == "make"


def missing_targets(command: str, makefile: str) -> set[str]:
    """The targets that a `make` command asks for and the Makefile does not have."""
    wanted = {word for word in shlex.split(command)[1:] if "=" not in word and not word.startswith("-")}
    return wanted - set(TARGET.findall(makefile))


README = (ROOT / "README.md").read_text(encoding="utf-8") if (ROOT / "README.md").exists() else ""
EXAMPLES = list(examples_of(README))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all examples share."""
    return tmp_path_factory.mktemp("readme")


def test_the_readme_shows_commands() -> None:
    assert any(example.language == "console" and example.commands() for example in EXAMPLES)


def test_the_readme_opens_with_the_two_commands() -> None:
    console = [example for example in EXAMPLES if example.language == "console"]
    first = [command for example in console for command in example.commands() if is_make(command)]
    assert first[:2] == ["make demo", "make test"]


def test_the_makefile_has_every_target_of_the_readme() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = [command for example in EXAMPLES if example.language == "console" for command in example.commands()]
    assert not {t for command in commands if is_make(command) for t in missing_targets(command, makefile)}


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.language}-line-{example.line}")
def test_examples_run(example: Example, workplace: Path) -> None:
    if example.reason:
        pytest.skip(f"README.md says: {example.reason}")
    if example.language == "python":
        subprocess.run([sys.executable, "-c", example.body], cwd=workplace, check=True)
        return
    for command in example.commands():
        if not is_make(command):
            ran(command, workplace)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.stem
)
def test_python_takes_names_from_the_face_only(page: Path) -> None:
    programs = [example for example in examples_of(page.read_text(encoding="utf-8")) if example.language == "python"]
    taken = [
        node for e in programs for node in ast.walk(ast.parse(e.body)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    modules = {ast.unparse(node).split()[1] for node in taken}
    assert not {module for module in modules if module.startswith("phistack.")}
    names = {alias.name for node in taken if ast.unparse(node).split()[1] == "phistack" for alias in node.names}
    assert names <= {*phistack.__all__}


def test_blocks_are_found_with_their_reasons() -> None:
    markdown = (
        "# A\n\n```console\n$ phistack one \\\n    --two\noutput\n$ make demo\n```\n\n"
        "<!-- not run: needs a corpus -->\n```console\n$ phistack three\n```\n\n"
        "```python\nprint(1)\n```\n\n```text\n$ no\n```\n"
    )
    found = list(examples_of(markdown))
    assert [(example.language, example.line, example.reason) for example in found] == [
        ("console", 3, None),
        ("console", 11, "needs a corpus"),
        ("python", 15, None),
    ]
    assert found[0].commands() == ["phistack one      --two", "make demo"]


def test_targets_are_looked_up() -> None:
    assert missing_targets("make -j2 demo nothing CORPUS=x", "demo: .venv\n\t@true\n") == {"nothing"}
