"""The words of a text, and the pieces that its words are made of.

    words_of("An-na O'Brien")                [(0, 2), (3, 5), (6, 7), (8, 13)]
    read = Reading("#AnselmBirchwood7")
    read.folded                              ["anselm", "birchwood", "7"]
    read.gap(1), read.is_start(1)            "", False: what is before a piece, and whether a word begins there

A word is a run of letters and digits, each with its combining accents. A piece begins where a capital follows a small
letter and where letters and digits meet; in scripts without blanks between words each character is a piece.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import pairwise

from phistack.features.letters import fold
from phistack.features.tokens import camel_case_pieces

_WORD = re.compile("[^\\W_]+(?:[\u0300-\u036f]+[^\\W_]*)*")
_RUN = re.compile("[^\\W\\d_]+(?:[\u0300-\u036f]+[^\\W\\d_]*)*|\\d+")
_WITHOUT_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean, which puts particles behind names."""

_PIECES = re.compile(f"[{_WITHOUT_BLANKS}][\u0300-\u036f\u3099\u309a]*|[^{_WITHOUT_BLANKS}]+")
_CHARACTER = re.compile(f"[{_WITHOUT_BLANKS}]")


def words_of(text: str) -> list[tuple[int, int]]:
    """Start and end of each word."""
    return [match.span() for match in _WORD.finditer(text)]


def folded_words(text: str) -> list[str]:
    """The words, folded."""
    return [fold(word) for word in _WORD.findall(text)]


def is_without_blanks(word: str) -> bool:
    """Whether a word is of a script that puts no blanks between words."""
    return _CHARACTER.match(word) is not None


class Reading:
    """The pieces of a text.

    :param text: in its plain view.
    :ivar places: start and end of each piece.
    :ivar folded: the pieces, folded.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: list[tuple[int, int]] = []
        self.folded: list[str] = []
        for match in _RUN.finditer(text):
            run, start = match[0], match.start()
            if run.islower() or run.istitle() or run.isupper() or run.isdecimal():
                self.places.append(match.span())
                self.folded.append(fold(run))
                continue
            for piece in _pieces(run):
                self.places.append((start, start + len(piece)))
                self.folded.append(fold(piece))
                start += len(piece)

    def __len__(self) -> int:
        return len(self.folded)

    def gap(self, piece: int) -> str:
        """What is between a piece and the one before."""
        return self.text[self.places[piece - 1][1] : self.places[piece][0]]

    def place(self, first: int, after: int) -> tuple[int, int]:
        """Start and end of some pieces."""
        return self.places[first][0], self.places[after - 1][1]

    def written(self, first: int, after: int) -> str:
        """The text of some pieces."""
        return self.text[self.places[first][0] : self.places[after - 1][1]]

    def folded_words(self, first: int, after: int) -> tuple[str, ...]:
        """The words that some pieces are, folded."""
        words: list[str] = []
        for at in range(first, after):
            if at > first and not self.gap(at):
                words[-1] += self.folded[at]
            else:
                words.append(self.folded[at])
        return tuple(words)

    def is_start(self, piece: int) -> bool:
        """Whether a word begins with a piece, or would behind the last one."""
        return piece in (0, len(self)) or self.places[piece - 1][1] < self.places[piece][0]

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        """The first piece of each word, and the piece after its last one."""
        starts = [piece for piece in range(len(self)) if self.is_start(piece)]
        return list(pairwise([*starts, len(self)]))


@lru_cache(maxsize=65536)
def _pieces(run: str) -> tuple[str, ...]:
    return tuple(piece for part in _PIECES.findall(run) for piece in camel_case_pieces(part))
