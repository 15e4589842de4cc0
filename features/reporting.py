"""Progress of long work, reported to a listener.

    with listening(lambda share, words: print(f"{share:.0%} {words}")):
        model.fit(tables)

    report(0.25, "epoch 3 of 12")          within `fit`; nearly free without a listener

The words are displayed and written to files, so they never contain text of a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float | None, str], None]
"""Takes the share that is done, in [0, 1] or `None` if unknown, and a description of the work."""

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(share: float | None, words: str) -> None:
    """Report the progress of the current work."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(share, words)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send all reports made within the block to a listener."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)
