"""Pages with one part that a command writes.

replaced(page, BEGIN, END, table, where=...)  the page with another table between its markers
"""

from __future__ import annotations

import sys


def replaced(page: str, begin: str, end: str, part: str, *, where: str) -> str:
    """The page with a new part between its markers; ends the program if it lacks them.

    :param where: the command and the page, for the message.
    """
    before, opening, rest = page.partition(begin)
    _, closing, after = rest.partition(end)
    if not (opening and closing):
        sys.exit(f"{where} lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{part}{end}{after}"
