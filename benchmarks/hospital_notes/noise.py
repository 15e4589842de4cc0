"""What happens to a note between the keyboard and the archive, with exact spans.

    upper, lower     the whole note in one case
    wrap             lines broken at a width, names and numbers included
    typing           letters swapped, left out or doubled, in a few words, names included
    recognition      O and 0, l and 1, rn and m and the like confused
    copied           an earlier part of the note repeated

`NOISE` has each kind by its name; `none` leaves the note unchanged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.hospital_notes.templates import Mention
from phistack.ensemble.synthesis.marked_text import rewritten
from phistack.features.documents import Span

_LOOK_ALIKE = {
    **{"O": "0", "0": "O", "l": "1", "1": "l", "I": "l", "m": "rn", "5": "S", "S": "5", "8": "B", "B": "8"},
    **{"e": "c", "h": "li", "d": "cl", "g": "q", "é": "e", "ü": "u", "ö": "o", "ñ": "n", "ß": "B", "/": "l"},
}
_MISREAD, _MISTYPED = 0.025, 0.05
Pieces = list[str]


def noisy(text: str, mentions: Sequence[Mention], noise: str, rng: random.Random) -> tuple[str, list[Mention]]:
    """The note with noise of one kind, a key of `NOISE`."""
    if noise == "copied":
        return _copied(text, mentions, rng)
    spans = [mention.span for mention in mentions]
    text, spans_after = rewritten(text, spans, NOISE[noise](text, rng))
    return text, [replace(mention, span=span) for mention, span in zip(mentions, spans_after, strict=True)]


def _wrapped(text: str, rng: random.Random) -> Pieces:
    width, start, blank = rng.choice((38, 50, 66, 78)), 0, -1
    pieces = list(text)
    for at, character in enumerate(text):
        if character == "\n":
            start, blank = at + 1, -1
        elif character == " " and at > start:
            blank = at
        if at - start >= width and blank > start:
            pieces[blank], start, blank = "\n", blank + 1, -1
    return pieces


def _typed(text: str, rng: random.Random) -> Pieces:
    pieces = list(text)
    for word in re.finditer(r"[^\W\d_]{4,}", text):
        if rng.random() < _MISTYPED:
            at = rng.randrange(word.start() + 1, word.end() - 1)
            here, after = pieces[at : at + 2]
            pieces[at : at + 2] = rng.choice(([after, here], ["", after], [here * 2, after]))
    return pieces


def _recognised(text: str, rng: random.Random) -> Pieces:
    pieces = [
        _LOOK_ALIKE[character] if character in _LOOK_ALIKE and rng.random() < _MISREAD else character
        for character in text
    ]
    for both in re.finditer("rn", text):
        if rng.random() < 10 * _MISREAD:
            pieces[both.start() : both.end()] = ["m", ""]
    return pieces


def _copied(text: str, mentions: Sequence[Mention], rng: random.Random) -> tuple[str, list[Mention]]:
    """The note with some of its lines repeated at the end, below a line of dashes."""
    ends = [0, *(found.end() for found in re.finditer("\n|$", text) if found.end())]
    first = rng.randrange(max(1, len(ends) // 2))
    start, end = ends[first], ends[min(len(ends) - 1, first + max(2, len(ends) // 2))]
    head = f"{text}\n-----\n"
    again = [
        replace(mention, span=Span(mention.span.start + len(head) - start, mention.span.end + len(head) - start, label))
        for mention in mentions
        for label in [mention.span.label]
        if mention.span.start >= start and mention.span.end <= end
    ]
    return head + text[start:end], [*mentions, *again]


NOISE: Mapping[str, Callable[[str, random.Random], Pieces]] = {
    "none": lambda text, rng: list(text),
    "upper": lambda text, rng: [character.upper() for character in text],
    "lower": lambda text, rng: [character.lower() for character in text],
    "wrap": _wrapped,
    "typing": _typed,
    "recognition": _recognised,
    "copied": lambda text, rng: list(text),
}
"""Kind -> one piece of text for each code point; copied lines are added afterwards."""
