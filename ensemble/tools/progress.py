"""Progress of long work: the current step, the share done, the time left; a bar on a terminal, otherwise plain lines.

    with stage("learning curve", total=30):                      stages nest, and the line shows all of them
        for number in range(30):
            with stage(f"round {number + 1} of 30"), progress("training", total=24) as advance:
                advance("crf, fold 1 of 5")

    learning curve: round 3 of 30: training: 9%, about 3 h 20 min left, 12 of 24: crf, fold 1 of 5

    with meter("de-identifying") as show:                        a run over notes, which may continue an earlier one
        show(notes=6400, fraction=0.12, quarantined=1)

The outermost stage is shown when it begins; then a thread writes a line at least every ten seconds. The share and the
time left are those of the outermost stage.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_LOOKS = 0.25
_LEAST_SECONDS = 1.0
"""The time left is estimated from here on."""
_LEAST_SHARE = 0.1
"""The time left is estimated from this share on if the share comes from `look`."""

Look = Callable[[], tuple[float, str]]
"""Returns how much of a stage is done, in the units of its total (0 if unknown), and the current step in words."""


@dataclass(eq=False)
class Stage:
    """A part of the work.

    :param total: the amount of work in any unit; 0 if unknown, and then no share is shown.
    :param weight: its part of the total of the stage around it.
    :param look: returns its progress, if the stage does not set it itself.
    :param done: the amount that is done, including `first`, which was done before it began.
    """

    name: str
    total: float = 0.0
    weight: float = 0.0
    look: Look | None = None
    done: float = 0.0
    first: float = 0.0
    words: str = ""
    begin: float = field(default_factory=time.monotonic)

    def share(self, inner: float) -> float:
        """The share that is done, in [0, 1]; `inner` is the amount done by the stage inside it."""
        return min(1.0, (self.done + inner) / self.total) if self.total else 0.0

    def finish(self) -> None:
        """Show its end."""
        _show(at_once=True)


_STAGES: list[Stage] = []
"""The running stages, the outermost first; the display's thread reads them."""

_DISPLAYS: list[Callable[[bool], None]] = []
"""The display while there are stages; called with whether to show at once."""

_LOCK = threading.RLock()


@contextmanager
def stage(name: str, *, total: float = 0.0, weight: float = 1.0, look: Look | None = None) -> Iterator[Stage]:
    """Show some work on standard error; the parameters are those of `Stage`."""
    at = Stage(name, total, weight, look)
    with nullcontext() if _STAGES else _displayed():
        _STAGES.append(at)
        _show(at_once=len(_STAGES) == 1)
        try:
            yield at
            if len(_STAGES) == 1 and at.total and not at.words:
                # The stages inside last showed less than the whole.
                at.done = at.total
                at.finish()
        finally:
            # Not while the display calls `look`, which may fail after the end of this stage.
            with _LOCK:
                _STAGES.remove(at)
                if _STAGES:
                    _STAGES[-1].done += at.weight


@contextmanager
def progress(description: str, *, total: int, weight: float = 1.0) -> Iterator[Callable[[str], None]]:
    """A stage of equal steps; call the value once for each finished step, with its name or ``""``."""
    with stage(description, total=total, weight=weight) as at:

        def advance(step: str) -> None:
            at.done += 1
            at.words = f"{at.done:.0f} of {total}" + (f": {step}" if step else "")
            _show(at_once=bool(step) or at.done == total)

        yield advance


@contextmanager
def meter(description: str) -> Iterator[Callable[[int, float, int], None]]:
    """A stage of an unknown number of notes; the value takes notes done now, share of the input, number in quarantine.

    The rate counts only the notes since this start.
    """
    with stage(description, total=1.0) as at:

        def show(notes: int, fraction: float, quarantined: int) -> None:
            if not at.words:
                at.first = fraction
            held_back = f", {quarantined:,} in quarantine" if quarantined else ""
            at.done = fraction
            at.words = f"{many(notes, 'note')}, {notes / (time.monotonic() - at.begin or 1.0):.1f} a second{held_back}"

        yield show
        at.finish()


def _show(*, at_once: bool) -> None:
    with _LOCK:
        for display in _DISPLAYS:
            display(at_once)


def _line() -> tuple[str, float]:
    """The line to show, and the share of the outermost stage."""
    stages = tuple(_STAGES)
    if not stages:
        return "", 0.0
    inner, words, blind = 0.0, "", False
    for at in reversed(stages):
        if at.look is not None:
            at.done, at.words = at.look()
            blind = not at.done
        words = words or at.words
        share = at.share(inner)
        inner = at.weight * share
    name = ": ".join(at.name for at in stages if at.name)
    left, since = _clock(stages[0], share, blind=blind and share < _LEAST_SHARE)
    parts = [f"{share:.0%}" if stages[0].total else "", left, words, since]
    details = ", ".join(part for part in parts if part)
    return (f"{name}: {details}" if details else name), share


def _clock(outermost: Stage, share: float, *, blind: bool) -> tuple[str, str]:
    """The time left if it can be estimated, otherwise the time since the beginning."""
    seconds = time.monotonic() - outermost.begin
    first = outermost.first / outermost.total if outermost.total else 0.0
    if seconds < _LEAST_SECONDS:
        return "", ""
    if first < share < 1 and not blind:
        return f"about {duration(seconds * (1 - share) / (share - first))} left", ""
    return "", f"after {duration(seconds)}"


@contextmanager
def _displayed() -> Iterator[None]:
    """A display while there are stages, and the thread that refreshes it."""
    finished = threading.Event()

    def keep_fresh() -> None:
        while not finished.wait(_SECONDS_BETWEEN_LOOKS):
            _show(at_once=False)

    with _bar() if sys.stderr.isatty() else _lines() as display:
        _DISPLAYS.append(display)
        thread = threading.Thread(target=keep_fresh, daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()
            _DISPLAYS.remove(display)


@contextmanager
def _bar() -> Iterator[Callable[[bool], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    whole_line = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (BarColumn(20), TextColumn("{task.description}", markup=False, table_column=whole_line))
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        task = bar.add_task("", total=None)

        def show(at_once: bool) -> None:
            line, share = _line()
            bar.update(task, description=line, completed=share, total=1.0 if share else None, refresh=at_once)

        yield show


@contextmanager
def _lines() -> Iterator[Callable[[bool], None]]:
    last = time.monotonic()

    def show(at_once: bool) -> None:
        nonlocal last
        now = time.monotonic()
        if at_once or now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            print(_line()[0], file=sys.stderr, flush=True)

    yield show


def many(count: int, what: str) -> str:
    """A number of things for people: `1 note`, `1,204 notes`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """A duration for people: `45 s`, `12 min`, `3 h 20 min`, `5 days 4 h`."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} days {hours % 24} h"
