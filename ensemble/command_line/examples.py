"""Our commands with their modules, and lines to copy for each, shown at the end of its `--help`.

epilog(EXAMPLES["audit"])     "Examples:" and the lines of the command
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from phistack.features.registry import packaged_table

_TABLE = packaged_table("phistack.ensemble.command_line", "commands.toml")
MODULES: dict[str, str] = {name: entry["module"] for name, entry in _TABLE.items()}
"""Our commands -> their modules, in the order in which `--help` lists them."""

EXAMPLES: dict[str, list[str]] = {name: entry["examples"].splitlines() for name, entry in _TABLE.items()}
"""Command -> its lines."""

_Command = TypeVar("_Command", bound=Callable[..., None])


def with_examples(*lines: str) -> Callable[[_Command], _Command]:
    """Let a command of another package have examples at the end of its help."""

    def add(command: _Command) -> _Command:
        command.examples = lines  # type: ignore[attr-defined]
        return command

    return add


def epilog(examples: Sequence[str]) -> str:
    """The examples of a command as the end of its help; the mark `\\b` keeps the lines as they are."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in examples)]) if examples else ""
