"""The options of a command out of a TOML file, by the names that they have on the command line.

    model = "engine"
    policy = "safe-harbor"
    text-column = ["history", "plan"]
    jobs = 4

    [columns]
    name = "PATIENT"
    ward = "keep"

    [strategies]
    DATE = "generalise"

What stands on the command line counts over the file, and in a table entry by entry. The file takes the place of the
defaults, so that each value is checked as if it had been typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from phistack.features.errors import SettingsError
from phistack.features.suggestions import no_such
from phistack.features.user_files import file_named, read_toml

_TABLES = {"columns": "column", "strategies": "strategy"}
"""Table of the file -> the option NAME=VALUE that each of its entries is."""


def _take(context: typer.Context, path: Path | None) -> Path | None:
    """Let the entries of the file be the defaults of the options."""
    if path is not None and not context.resilient_parsing:
        options = {_shown(option): option for option in context.command.params if option.param_type_name == "option"}
        known = {name: option for name, option in options.items() if name not in ("config", "help", *_TABLES.values())}
        with file_named("the file of --config", path):
            entries = read_toml(path)
            for name in sorted(entries.keys() - {*known, *_TABLES}):
                raise SettingsError(no_such("option", name, (*known, *_TABLES)))
            pairs = {option: _pairs(table, entries.get(table, {})) for table, option in _TABLES.items()}
        context.default_map = {
            option.name: [value] if option.multiple and isinstance(value, str) else _typed(value)
            for name, option in known.items()
            if (value := entries.get(name)) is not None
        }
        context.meta.update(pairs)
    return path


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="A TOML file with these options by name, and tables columns and strategies.",
        show_default=False,
        is_eager=True,
        callback=_take,
    ),
]


def merged(context: typer.Context, option: str, given: Sequence[str] | None) -> list[str]:
    """The NAME=VALUE of the file and, over them, those of the command line."""
    named = {pair.rpartition("=")[0] for pair in given or ()}
    in_file = (pair for pair in context.meta.get(option, ()) if pair.rpartition("=")[0] not in named)
    return [*in_file, *(given or ())]


def _typed(value: Any) -> Any:
    """A number as the command line has it."""
    return str(value) if type(value) in (int, float) else value


def _shown(option: Any) -> str:
    """The name of an option without its dashes, as it is longest."""
    return str(max(option.opts, key=len)).removeprefix("--")


def _pairs(table: str, entries: Any) -> list[str]:
    if not isinstance(entries, dict) or not all(isinstance(value, str) for value in entries.values()):
        raise SettingsError(f'[{table}] must be a table of NAME = "VALUE"')
    return [f"{name}={value}" for name, value in entries.items()]
