"""PHI as sets of comparable items: what one PHI turns into under each unit of comparison.

    spans            the PHI itself:             (12, 24)
    tokens           its ASCII words:            (12, 16), (17, 24)
    token_grid       the tokens it touches:      tokens 3 to 4
    merged           neighbours joined:          (12, 30)

Items are tuples that start with two offsets. Equal items of a document count once.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial

from phistack.ensemble.evaluation.pairing import Phi
from phistack.features.tokens import Tokeniser

Item = tuple[int, int, str, str]

_ASCII_WORD = re.compile("[a-zA-Z0-9]+")


def spans(text: str, phi: Iterable[Phi]) -> Iterator[Item]:
    """Each PHI whole."""
    return ((p.start, p.end, p.category, p.label) for p in phi)


def tokens(text: str, phi: Iterable[Phi]) -> Iterator[Item]:
    """Each run of ASCII letters and digits of each PHI, as the i2b2 script cuts them.

    A PHI without any gives one empty token at its end, as there, and so still counts.
    """
    for p in phi:
        words = [match.span() for match in _ASCII_WORD.finditer(text, p.start, p.end)] or [(p.end, p.end)]
        for start, end in words:
            yield start, end, p.category, p.label


def token_grid(text: str, phi: Iterable[Phi]) -> Iterator[Item]:
    """Each PHI as the range of tokens that it touches: first token, and the one after the last.

    The tokens are Liu's: runs of letters, runs of digits, single other characters.
    """
    starts, ends = _grid(text)
    return ((bisect_right(ends, p.start), bisect_left(starts, p.end), p.category, p.label) for p in phi)


def merged(text: str, phi: Iterable[Phi], *, hull: bool) -> Iterator[Item]:
    """Neighbouring PHI joined where no letter or digit of any script is between them.

    :param hull: whether a joined span ends with the PHI that ends last, rather than with the last PHI, as the MEDDOCAN
        script has it; the two differ only where one PHI lies inside another.
    """
    joined: list[tuple[int, int]] = []
    for start, end in sorted({(p.start, p.end) for p in phi}):
        if joined and not any(map(str.isalnum, text[joined[-1][1] : start])):
            first, last = joined.pop()
            joined.append((first, max(last, end) if hull else end))
        else:
            joined.append((start, end))
    return ((start, end, "", "") for start, end in joined)


@lru_cache(maxsize=2)
def _grid(text: str) -> tuple[list[int], list[int]]:
    """Starts and ends of the tokens, kept as both sides of a document ask for the same text."""
    starts, ends = Tokeniser("liu")(text)
    return starts.tolist(), ends.tolist()


UNITS: Mapping[str, Callable[[str, Iterable[Phi]], Iterator[Item]]] = {
    "span": spans,
    "token": tokens,
    "token grid": token_grid,
    "merged": partial(merged, hull=True),
    "merged-script": partial(merged, hull=False),
}


class EndWithin:
    """An item that equals another if all but the ends agree and the ends differ by at most `tolerance`.

    This equality is not transitive, so what a set of these holds depends on the order in which it is built: by offset,
    for the same sums as in the i2b2 script, which builds Python sets of such tags too.
    """

    __slots__ = ("_item", "_tolerance")

    def __init__(self, item: Item, tolerance: int) -> None:
        self._item = item
        self._tolerance = tolerance

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EndWithin):
            return NotImplemented
        start, end, *rest = self._item
        other_start, other_end, *other_rest = other._item
        return start == other_start and abs(end - other_end) <= self._tolerance and rest == other_rest

    def __hash__(self) -> int:
        return hash(self._item[0])
