"""Progress of long work: a bar on a terminal, plain lines elsewhere.

with progress("training", total=24) as advance:
    advance("crf, fold 1 of 5")
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(description: str, *, total: int) -> Iterator[Callable[[str], None]]:
    """Show progress on standard error; the value is called once for each finished step, with its name or ``""``."""
    steps = _bar(description, total) if sys.stderr.isatty() else _lines(description, total)
    with steps as advance:
        yield advance


@contextmanager
def _bar(description: str, total: int) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[step]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total, step="")
        yield lambda step: bar.update(task, advance=1, step=step)


@contextmanager
def _lines(description: str, total: int) -> Iterator[Callable[[str], None]]:
    begin = last = time.monotonic()
    done = 0

    def advance(step: str) -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if step or done == total or now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            tail = f": {step}" if step else ""
            print(f"{description}: {done} of {total} after {now - begin:.0f} s{tail}", file=sys.stderr, flush=True)

    yield advance
