"""The command `phistack`.

A command ends with status 0 only if it did all that it was asked. An error is one sentence on standard error, never a
traceback and never a patient's text.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from phistack.ensemble.command_line.examples import EXAMPLES, MODULES, epilog
from phistack.ensemble.command_line.output import fail, say
from phistack.ensemble.tools.numerics import keep_freed_memory, numeric_environment
from phistack.ensemble.tools.version import version_lines
from phistack.features.errors import MissingResourceError, PackageError, PhistackError, place_of
from phistack.features.registry import Registry
from phistack.features.shown import explained
from phistack.features.writing import remedy

INSTALLED = Registry("phistack.commands", "command")
"""Commands of installed packages, each a function whose docstring is its help; they cannot replace ours."""


@cache
def program(*names: str) -> typer.Typer:
    """The command line with some of its commands, by default all; only their modules are imported."""
    app = typer.Typer(
        name="phistack",
        help="Find and remove protected health information (PHI) in clinical notes with a stacked ensemble.",
        epilog="`phistack COMMAND --help` explains the options of a command, with examples.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # Tables drawn by rich clip long names at 80 columns.
        rich_markup_mode=None,
        callback=_options,
    )
    for name in names or _names():
        command = _ours(name) if name in MODULES else _installed(name)
        # Without a short help, the list of commands would cut the long one.
        examples = epilog(EXAMPLES.get(name, getattr(command, "examples", ())))
        app.command(name, short_help=command.__doc__, epilog=examples)(wrapped(command))
    return app


def __getattr__(name: str) -> typer.Typer:
    """`app` is the program with all commands."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return program()


def _names() -> tuple[str, ...]:
    return (*MODULES, *(name for name in INSTALLED.names if name not in MODULES))


def _ours(name: str) -> Callable[..., None]:
    module = import_module(f"phistack.ensemble.command_line.{MODULES[name]}")
    command: Callable[..., None] = getattr(module, name.replace("-", "_"))
    return command


def _installed(name: str) -> Callable[..., None]:
    """An installed command, or one that reports why it cannot be loaded."""
    try:
        command: Callable[..., None] = INSTALLED.load(name)
    except PackageError as error:
        reason = error

        def command() -> None:
            """Cannot be used: its package is damaged."""
            raise reason

    return command


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
            sys.exit(128 + signal.SIGPIPE)

    parameters = _spread(command)
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


_is_group: Callable[[Any], bool] = is_dataclass


def _spread(of: Callable[..., object]) -> list[Parameter]:
    own = signature(of, eval_str=True).parameters.values()
    parts = (_spread(p.annotation) if _is_group(p.annotation) else [p] for p in own)
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY) for part in parts for parameter in part]


def _gathered(of: Callable[..., object], given: dict[str, Any]) -> dict[str, Any]:
    own = signature(of, eval_str=True).parameters.values()
    return {
        p.name: p.annotation(**_gathered(p.annotation, given)) if _is_group(p.annotation) else given[p.name]
        for p in own
    }


def _is_cut_off() -> bool:
    """Whether the closed pipe is standard output, and not one to a process of ours."""
    if not hasattr(select, "poll"):
        return False
    asked = select.poll()
    asked.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))


def _show_version(asked: bool) -> None:
    if asked:
        say("\n".join(version_lines()))
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the versions and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command line; the process ends with its status. SIGTERM ends it as Ctrl-C does."""
    _open_standard_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name, value in {"TF_CPP_MIN_LOG_LEVEL": "3", **numeric_environment()}.items():
        os.environ.setdefault(name, value)
    keep_freed_memory()
    logging.basicConfig(level=logging.WARNING, format="phistack: %(message)s", stream=sys.stderr)
    try:
        named = [name for name in sys.argv[1:2] if name in _names()]
        program(*named)(prog_name="phistack")
    except PhistackError as error:
        fail(str(error) + explained(str(error)), 1)
    except OSError as error:
        fail(f"{error.strerror or type(error).__name__}: {error.filename or 'unknown file'}{remedy(error)}", 1)
    except MemoryError:
        fail("there is not enough memory; give fewer notes at once, or fewer processes with --jobs", 1)
    except KeyboardInterrupt:
        fail("stopped; nothing was written", 130)
    except Exception as error:
        if os.environ.get("PHISTACK_DEBUG"):
            raise
        place = f"{type(error).__name__} in {place_of(error)}"
        fail(f"internal error, {place}; PHISTACK_DEBUG=1 shows more, which may include text of notes", 70)


def _open_standard_streams() -> None:
    """Let closed standard streams, as cron may have them, read nothing and write nowhere.

    Otherwise a file that is opened later would get the number of such a stream, and what is printed.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if name in closed:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    if "-" in sys.argv[1:] and {"stdin", "stdout"} & {*closed}:
        fail("- is a standard stream, and one of these is closed; give file names", 1)


if __name__ == "__main__":
    main()
