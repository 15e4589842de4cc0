"""Text and its spans: as a note grows, and what scanners, exports and hurried typists do to it, in any language.

    builder = TextBuilder(Style(), rng)
    builder.literal("seen by Dr. ")
    builder.phi("Young", "DOCTOR")
    builder.build()                        ("seen by Dr. Young", (Span(12, 17, "DOCTOR"),))
    noisy(text, spans, ("scan",), rng)     "Seen by Dr. Young" -> "Seen by Dr. Y0ung"

    upper, lower    the whole note in one case
    scan            letters read for others that look alike, blanks lost and added
    joined          line ends turned into blanks, or lost
    wrapped         lines broken at a width, wherever a blank is, names included
    hard wrap       the same, but never within PHI
    spaced          blanks doubled, empty lines added
    typing          letters swapped, left out or doubled in words that are no PHI
    disguised       what is between the words of some PHI becomes a full stop, a comma, a blank or the like
    accents lost    `é` becomes `e`, as in many systems

A builder applies typing errors to each piece before it is added. Every kind of noise gives one piece of text for each
code point; only `rewritten` computes offsets, and removes blanks at the ends of spans. No kind empties a span.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from phistack.features.documents import Span
from phistack.features.letters import without_accents

Marked = tuple[str, tuple[Span, ...]]
"""A text and its spans."""
Rewriting = Callable[[str, Sequence[Span], random.Random], list[str]]
"""From a text and its spans to one piece for each code point."""

_LOOK_ALIKE: Mapping[str, tuple[str, ...]] = {
    **{"l": ("1", "I", "|"), "I": ("l", "1"), "1": ("l",), "O": ("0",), "0": ("O",), "o": ("0", "c")},
    **{"S": ("5",), "5": ("S",), "B": ("8",), "e": ("c",), "c": ("e",), "m": ("rn",), "h": ("b",), "u": ("ii",)},
    **{"g": ("q",), "i": ("l", "í"), "t": ("f",), ",": (".",), ".": (",",), "w": ("vv",), "Z": ("2",), "a": ("o",)},
}
_SHARE_SCANNED, _SHARE_BLANKS, _SHARE_DISGUISED = 0.02, 0.008, 0.5
_GAP, _DISGUISES = re.compile(r"(?<=\w)[\W_]+(?=\w)"), (*".,_-/|*;", " ", " ", "  ", "\n", " . ")
_LONG_WORD, _LONG_SMALL_WORD = re.compile(r"\b[^\W\d_]{6,}\b"), re.compile(r"\b[a-z]{6,}\b")
_WIDTHS = (40, 60, 72, 80, 100)
_ARTICLE_AT_END = re.compile(r"\b[Aa] $")
_ARTICLE_BEFORE_VOWEL = re.compile(r"(\ba|^A|(?<=[.!?:] )A) (?=[aei]|o(?!n[ce])|8|11\b|18\b)", re.M)
_SAID_WITH_VOWEL = re.compile(r"8|11\b|18\b|[AEIOUaeio]")


@dataclass(frozen=True, slots=True)
class Style:
    """How one note is typed: names in small letters or not, and the shares of long words and of names with an error."""

    small_names: bool = False
    word_errors: float = 0.0
    name_errors: float = 0.0


@dataclass(slots=True, repr=False, eq=False)
class TextBuilder:
    """Collects literal text and PHI.

    :param rng: decides which words have errors.
    :param names: the labels of names.
    :param mistyped: the labels of PHI that may have typing errors.
    :param english: whether `a` becomes `an` before a vowel.
    """

    style: Style
    rng: random.Random
    names: Collection[str] = ()
    mistyped: Collection[str] = ()
    english: bool = True
    _pieces: list[str] = field(default_factory=list, init=False)
    _spans: list[Span] = field(default_factory=list, init=False)
    _length: int = field(default=0, init=False)

    def literal(self, text: str) -> None:
        """Add text that is not PHI."""
        if self.english:
            text = _ARTICLE_BEFORE_VOWEL.sub(r"\1n ", text)
        self._add(_LONG_SMALL_WORD.sub(self._maybe_mistyped, text))

    def phi(self, text: str, label: str) -> None:
        """Add PHI; an article before it becomes `an` if the PHI is pronounced with a vowel (an 80-year-old)."""
        if self.english and self._pieces and _ARTICLE_AT_END.search(self._pieces[-1]) and _SAID_WITH_VOWEL.match(text):
            self._pieces[-1] = self._pieces[-1][:-1] + "n "
            self._length += 1
        if label in self.mistyped and self.rng.random() < self.style.name_errors:
            text = mistype(text, self.rng)
        if label in self.names and self.style.small_names:
            text = text.lower()
        self._spans.append(Span(self._length, self._length + len(text), label))
        self._add(text)

    @property
    def at_line_start(self) -> bool:
        """Whether what is added next begins a line."""
        return not self._pieces or self._pieces[-1].endswith("\n")

    def build(self) -> Marked:
        """The text and its spans."""
        return "".join(self._pieces), tuple(self._spans)

    def _add(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._length += len(text)

    def _maybe_mistyped(self, word: re.Match[str]) -> str:
        return mistype(word[0], self.rng) if self.rng.random() < self.style.word_errors else word[0]


def mistype(word: str, rng: random.Random) -> str:
    """The word with two letters swapped, one left out or one doubled; words under four letters stay unchanged."""
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


def rewritten(text: str, spans: Sequence[Span], pieces: Sequence[str]) -> Marked:
    """Replace each code point by a piece.

    :param pieces: as many as the text has code points; a piece may be empty or long.
    :returns: the new text and all spans, without blanks at their ends.
    :raises ValueError: if there are more or fewer pieces, or a span would have no text left.
    """
    if len(pieces) != len(text):
        raise ValueError(f"there are {len(pieces)} pieces for {len(text)} code points")
    at = list(accumulate(map(len, pieces), initial=0))
    new = "".join(pieces)
    return new, tuple(_without_blanks(new, at[span.start], at[span.end], span.label) for span in spans)


def trimmed(text: str, spans: Sequence[Span]) -> Marked:
    """The text without white space at its ends."""
    start = len(text) - len(text.lstrip())
    return text.strip(), tuple(span.moved(-start) for span in spans)


def _without_blanks(text: str, start: int, end: int, label: str) -> Span:
    written = text[start:end]
    if not written.strip():
        raise ValueError(f"nothing is left of a span with the label {label}")
    return Span(end - len(written.lstrip()), start + len(written.rstrip()), label)


def noisy(text: str, spans: Sequence[Span], kinds: Iterable[str], rng: random.Random) -> Marked:
    """The note after noise of some kinds of `NOISE`, one after the other; it has as many spans, in the same order."""
    marked = text, tuple(spans)
    for kind in kinds:
        marked = rewritten(*marked, NOISE[kind](*marked, rng))
    return marked


def _read(character: str, rng: random.Random) -> str:
    dice = rng.random()
    if character == " ":
        return "" if dice < _SHARE_BLANKS else "  " if dice < 2 * _SHARE_BLANKS else " "
    if dice < _SHARE_SCANNED and character in _LOOK_ALIKE:
        return rng.choice(_LOOK_ALIKE[character])
    return f"{character} " if dice > 1 - _SHARE_BLANKS / 2 and character.isalnum() else character


def _joined(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    lost = rng.choice((0.0, 0.1, 0.3))
    return [("" if rng.random() < lost else " ") if character == "\n" else character for character in text]


def _spaced(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    share = rng.choice((0.02, 0.1))
    return [character * (rng.randint(2, 3) if character in " \n" and rng.random() < share else 1) for character in text]


def _inside(spans: Sequence[Span]) -> set[int]:
    """The offsets within spans."""
    return {at for span in spans for at in range(span.start, span.end)}


def _broken(text: str, kept: Collection[int], rng: random.Random) -> list[str]:
    """Turn the last blank before each width into a line end, except the blanks that are kept."""
    pieces, width, start, blank = list(text), rng.choice(_WIDTHS), 0, -1
    for at, character in enumerate(text):
        if character == "\n":
            start = at + 1
        elif character == " " and at not in kept:
            blank = at
        if at - start >= width and blank > start:
            pieces[blank] = "\n"
            start = blank + 1
    return pieces


def _mistyped(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    pieces = list(text)
    within = _inside(spans)
    for word in _LONG_WORD.finditer(text):
        if rng.random() < 0.04 and word.start() not in within:
            at = rng.randrange(word.start() + 1, word.end() - 1)
            here, after = pieces[at : at + 2]
            pieces[at : at + 2] = rng.choice(([after, here], ["", after], [here * 2, after]))
    return pieces


def _disguised(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    pieces = list(text)
    for span in spans:
        if rng.random() < _SHARE_DISGUISED:
            sign = rng.choice(_DISGUISES)
            for gap in _GAP.finditer(text, span.start, span.end):
                written = rng.choice(("@", " @ ")) if gap[0] == "@" else sign
                pieces[gap.start() : gap.end()] = [written, *[""] * (len(gap[0]) - 1)]
    return pieces


NOISE: Mapping[str, Rewriting] = {
    "upper": lambda text, spans, rng: [character.upper() for character in text],
    "lower": lambda text, spans, rng: [character.lower() for character in text],
    "scan": lambda text, spans, rng: [_read(character, rng) for character in text],
    "joined": _joined,
    "wrapped": lambda text, spans, rng: _broken(text, (), rng),
    "hard wrap": lambda text, spans, rng: _broken(text, _inside(spans), rng),
    "spaced": _spaced,
    "typing": _mistyped,
    "disguised": _disguised,
    "accents lost": lambda text, spans, rng: [without_accents(character) or character for character in text],
}
"""Kind -> how it rewrites."""
