"""Markdown tables, and pages of which one part is written by a command.

head("tool", "notes/s")                       the first two lines of a table
row("stella", "586")                          | stella | 586 |
replaced(page, BEGIN, END, table, where=...)  the page with another table between its markers
"""

from __future__ import annotations

import sys


def row(*cells: str) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def head(first: str, *others: str, right: bool = False) -> list[str]:
    """The names of the columns and the line below them.

    :param right: whether all columns but the first are aligned to the right.
    """
    return [row(first, *others), "|---" + ("|---:" if right else "|---") * len(others) + "|"]


def replaced(page: str, begin: str, end: str, part: str, *, where: str) -> str:
    """The page with another part between its markers; ends the program where it lacks them.

    :param where: the command and the page, as the message names them.
    """
    before, opening, rest = page.partition(begin)
    _, closing, after = rest.partition(end)
    if not (opening and closing):
        sys.exit(f"{where} lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{part}{end}{after}"
