"""The manual, as `make docs` builds it with Sphinx from README.md, CONTRIBUTING.md and docs/.

Before the build begins, pages are written into `docs/generated`: `NAME.md` for each command, from what `--help` says,
`commands.md`, which lists them, and `python.md`, the names that the docstring of `phistack` has, by its groups.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from typer.main import get_command

import phistack
from phistack.ensemble.command_line.app import program
from phistack.ensemble.tools.version import installed

GENERATED = Path(__file__).parent / "generated"

project, author, release = "phistack", "The phistack contributors", installed("phistack")
extensions = ["myst_nb", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**"]
exclude_patterns = [".venv", "**/.ipynb_checkpoints"]

html_theme = "furo"
html_title = f"phistack {release}"
html_static_path, html_css_files = ["narrow.css"], ["narrow.css"]
html_copy_source = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
nb_execution_mode, nb_execution_raise_on_error, nb_execution_timeout = "cache", True, 300
nb_output_stderr = "remove"  # the progress of a training

# Docstrings write code in single backticks, as the pages do.
default_role, highlight_language = "code", "none"
autodoc_default_options = {"members": True}
# The types of other libraries, and ours that no program of a user names, have no page.
nitpick_ignore_regex = [("py:.*", ".*")]


def setup(app: Sphinx) -> None:
    """Write pages before the build, and let the folder of the built ones open at the first."""
    first = '<meta http-equiv="refresh" content="0; url=docs/index.html">\n'
    app.connect("builder-inited", lambda app: write_pages())
    app.connect("autodoc-process-docstring", fields_apart)
    app.connect("build-finished", lambda app, error: error or (app.outdir / "index.html").write_text(first))


def fields_apart(app: Sphinx, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Give a field that our docstrings have within a sentence, as `; :raises X: if`, a paragraph of its own."""
    apart = re.sub(r"(?<=\S)[;,]? (:(?:raises|param) [\w, ]+: (?:.+\n?)+)", _field, "\n".join(lines))
    lines[:] = apart.splitlines()


def _field(found: re.Match[str]) -> str:
    return "\n\n" + " ".join(found[1].split()) + "\n"


def write_pages() -> None:
    """The pages of the commands and that of the Python interface, where they are not yet as they should be."""
    group: Any = get_command(program())
    pages = {name: command_page(name, command) for name, command in group.commands.items()}
    listed = "\n".join(["# Commands", "", "```{toctree}", *sorted(pages), "```", ""])
    GENERATED.mkdir(exist_ok=True)
    for name, page in {**pages, "commands": listed, "python": python_page()}.items():
        path = GENERATED / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def command_page(name: str, command: Any) -> str:
    """What `--help` says of a command: how it is called, what it does, its parameters, examples."""
    context = command.make_context(name, [], resilient_parsing=True)
    called = " ".join(["phistack", name, *command.collect_usage_pieces(context)])
    records = [record for given in command.get_params(context) if (record := given.get_help_record(context))]
    options = [line for names, said in records for line in (f"`{names}`", f": {escaped(said)}", "")]
    examples = [f"$ {line.strip()}" for line in (command.epilog or "").splitlines()[2:]]
    lines = [f"# {name}", "", "```text", called, "```", "", escaped(command.help), "", *options]
    return "\n".join([*lines, *(["```console", *examples, "```"] if examples else []), ""])


def escaped(said: str) -> str:
    """The text, in which signs outside of code mean themselves to Markdown."""
    parts = re.split(r"(`[^`]*`)", said)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<\[])", r"\\\1", part) for part in parts)


def python_page() -> str:
    """The public names, by the groups of the docstring of `phistack`."""
    groups = re.findall(r"^(\w+(?: \w+)?)  +(.+(?:\n +.+)*)", str(phistack.__doc__), re.M)
    lines = ["# Python interface", "", "Programs import from `phistack` alone."]
    for title, said in groups:
        names = dict.fromkeys(name for name in re.findall(r"`(\w+)`", said) if name in phistack.__all__)
        described = [f".. auto{_kind(getattr(phistack, name))}:: {name}" for name in names]
        lines += ["", f"## {title}", "", " ".join(said.split()) + ".", ""]
        lines += ["```{eval-rst}", ".. currentmodule:: phistack", *described, "```"]
    return "\n".join([*lines, ""])


def _kind(of: object) -> str:
    return ("exception" if issubclass(of, BaseException) else "class") if isinstance(of, type) else "function"
