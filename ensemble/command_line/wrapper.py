"""What runs around every command: its groups of options, Ctrl-C, and a reader who leaves.

    app.command()(wrapped(train))

Typer reads a command's options from its signature and has no groups of options. So a wrapped command has a signature
with the fields of each group in its place, and gathers these into the value of the group before it runs.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

from phistack.ensemble.command_line.output import fail
from phistack.features.errors import MissingResourceError

_CUT_OFF = 128 + 13
"""The status of a process that a signal ends is 128 and its number; that of SIGPIPE is 13."""


def wrapped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer takes it.

    It ends with status 130 after Ctrl-C, and says what is kept. It ends with 141, as a program that SIGPIPE ends, if
    standard output is closed before its end, as `head` does.
    """

    @wraps(command)
    def run(**given: Any) -> None:
        try:
            command(**_gathered(command, given))
            sys.stdout.flush()
        except KeyboardInterrupt as stop:
            fail(f"stopped; {str(stop) or 'nothing was written'}", 130)
        except BrokenPipeError:
            if not _is_cut_off():
                raise MissingResourceError("a process of this run ended early; give the command again") from None
            # What is still to be flushed at the end of the process goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_CUT_OFF)

    parameters = _spread(command)
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _spread(of: Callable[..., object]) -> list[Parameter]:
    """The parameters, with those of a group in its place."""
    own = signature(of, eval_str=True).parameters.values()
    parts = (_spread(p.annotation) if _is_group(p.annotation) else [p] for p in own)
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY) for part in parts for parameter in part]


def _gathered(of: Callable[..., object], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with those of a group as its value."""
    own = signature(of, eval_str=True).parameters.values()
    return {
        p.name: p.annotation(**_gathered(p.annotation, given)) if _is_group(p.annotation) else given[p.name]
        for p in own
    }


def _is_group(annotation: Any) -> bool:
    return is_dataclass(annotation)


def _is_cut_off() -> bool:
    """Whether the closed pipe is standard output, and not one to a process of ours."""
    if not hasattr(select, "poll"):
        return False
    asked = select.poll()
    asked.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))
