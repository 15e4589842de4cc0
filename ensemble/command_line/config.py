"""The options of a command from a TOML file, by the names that they have on the command line.

    model = "engine"
    policy = "safe-harbor"
    text-column = ["history", "plan"]
    jobs = 4

    [columns]
    name = "PATIENT"
    ward = "keep"

    [strategies]
    DATE = "generalise"

Options on the command line override those of the file, and in a table each entry by itself. The file replaces the
defaults, so each value is checked as if it had been typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from phistack.ensemble.command_line.options import option
from phistack.features.errors import SettingsError, no_such
from phistack.features.files import file_named, read_toml

_TABLES = {"columns": "column", "strategies": "strategy", "substitutes": "substitute"}
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
            context.meta.update({given: _pairs(table, entries.get(table, {})) for table, given in _TABLES.items()})
            context.default_map = {
                option.name: _typed(name, option, entries[name]) for name, option in known.items() if name in entries
            }
    return path


ConfigOption = Annotated[
    Path | None,
    option(
        "A TOML file with these options by name, and tables columns, strategies and substitutes.",
        "--config", is_eager=True, callback=_take,
    ),
]  # fmt: skip


def merged(context: typer.Context, option: str, given: Sequence[str] | None) -> list[str]:
    """The NAME=VALUE pairs of the file and, over them, those of the command line."""
    named = {pair.rpartition("=")[0] for pair in given or ()}
    in_file = (pair for pair in context.meta.get(option, ()) if pair.rpartition("=")[0] not in named)
    return [*in_file, *(given or ())]


def _typed(name: str, option: Any, value: Any) -> Any:
    """A value as the command line has it; :raises SettingsError: if the option cannot have it."""
    if option.is_flag:
        wanted, is_right = "true or false", isinstance(value, bool)
    elif option.multiple:
        value = [value] if isinstance(value, str) else value
        wanted, is_right = "a string or a list of strings", isinstance(value, list) and all(map(_is_string, value))
    else:
        wanted, is_right = "one string or number", type(value) in (str, int, float)
        value = str(value)
    if not is_right:
        raise SettingsError(f"{name} must be {wanted}")
    return value


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _shown(option: Any) -> str:
    """The longest name of an option, without its dashes."""
    return str(max(option.opts, key=len)).removeprefix("--")


def _pairs(table: str, entries: Any) -> list[str]:
    if not isinstance(entries, dict) or not all(map(_is_string, entries.values())):
        raise SettingsError(f'[{table}] must be a table of NAME = "VALUE"')
    return [f"{name}={value}" for name, value in entries.items()]
