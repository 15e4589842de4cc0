"""Identifiers and passages that shipped engines must not leave readable, however they are disguised.

    list(disguised(SIGNS))     for each kind of place: how many identifiers were tried, and which left a letter readable
    list(mixtures(8))          8 notes of each engine x passages in other languages: how many left a word readable

Identifiers of a note for the English engine get signs and markup between or inside their words. A sign replaces what is
between the words of an identifier; or it is in the middle of each word; or between all letters of each word. Invisible
signs and marks over a letter do not replace what is between words but follow it: `03<b></b>12` shows 0312, which is no
date. Signs that separate words are not put inside them, as any reader takes `Quack,enbush` for two words. The @ of an
e-mail address is never replaced, nor are its full stops by what reads as nothing or as a line end, as it would be no
address without them. The identifiers are some that the engine finds in the plain note. The passages in other languages
are in `passages.toml`.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks.faults.spellings import Case
from phistack import Document, load_bundle, shipped_engine, synthesize
from phistack.features.letters import without_accents

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
"""Signs that show nothing, or a mark over a letter."""

INSIDE = (*UNSEEN, "\v", "\u0085", "\u2800", "-\n")
"""Signs inside a word that still reads as one."""

NOT_IN_ADDRESSES = ("\v", "\u0085", "\u2800", "-\n", "<br>")
"""Signs that read as nothing or as a line end between letters."""

KNOWN_TO_BE_LEFT = frozenset(("date with -\\n", "telephone with -\\n"))
"""Signs and identifiers that the English engine covers only in part."""

PASSAGES: dict[str, str] = tomllib.loads((Path(__file__).parent / "passages.toml").read_text(encoding="utf-8"))
ENGINES = {"en": "english", "es": "spanish", "de": "german", "nl": "dutch", "sv": "swedish"}
FORMS: dict[str, Callable[[str], str]] = {
    "as written": str, "in title case": str.title, "in capitals": str.upper, "without accents": without_accents,
}  # fmt: skip

_WORD = re.compile(r"[^\W_]+")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_FIELD = re.compile(r"\{(\w+)\}")
_Parts = list[tuple[str, bool]]
"""Stretches of a text, and whether they belong to the identifier."""


def disguised(signs: Iterable[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Put each identifier with each sign into a note, and read that.

    :returns: kinds of places, how many identifiers were tried, and role and sign of those left readable.
    """
    engine = load_bundle(shipped_engine("english"))
    signs = tuple(signs)
    for place, change in (("between words", _between), ("inside words", _inside), ("between letters", _everywhere)):
        cases = [
            _case(role, sign, change(role, sign))
            for role in IDENTIFIERS
            for sign in signs
            if (not (role == "email" and sign in NOT_IN_ADDRESSES) if change is _between else sign in INSIDE)
        ]
        found = engine.annotate([Document(str(i), case.text) for i, case in enumerate(cases)])
        yield place, len(cases), [c.what for c, note in zip(cases, found, strict=True) if not c.letters <= hidden(note)]


def hidden(note: Document) -> set[int]:
    """All offsets within spans."""
    return {at for span in note.spans for at in range(span.start, span.end)}


def _case(role: str, sign: str, parts: _Parts) -> Case:
    """The note with one identifier disguised, and the offsets of its letters and digits."""
    text, letters = "", set[int]()
    for number, piece in enumerate(_FIELD.split(NOTE)):
        if number % 2 == 0 or piece != role:
            text += piece if number % 2 == 0 else IDENTIFIERS[piece]
            continue
        for part, is_own in parts:
            letters |= {at for at, c in enumerate(part, len(text)) if is_own and c.isalnum()}
            text += part
    return Case(f"{role} with {sign.encode('unicode_escape').decode()}", text, frozenset(letters))


def _between(role: str, sign: str) -> _Parts:
    gaps = [(_gap(role, gap, sign), False) for gap in _WORD.split(IDENTIFIERS[role])]
    words = [(word, True) for word in _WORD.findall(IDENTIFIERS[role])]
    return [part for pair in zip(words, gaps[1:], strict=True) for part in pair][:-1]


def _gap(role: str, gap: str, sign: str) -> str:
    """The text between two words; the @ stays, as an address needs it."""
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


def mixtures(n_notes: int) -> Iterator[tuple[str, int, int]]:
    """For each engine, put each passage that it does not read into invented notes in its language, and redact these.

    :param n_notes: for each engine.
    :returns: how the passages were written, how many notes there were, and how many let a word through.
    """
    rng = random.Random(1)
    for form, change in FORMS.items():
        n = in_clear = 0
        for language, name in ENGINES.items():
            engine = load_bundle(shipped_engine(name))
            unread = (text for own, text in PASSAGES.items() if own not in engine.language_gate.languages)
            notes = synthesize(n_notes, seed=11, language=language).documents
            pairs = [(change(text), note.text) for text in unread for note in notes]
            mixed = [Document(f"n{i}", _with(note, passage, rng)) for i, (passage, note) in enumerate(pairs)]
            n += len(pairs)
            for (passage, _), found in zip(pairs, engine.annotate(mixed), strict=True):
                start, gone = found.text.index(passage), hidden(found)
                words = _LONG_WORD.finditer(passage)
                in_clear += any(gone.isdisjoint(range(start + m.start(), start + m.end())) for m in words)
        yield form, n, in_clear


def _with(note: str, passage: str, rng: random.Random) -> str:
    """The note with the passage as one of its lines."""
    lines = note.splitlines()
    lines.insert(rng.randrange(len(lines) + 1), passage)
    return "\n".join(lines)
