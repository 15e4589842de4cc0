"""Model cards and HTML pages from templates; all pages share a head, a style, and a policy against fetching anything.

    template("phistack.ensemble.views", "errors_template.html").render(tables=tables)

The template of a page begins with `{% extends "phistack.ensemble.views/base_template.html" %}` and fills the blocks
`title`, `style` and `main`; `warning` is shown in the footer. All values of a page are escaped. The content security
policy forbids everything except the page's style and a script whose digest is in the block `scripts`.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def template(package: str, name: str) -> Template:
    """A template; rendering it without a value that it names is an error."""
    return _environment().get_template(f"{package}/{name}")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_source), autoescape=lambda name: not (name or "").endswith(".md"),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["digest"] = _digest
    return environment


def _source(path: str) -> str:
    package, name = path.split("/")
    return (resources.files(package) / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """The name of the permitted script in a content security policy."""
    return "sha256-" + b64encode(hashlib.sha256(str(script).encode()).digest()).decode()
