"""The command `phistack`.

Every command ends with status 0 only if it did all that it was asked. What goes wrong is one sentence on standard
error, never a traceback and never a patient's text. The commands themselves are in `ensemble.command_line`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, ParamSpec

import typer

from phistack.ensemble.command_line import (
    annotation,
    batch,
    corpora,
    engines,
    experiments,
    patterns,
    scores,
    shipped,
    splitting,
)
from phistack.ensemble.command_line.examples import EXAMPLES, epilog
from phistack.ensemble.command_line.output import fail, quiet_when_cut_off, say
from phistack.ensemble.tools.numerics import keep_freed_memory, numeric_environment
from phistack.ensemble.tools.version import version_lines
from phistack.features.errors import PackageError, PhistackError, place_of
from phistack.features.registry import Registry
from phistack.features.shown import explained
from phistack.features.writing import remedy

_P = ParamSpec("_P")

app = typer.Typer(
    name="phistack",
    help="Find and remove protected health information (PHI) in clinical notes with a stacked ensemble.",
    epilog="`phistack COMMAND --help` explains the options of a command, with examples.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Tables drawn by rich clip long names at 80 columns.
    rich_markup_mode=None,
)

_COMMANDS = (
    engines.demo,
    corpora.synthesize,
    corpora.convert,
    splitting.split,
    corpora.pseudonymise,
    corpora.vectors,
    corpora.language_model,
    shipped.engines,
    engines.train,
    engines.annotate,
    scores.evaluate,
    scores.compare,
    scores.errors,
    annotation.agreement,
    engines.explain,
    engines.rules,
    patterns.patterns,
    experiments.ablate,
    experiments.curve,
    experiments.transfer,
    experiments.tune,
    scores.frontier,
    batch.deidentify,
    batch.audit,
)
"""Ours, in the order in which `--help` lists them; those of installed packages follow."""

INSTALLED = Registry("phistack.commands", "command")
"""Commands of installed packages, each a function whose docstring is its help; none takes the place of one of ours."""


def _saying_what_is_kept(command: Callable[_P, None]) -> Callable[_P, None]:
    """The same command, which says what is kept when somebody presses Ctrl-C; typer would end it without a word."""

    @wraps(command)
    def run(*given: _P.args, **options: _P.kwargs) -> None:
        try:
            command(*given, **options)
        except KeyboardInterrupt as stop:
            fail(f"stopped; {str(stop) or 'nothing was written'}", 130)

    return run


def _installed(name: str) -> Callable[..., None]:
    """An installed command, or one that says why it cannot be had."""
    try:
        command: Callable[..., None] = INSTALLED.load(name)
    except PackageError as error:
        reason = error

        def command() -> None:
            """Cannot be used: its package is damaged."""
            raise reason

    return command


def _add(name: str, command: Callable[..., None]) -> None:
    examples = EXAMPLES.get(name, getattr(command, "examples", ()))
    # Without a short help of its own, the list of commands would show the first words of the long one.
    wrapped = quiet_when_cut_off(_saying_what_is_kept(command))
    app.command(name, short_help=command.__doc__, epilog=epilog(examples))(wrapped)


_OURS = {command.__name__.replace("_", "-"): command for command in _COMMANDS}
for _name, _command in (_OURS | {name: _installed(name) for name in INSTALLED.names if name not in _OURS}).items():
    _add(_name, _command)


def _show_version(asked: bool) -> None:
    if asked:
        say("\n".join(version_lines()))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the versions and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command line; the process ends with its status. It is ended by SIGTERM as by Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name, value in {"TF_CPP_MIN_LOG_LEVEL": "3", **numeric_environment()}.items():
        os.environ.setdefault(name, value)
    keep_freed_memory()
    logging.basicConfig(level=logging.WARNING, format="phistack: %(message)s", stream=sys.stderr)
    try:
        app(prog_name="phistack")
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


if __name__ == "__main__":
    main()
