"""The review list of a run, `review.tsv`: words still in the output, those that most likely identify a person first.

    collect(rows, "note 7", [("Hilard", 0.9, 12, 18, "")])   the words of a note are added
    in_order(rows)                                           the list

Its first column is a list for `--strike`, which removes the words of the lines that are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_HEAD = """\
# Words still in the output, those that most likely identify a person first. Delete the lines of words that may stay,
# and run the command again with --strike THIS_FILE: it removes the other words everywhere. Words that the file of
# --never has are not listed again.
# word\tlikely\ttimes\tnotes\tfirst note\tplace in it\tline, if --review-lines was given
"""


class ReviewRow(NamedTuple):
    """A word of the review list.

    :ivar likely: how likely it identifies a person, at its likeliest place.
    :ivar times: how often it is still in the output; `notes`: in how many notes.
    :ivar note: the first of these notes, as reports show it; `start` and `end` are places in the note as written.
    :ivar line: the line of that place, without what was replaced; empty if it was not asked for.
    """

    word: str
    likely: float
    times: int
    notes: int
    note: str
    start: int
    end: int
    line: str = ""

    def __repr__(self) -> str:
        return f"ReviewRow({self.likely}, times={self.times}, notes={self.notes})"


def collect(rows: dict[str, ReviewRow], note: str, words: Iterable[tuple[str, float, int, int, str]]) -> None:
    """Add the words of a note.

    :param rows: word -> its row.
    :param words: each with how likely it identifies a person, its start, its end and its line.
    """
    seen = set()
    for word, likely, start, end, line in words:
        row = rows.get(word) or ReviewRow(word, 0.0, 0, 0, note, start, end, line)
        is_new = word not in seen
        rows[word] = row._replace(likely=max(row.likely, likely), times=row.times + 1, notes=row.notes + is_new)
        seen.add(word)


def in_order(rows: Mapping[str, ReviewRow]) -> list[ReviewRow]:
    """The list: a word in many notes is more likely a medical term than a name."""
    return sorted(rows.values(), key=lambda row: (-row.likely / math.sqrt(row.notes), row.word))


def write_review(path: Path, rows: Mapping[str, ReviewRow]) -> None:
    """Write the list."""
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEAD)
        for row in in_order(rows):
            cells = (row.word, f"{row.likely:.3f}", row.times, row.notes, row.note, f"{row.start}-{row.end}", row.line)
            file.write("\t".join(map(str, cells)).rstrip("\t") + "\n")
