"""Progress of a run over notes: notes, rate, share and time left, shown as by `ensemble.tools.progress`.

    with meter("de-identifying") as show:
        show(notes=6400, fraction=0.12, quarantined=1)

The fraction is of the input; the rate is of the notes of this start, so that a resumed run does not boast.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ensemble.tools.progress import stage

__all__ = ["meter"]

Show = Callable[[int, float, int], None]


@contextmanager
def meter(description: str) -> Iterator[Show]:
    """Show progress on standard error; the value is called with notes done now, fraction and number in quarantine."""
    with stage(description, total=1.0) as at:

        def show(notes: int, fraction: float, quarantined: int) -> None:
            if not at.words:
                at.first = fraction
            at.done = fraction
            at.words = _facts(notes, quarantined, time.monotonic() - at.begin)

        yield show
        at.finish()


def _facts(notes: int, quarantined: int, seconds: float) -> str:
    rate = notes / seconds if seconds else 0.0
    parts = [f"{notes:,} notes", f"{rate:.1f} a second", *([f"{quarantined:,} in quarantine"] if quarantined else [])]
    return ", ".join(parts)
