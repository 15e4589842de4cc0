"""The words of a text and their pieces, and known strings looked up in them.

    words_of("An-na O'Brien")                [(0, 2), (3, 5), (6, 7), (8, 13)]
    Words("An-na O'Brien").folded            ["an", "na", "o", "brien"]
    read = Reading("#AnselmBirchwood7")
    read.folded                              ["anselm", "birchwood", "7"]
    read.gap(1), read.is_start(1)            "", False: the gap before a piece, and whether a word begins there
    index = Index([("annlee", "PATIENT"), ("lee", "DOCTOR")])
    list(index.find(["ann", "lee", "lee"]))  [(0, 2, "PATIENT"), (1, 2, "DOCTOR"), (2, 3, "DOCTOR")]
    known = Phrases({"Ann Lee": "PATIENT", "Lee": "DOCTOR"})
    list(known.find("Ann Lee, Lee"))         [(0, 7, "PATIENT"), (9, 12, "DOCTOR")]

A word is a run of letters and digits, each with its combining accents. A piece begins where a capital follows a small
letter and where letters and digits meet; in scripts without blanks between words each character is a piece.

A known string is found from the start of a piece to the end of one. The index contains all prefixes, so a piece that
begins no string costs one look-up. pyahocorasick and ahocorasick-rs take nearly twice as long, as their hits within
words must be discarded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Generic, TypeVar

from phistack.features.letters import fold
from phistack.features.tokens import Tokeniser, camel_case_pieces, offsets_of

_T = TypeVar("_T")
Others = Mapping[int, Sequence[tuple[int, str]]]
"""Piece -> pairs of a later piece and an alternative reading of the pieces before it."""

_END = "\0"
"""Appended to each token of a phrase, so only whole tokens match."""

_WORD = re.compile("[^\\W_]+(?:[\u0300-\u036f]+[^\\W_]*)*")
_RUN = re.compile("[^\\W\\d_]+(?:[\u0300-\u036f]+[^\\W\\d_]*)*|\\d+")
# Thai, Lao, Burmese, Khmer, Japanese, Chinese, and Korean, which adds particles to names.
_WITHOUT_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CORE = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_CHARACTER = re.compile(f"[{_WITHOUT_BLANKS}]")
_PIECES = re.compile(f"[{_WITHOUT_BLANKS}][\u0300-\u036f\u3099\u309a]*|[^{_WITHOUT_BLANKS}]+")


def words_of(text: str) -> list[tuple[int, int]]:
    """Start and end of each word."""
    return [match.span() for match in _WORD.finditer(text)]


def written_words(text: str) -> list[str]:
    """The words as they are written."""
    return _WORD.findall(text)


def folded_words(text: str) -> list[str]:
    """The words, folded."""
    return list(map(fold, _WORD.findall(text)))


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without signs and blanks at its ends; unchanged if it has neither letters nor digits."""
    core = _CORE.search(text, start, end)
    return core.span() if core else (start, end)


def is_without_blanks(word: str) -> bool:
    """Whether a word is in a script without blanks between words."""
    return _CHARACTER.match(word) is not None


class Words:
    """The words of a text in its plain view: the start and end of each, and each folded."""

    def __init__(self, text: str, places: Iterable[tuple[int, int]] | None = None) -> None:
        self.text = text
        self.places = words_of(text) if places is None else list(places)
        self.folded = [fold(text[start:end]) for start, end in self.places]

    def __len__(self) -> int:
        return len(self.folded)

    def gap(self, word: int) -> str:
        """The text between a word and the one before."""
        return self.text[self.places[word - 1][1] : self.places[word][0]]

    def place(self, first: int, after: int) -> tuple[int, int]:
        """Start and end of some words."""
        return self.places[first][0], self.places[after - 1][1]


class Reading(Words):
    """The pieces of a text, instead of its words."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _piece_places(text))

    def is_start(self, piece: int) -> bool:
        """Whether a word begins with a piece; true after the last piece."""
        return piece in (0, len(self)) or self.places[piece - 1][1] < self.places[piece][0]

    def words(self, first: int = 0, after: int | None = None) -> list[tuple[int, int]]:
        """First piece of each word among some pieces, and the piece after its last one."""
        after = len(self) if after is None else after
        starts = [piece for piece in range(first, after) if piece == first or self.is_start(piece)]
        return list(pairwise([*starts, after]))


def _piece_places(text: str) -> Iterator[tuple[int, int]]:
    for match in _RUN.finditer(text):
        run, start = match[0], match.start()
        is_one = run.islower() or run.istitle() or run.isupper() or run.isdecimal()
        for piece in (run,) if is_one else _pieces(run):
            yield start, start + len(piece)
            start += len(piece)


@lru_cache(maxsize=65536)
def _pieces(run: str) -> tuple[str, ...]:
    return tuple(piece for part in _PIECES.findall(run) for piece in camel_case_pieces(part))


class Index(Generic[_T]):
    """Strings and their meanings.

    :param meanings: pairs of a non-empty string and a meaning; a string may have several.
    """

    def __init__(self, meanings: Iterable[tuple[str, _T]]) -> None:
        self._meanings: dict[str, list[_T]] = {}
        for string, meaning in meanings:
            self._meanings.setdefault(string, []).append(meaning)
        self._beginnings = {string[:n] for string in self._meanings for n in range(1, len(string) + 1)}

    def find(self, pieces: Sequence[str], others: Others | None = None) -> Iterator[tuple[int, int, _T]]:
        """First piece, piece after the last, and meaning of each string; they may overlap."""
        others = others or {}
        for first, piece in enumerate(pieces):
            waiting = [(first, "")] if piece in self._beginnings or first in others else []
            while waiting:
                at, read = waiting.pop()
                for after, further in ((at + 1, pieces[at]), *others.get(at, ())):
                    string = read + further
                    if string in self._beginnings:
                        yield from ((first, after, meaning) for meaning in self._meanings.get(string, ()))
                        waiting += [(after, string)] if after < len(pieces) else []


class Phrases(Generic[_T]):
    """Phrases found as written, with any blanks between their tokens: `Ann` is not in `Annette`.

    :param meanings: phrase -> what it means; a phrase without tokens is never found.
    """

    def __init__(self, meanings: Mapping[str, _T]) -> None:
        self._tokenise = Tokeniser("liu")
        pairs = ((self._pieces(phrase), meaning) for phrase, meaning in meanings.items())
        self._index = Index(("".join(pieces), meaning) for pieces, meaning in pairs if pieces)

    def _pieces(self, text: str) -> list[str]:
        return [word + _END for word in self._tokenise.cut(text)[0]]

    def find(self, text: str, taken: bytearray | None = None) -> Iterator[tuple[int, int, _T]]:
        """Start, end and meaning of each phrase in a text, from the left and the longest first, without overlap.

        :param taken: for each character whether it is excluded, `(n_characters,)`.
        """
        taken = bytearray(len(text)) if taken is None else bytearray(taken)
        starts, ends = (offsets.tolist() for offsets in offsets_of(*self._tokenise.cut(text)))
        for first, after, meaning in sorted(self._index.find(self._pieces(text)), key=lambda hit: (hit[0], -hit[1])):
            start, end = starts[first], ends[after - 1]
            if not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                yield start, end, meaning
