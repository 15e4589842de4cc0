"""Progress of a run: notes, rate and time left; a bar on a terminal, plain lines elsewhere.

    with meter("de-identifying") as show:
        show(notes=6400, fraction=0.12, quarantined=1)

The fraction is of the input; the rate is of the notes of this start, so that a resumed run does not boast.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["duration", "meter"]

_SECONDS_BETWEEN_LINES = 10.0
Show = Callable[[int, float, int], None]


@contextmanager
def meter(description: str) -> Iterator[Show]:
    """Show progress on standard error; the value is called with notes done now, fraction and number in quarantine."""
    with _bar(description) if sys.stderr.isatty() else _lines(description) as show:
        yield show


@contextmanager
def _bar(description: str) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn(description), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[facts]}"))
    begin, first = time.monotonic(), -1.0
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=1.0, facts="")

        def show(notes: int, fraction: float, quarantined: int) -> None:
            nonlocal first
            first = fraction if first < 0 else first
            facts = _facts(notes, fraction, first, quarantined, time.monotonic() - begin)
            bar.update(task, completed=fraction, facts=facts)

        yield show


@contextmanager
def _lines(description: str) -> Iterator[Show]:
    begin = last = time.monotonic()
    first, line = -1.0, ""

    def show(notes: int, fraction: float, quarantined: int) -> None:
        nonlocal last, first, line
        first = fraction if first < 0 else first
        now = time.monotonic()
        line = f"{description}: {fraction:.0%}, {_facts(notes, fraction, first, quarantined, now - begin)}"
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            print(line, file=sys.stderr, flush=True)
            line = ""

    yield show
    if line:
        print(line, file=sys.stderr, flush=True)


def _facts(notes: int, fraction: float, first: float, quarantined: int, seconds: float) -> str:
    rate = notes / seconds if seconds else 0.0
    parts = [f"{notes:,} notes, {rate:.1f} a second"]
    if first < fraction < 1 and seconds > 1:
        parts.append(f"about {duration(seconds * (1 - fraction) / (fraction - first))} left")
    return ", ".join([*parts, *([f"{quarantined:,} in quarantine"] if quarantined else [])])


def duration(seconds: float) -> str:
    """A duration for people: `45 s`, `12 min`, `3 h 20 min`, `5 days 4 h`."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} days {hours % 24} h"
