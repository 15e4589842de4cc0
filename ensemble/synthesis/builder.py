"""Text that grows together with its spans.

    builder = TextBuilder(Style(), rng)
    builder.literal("seen by Dr. ")
    builder.phi("Young", "DOCTOR")
    builder.build()    ("seen by Dr. Young", (Span(12, 17, "DOCTOR"),))

Typing errors are applied to each piece before it is added, so that offsets are right by construction. What scanners,
exports and line ends do to the whole text is in `noise`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from dataclasses import dataclass

from phistack.features.documents import Span

_LONG_WORD = re.compile(r"\b[a-z]{6,}\b")
_ARTICLE_AT_END = re.compile(r"\b[Aa] $")
_ARTICLE_BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[aei]|o(?!n[ce])|8|11\b|18\b)")
_SAID_WITH_VOWEL = re.compile(r"8|11\b|18\b|[AEIOUaeio]")


@dataclass(frozen=True, slots=True)
class Style:
    """How one note is typed.

    :param small_names: whether names are in small letters.
    :param word_errors: the share of long words with a typing error.
    :param name_errors: the share of names with a typing error.
    """

    small_names: bool = False
    word_errors: float = 0.0
    name_errors: float = 0.0


class TextBuilder:
    """Collects literal text and PHI.

    :param rng: decides which words have errors.
    :param names: the labels of names.
    :param mistyped: the labels of PHI that may have typing errors.
    :param english: whether `a` becomes `an` before a vowel.
    """

    def __init__(
        self,
        style: Style,
        rng: random.Random,
        names: Collection[str] = (),
        mistyped: Collection[str] = (),
        english: bool = True,
    ) -> None:
        self.style = style
        self.rng = rng
        self._names, self._mistyped, self._english = names, mistyped, english
        self._pieces: list[str] = []
        self._spans: list[Span] = []
        self._length = 0

    def literal(self, text: str) -> None:
        """Add text that is not PHI."""
        if self._english:
            text = _ARTICLE_BEFORE_VOWEL.sub(r"\1n ", text)
        self._add(_LONG_WORD.sub(self._maybe_mistyped, text))

    def phi(self, text: str, label: str) -> None:
        """Add PHI; an article before it becomes `an` where the PHI is said with a vowel (an 80-year-old)."""
        if self._english and self._pieces and _ARTICLE_AT_END.search(self._pieces[-1]) and _SAID_WITH_VOWEL.match(text):
            self._pieces[-1] = self._pieces[-1][:-1] + "n "
            self._length += 1
        if label in self._mistyped and self.rng.random() < self.style.name_errors:
            text = mistype(text, self.rng)
        if label in self._names and self.style.small_names:
            text = text.lower()
        self._spans.append(Span(self._length, self._length + len(text), label))
        self._add(text)

    def build(self) -> tuple[str, tuple[Span, ...]]:
        """The text and its spans."""
        return "".join(self._pieces), tuple(self._spans)

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _maybe_mistyped(self, word: re.Match[str]) -> str:
        return mistype(word[0], self.rng) if self.rng.random() < self.style.word_errors else word[0]


def mistype(word: str, rng: random.Random) -> str:
    """The word with two letters swapped, one left out or one doubled; words below four letters stay as they are."""
    if len(word) < 4:
        return word
    at = rng.randrange(1, len(word) - 2)
    if not word[at : at + 2].isalpha():
        return word
    return rng.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
        )
    )
