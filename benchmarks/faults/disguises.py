"""Identifiers with signs and markup between or inside their words, in notes that the shipped English engine reads.

    list(disguised(SIGNS))     for each kind of place: how many identifiers were tried, and which left a letter in clear

A sign is between the words of an identifier, in the place of what is there; inside, in the middle of each word; or
everywhere, between all letters of each word. What shows nothing, or a mark over a letter, is between words beside
what is there, as `03<b></b>12` shows 0312, which is no date. What separates words is not put inside of them, as
`Quack,enbush` is two words for any reader. Nothing takes the place of the @ of an e-mail address, and what is read as
nothing or as a line end not of its full stops either, as it is no address without them. The identifiers are some that
the engine finds in the note as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from phistack import Document, load_bundle, shipped_engine

NOTE = """Patient: {name}
MRN: {record_number}
Date of visit: {date}

{name} is a 54 year old man who was seen by Dr. {doctor} for chest pain.
Please call {telephone} or write to {email}.
"""
IDENTIFIERS = {
    "name": "Anselm Birchwood", "record_number": "7284519", "date": "03/12/2019", "doctor": "Hilda Quackenbush",
    "telephone": "617-555-0123", "email": "hilda.quackenbush@example.org",
}  # fmt: skip
UNSEEN = ("\u00ad", "\u200b", "\u2060", "\u20dd", "\u0336", "\u0007", "<b></b>", '<span class="x"></span>', "&shy;")
"""What shows nothing, or shows a letter with a mark."""

INSIDE = (*UNSEEN, "\v", "\u0085", "\u2800", "-\n")
"""What may be inside a word that is one for the reader."""

NOT_IN_ADDRESSES = ("\v", "\u0085", "\u2800", "-\n", "<br>")
"""What is read as nothing or as a line end between letters."""

KNOWN_TO_BE_LEFT = frozenset(("date with |", "doctor with .", "date with -\\n", "telephone with -\\n"))
"""What the English engine of 27 November 2026 covers in part only: those before it covered all."""

_WORD = re.compile(r"[^\W_]+")
_FIELD = re.compile(r"\{(\w+)\}")
_Parts = list[tuple[str, bool]]
"""Stretches of a text, and whether they are of the identifier."""


@dataclass(frozen=True, slots=True)
class Disguised:
    """What became of identifiers.

    :param place: of the signs: between words, inside or everywhere.
    :param n: how many identifiers were tried.
    :param in_clear: role and sign of those of which a letter or digit is in no span.
    """

    place: str
    n: int
    in_clear: list[str]


def disguised(signs: Iterable[str]) -> Iterator[Disguised]:
    """Put each identifier with each sign into a note, and read that."""
    engine = load_bundle(shipped_engine("english"))
    signs = tuple(signs)
    for place, change in (("between words", _between), ("inside words", _inside), ("between letters", _everywhere)):
        fitting = signs if place == "between words" else [sign for sign in signs if sign in INSIDE]
        tried = ((role, sign) for role in IDENTIFIERS for sign in fitting)
        kept = (
            case for case in tried if change is not _between or case[0] != "email" or case[1] not in NOT_IN_ADDRESSES
        )
        cases = [(role, sign, _note(role, change(role, sign))) for role, sign in kept]
        found = engine.annotate([Document(str(i), text) for i, (_, _, (text, _)) in enumerate(cases)])
        left = []
        for (role, sign, (_, letters)), note in zip(cases, found, strict=True):
            covered = {at for span in note.spans for at in range(span.start, span.end)}
            left += [] if letters <= covered else [f"{role} with {sign.encode('unicode_escape').decode()}"]
        yield Disguised(place, len(cases), left)


def _note(role: str, parts: _Parts) -> tuple[str, set[int]]:
    """The note with one identifier disguised, and where the letters and digits of that are."""
    text, letters = "", set[int]()
    for number, piece in enumerate(_FIELD.split(NOTE)):
        if number % 2 == 0 or piece != role:
            text += piece if number % 2 == 0 else IDENTIFIERS[piece]
            continue
        for part, is_own in parts:
            letters |= {at for at, c in enumerate(part, len(text)) if is_own and c.isalnum()}
            text += part
    return text, letters


def _between(role: str, sign: str) -> _Parts:
    gaps = [(_gap(role, gap, sign), False) for gap in _WORD.split(IDENTIFIERS[role])]
    words = [(word, True) for word in _WORD.findall(IDENTIFIERS[role])]
    return [part for pair in zip(words, gaps[1:], strict=True) for part in pair][:-1]


def _gap(role: str, gap: str, sign: str) -> str:
    """What is between two words; the @ stays, as an address is none without it."""
    if sign in UNSEEN:
        return gap + sign
    return gap if role == "email" and gap == "@" else sign


def _inside(role: str, sign: str) -> _Parts:
    return _cut(role, sign, lambda word: [word[: len(word) // 2], word[len(word) // 2 :]])


def _everywhere(role: str, sign: str) -> _Parts:
    return _cut(role, sign, list)


def _cut(role: str, sign: str, pieces: Callable[[str], list[str]]) -> _Parts:
    """The identifier with a sign between the pieces of each word."""
    parts, value, position = _Parts(), IDENTIFIERS[role], 0
    for word in _WORD.finditer(value):
        parts.append((value[position : word.start()], False))
        for number, piece in enumerate(pieces(word[0])):
            parts += [(sign, False)] if number else []
            parts.append((piece, True))
        position = word.end()
    return [*parts, (value[position:], False)]
