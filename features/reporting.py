"""How far long work is, reported by the work to whoever listens.

    with listening(lambda share, words: print(f"{share:.0%} {words}")):
        model.fit(tables)

    report(0.25, "epoch 3 of 12")          within `fit`; costs next to nothing where nobody listens

The words are shown to people and written to files: they count, and never hold text of a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float | None, str], None]
"""Takes the share that is done, in [0, 1] or `None` where nobody knows, and what is being done."""

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(share: float | None, words: str) -> None:
    """Report how far the current work is."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(share, words)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear the reports of all that is done within."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)
