"""What scanners, exports and hurried typists do to a note, in any language, with exact spans.

    noisy(text, spans, ("scan",), rng)                     "Seen by Dr. Young" -> "Seen by Dr. Y0ung"
    rewritten("ab c", spans, ["a", "b", "", "C"])          ("abC", the spans at their new places)

    upper, lower    the whole note in one case
    scan            letters read for others that look alike, blanks lost and added
    joined          line ends turned into blanks, or lost
    wrapped         lines broken at a width, wherever a blank is, names included
    hard wrap       the same, but never within PHI
    spaced          blanks doubled, empty lines added
    typing          letters swapped, left out or doubled in words that are no PHI
    accents lost    `é` becomes `e`, as in many systems

Every kind gives one piece of text for each code point; only `rewritten` computes offsets, and removes blanks at the
ends of spans. No kind empties a span.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
_SHARE_SCANNED, _SHARE_BLANKS = 0.02, 0.008
_LONG_WORD = re.compile(r"\b[^\W\d_]{6,}\b")
_WIDTHS = (40, 60, 72, 80, 100)


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
    return text.strip(), tuple(Span(span.start - start, span.end - start, span.label) for span in spans)


def _without_blanks(text: str, start: int, end: int, label: str) -> Span:
    written = text[start:end]
    if not written.strip():
        raise ValueError(f"nothing is left of a span with the label {label}")
    return Span(end - len(written.lstrip()), start + len(written.rstrip()), label)


def noisy(text: str, spans: Sequence[Span], kinds: Iterable[str], rng: random.Random) -> Marked:
    """Apply noise of some kinds to a note, one after the other.

    :param kinds: names in `NOISE`.
    :param rng: decides where.
    :returns: the new text and its spans, as many as there were and in the same order.
    """
    marked = text, tuple(spans)
    for kind in kinds:
        marked = rewritten(*marked, NOISE[kind](*marked, rng))
    return marked


def _upper(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    return [character.upper() for character in text]


def _lower(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    return [character.lower() for character in text]


def _without_accents(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    return [without_accents(character) or character for character in text]


def _scanned(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    return [_read(character, rng) for character in text]


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


def _wrapped(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    return _broken(text, frozenset(), rng.choice(_WIDTHS))


def _hard_wrapped(text: str, spans: Sequence[Span], rng: random.Random) -> list[str]:
    return _broken(text, {at for span in spans for at in range(span.start, span.end)}, rng.choice(_WIDTHS))


def _broken(text: str, kept: Iterable[int], width: int) -> list[str]:
    """Turn the last blank before each width into a line end, except the blanks that are kept."""
    pieces, kept, start, blank = list(text), frozenset(kept), 0, -1
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
    within = {at for span in spans for at in range(span.start, span.end)}
    for word in _LONG_WORD.finditer(text):
        if rng.random() < 0.04 and word.start() not in within:
            at = rng.randrange(word.start() + 1, word.end() - 1)
            here, after = pieces[at : at + 2]
            pieces[at : at + 2] = rng.choice(([after, here], ["", after], [here * 2, after]))
    return pieces


NOISE: Mapping[str, Rewriting] = {
    "upper": _upper,
    "lower": _lower,
    "scan": _scanned,
    "joined": _joined,
    "wrapped": _wrapped,
    "hard wrap": _hard_wrapped,
    "spaced": _spaced,
    "typing": _mistyped,
    "accents lost": _without_accents,
}
"""Kind -> how it rewrites."""
