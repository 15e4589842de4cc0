"""Why a note is held back though nothing is wrong with its form: what another try may do better.

    took_longer(60.0)                              "it took longer than 60 seconds"
    may_pass("it took longer than 60 seconds")     True
    may_pass("not UTF-8 at byte 7")                False

A death, a time limit and a lack of memory tell of a moment and a machine as much as of the note. The same command tries
such notes again; all other reasons would come back.
"""

from __future__ import annotations

__all__ = ["DIED", "STUCK", "may_pass", "took_longer"]

DIED = "its process died each time it worked on this note alone"
STUCK = "its process did not answer"
_SLOW = "it took longer than "
_OF_THE_MOMENT = (DIED, STUCK, _SLOW, "MemoryError ", "its process died")


def took_longer(seconds: float) -> str:
    """The reason of a note that was not done within so many seconds."""
    return f"{_SLOW}{seconds:g} seconds"


def may_pass(reason: str) -> bool:
    """Whether a note that was held back for this reason may come out when it is tried again."""
    return reason.startswith(_OF_THE_MOMENT)
