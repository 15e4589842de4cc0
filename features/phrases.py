"""Known phrases looked up in a text, token by token and the longest first.

    known = Phrases({"Ann Lee": "PATIENT", "Lee": "DOCTOR"})
    list(known.find("Ann Lee, Lee"))     [(0, 7, "PATIENT"), (9, 12, "DOCTOR")]

A phrase is found as it is written, whatever blanks stand between its tokens, and never within a token: `Ann` is not in
`Annette`. What is found does not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from phistack.features.tokens import Tokeniser, offsets_of

_T = TypeVar("_T")


class Phrases(Generic[_T]):
    """Phrases and what each of them means.

    :param meanings: phrase -> what it means; a phrase without tokens is never found.
    """

    def __init__(self, meanings: Mapping[str, _T]) -> None:
        self._tokenise = Tokeniser("liu")
        cut = ((tuple(self._tokenise.cut(phrase)[0]), meaning) for phrase, meaning in meanings.items())
        self._meanings = {words: meaning for words, meaning in cut if words}
        self._lengths = sorted(set(map(len, self._meanings)), reverse=True)

    def find(self, text: str, taken: bytearray | None = None) -> Iterator[tuple[int, int, _T]]:
        """Start, end and meaning of each phrase in a text, from the left and the longest first.

        :param taken: for each character whether it is not to be looked at, `(n_characters,)`.
        """
        taken = bytearray(len(text)) if taken is None else bytearray(taken)
        words, gaps = self._tokenise.cut(text)
        starts, ends = (offsets.tolist() for offsets in offsets_of(words, gaps))
        for i, start in enumerate(starts):
            for n in (n for n in self._lengths if i + n <= len(words) and tuple(words[i : i + n]) in self._meanings):
                end = ends[i + n - 1]
                if not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    yield start, end, self._meanings[tuple(words[i : i + n])]
