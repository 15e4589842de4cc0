"""A text after edits, the place of each character in the original, and edits that mend broken words.

    read = rewrite("An<b>selm</b>", [Edit(2, 5, ""), Edit(9, 13, "")])
    read.text                "Anselm"
    read.place(0, 6)         (0, 9): a tag inside is part of the stretch, one at its end is not
    read.then(other)         the places of a second rewriting, of `read.text`, in the original text

    list(broken_words("Birch-\\nwood"))       Edit(5, 7, "")

    Birch-\\nwood            Birchwood
    Smith-\\nJones           Smith-Jones         before a capital the hyphen is part of the name
    HIV-\\nnegative          HIV-negative        as it is after an abbreviation
    617-555-\\n0123          617-555-0123        and beside a digit
    follow-\\nup             follow-up           where the note has `follow-up` elsewhere, otherwise followup
    Ein- und Ausgang, Ein-\\nund Ausgang, Plan-\\nContinue, Plan-\\n1. rest       unchanged

    list(odd_blanks("Birch\\vwood"))          Edit(5, 6, "")
    list(odd_blanks("A\\vn\\vn Lee\\v4"))       Edit(1, 2, ""), Edit(3, 4, "")
    list(odd_blanks("617\\v555"))            Edit(3, 4, " ")
    list(odd_blanks("Pain.\\vRest\\vice"))     nothing: here it ends lines

Odd blanks are vertical tabs, C1 controls, field separators and braille blanks. If one of them is beside anything but
letters and digits, the text uses them as line ends or blanks: there, a C1 control is read as a line end and a braille
blank as a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phistack.features.documents import Span

ACCENTS = "\u0300-\u036f"
"""Combining accents, as the inside of a character class of a regular expression."""

_Offsets = NDArray[np.int64]


class Edit(NamedTuple):
    """A non-empty part of a text, and the character that replaces it, or none."""

    start: int
    end: int
    read: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after edits. All arrays have the shape `(n_characters,)`.

    :param places: where the character is in the original.
    :param starts: where its share of the original begins; shares are never empty, and do not overlap.
    :param ends: where its share ends.
    """

    text: str = field(repr=False)
    places: _Offsets = field(repr=False)
    starts: _Offsets = field(repr=False)
    ends: _Offsets = field(repr=False)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the original of a non-empty stretch."""
        return int(self.starts[start]), int(self.ends[end - 1])

    def span(self, span: Span) -> Span | None:
        """A span of the original as a span of `text`; `None` if none of its characters is left."""
        start, end = (int(place) for place in np.searchsorted(self.places, (span.start, span.end)))
        return Span(start, end, span.label) if start < end else None

    def then(self, other: Rewritten) -> Rewritten:
        """A rewriting of `text` as a rewriting of the original."""
        return Rewritten(other.text, self.places[other.places], self.starts[other.starts], self.ends[other.ends - 1])


def rewrite(text: str, edits: Iterable[Edit], *, shared: bool = False) -> Rewritten | None:
    """Apply edits, which are in order and do not overlap; `None` without edits.

    :param shared: whether left-out text belongs to the letter or digit before it, or else after it; otherwise it
        belongs to a stretch only if it is inside.
    """
    found = list(edits)
    if not found:
        return None
    # (n_edits,): begin, end, and how many characters are read.
    begins = np.array([edit.start for edit in found], dtype=np.int64)
    ends = np.array([edit.end for edit in found], dtype=np.int64)
    n_read = np.array([len(edit.read) for edit in found], dtype=np.int64)
    # (length + 1,): how many edits cover a character: 0 or 1.
    covered = np.zeros(len(text) + 1, dtype=np.int64)
    np.add.at(covered, begins, 1)
    np.add.at(covered, ends, -1)
    kept = np.flatnonzero(np.cumsum(covered[:-1]) == 0)
    places = np.concatenate([kept, np.repeat(begins, n_read)])
    order = np.argsort(places)
    places, after = places[order], np.concatenate([kept + 1, np.repeat(ends, n_read)])[order]
    pieces: list[str] = []
    position = 0
    for edit in found:
        pieces += (text[position : edit.start], edit.read)
        position = edit.end
    read = Rewritten("".join([*pieces, text[position:]]), places, places, after)
    return _shared(read, len(text)) if shared and read.text else read


def _shared(read: Rewritten, length: int) -> Rewritten:
    """Divide the whole original among the characters that are left."""
    starts, ends = read.starts.copy(), read.ends.copy()
    starts[0], ends[-1] = 0, length
    for i in (np.flatnonzero(ends[:-1] < starts[1:]) + 1).tolist():
        before, after = read.text[i - 1], read.text[i]
        if not before.isalnum() and (after.isalnum() or before.isspace()):
            starts[i] = ends[i - 1]
        else:
            ends[i - 1] = starts[i]
    return Rewritten(read.text, read.places, starts, ends)


_BREAK = re.compile(r"(?<=[^\W_])[-¬][ \t]{0,40}(?:\r\n?|\n)[ \t]{0,40}(?=[^\W_])")
_WORD = re.compile(r"[^\W_]+")
_WORD_AT_END = re.compile(r"[^\W_]+\Z")
_LONGEST_WORD = 60
_LONGEST_HEADING = 200
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]+-[^\W_]+")
_LIST_ITEM = re.compile(r"\d{1,2}[.)]\s")
_CONJUNCTIONS = frozenset("and or to und oder bzw bis sowie en of och eller samt og".split())
"""What follows a suspended hyphen, in English, German, Dutch, Swedish and Norwegian."""


def broken_words(text: str) -> Iterator[Edit]:
    """Join words and numbers that are broken over a line end: leave out the line end, with or without its hyphen."""
    compounds: frozenset[str] | None = None
    position = -1
    for match in _BREAK.finditer(text):
        start, end = match.span()
        before = _WORD_AT_END.search(text, max(0, start - _LONGEST_WORD), start)
        after = _WORD.match(text, end)
        if before is None or after is None or _is_kept(text, before, after, position):
            continue
        if compounds is None:
            compounds = frozenset(word.lower() for word in _COMPOUND.findall(text))
        keeps_hyphen = match[0][0] == "-" and (
            _is_real(before[0], after[0]) or f"{before[0]}-{after[0]}".lower() in compounds
        )
        yield Edit(start + keeps_hyphen, end, "")
        position = end


def _is_kept(text: str, before: re.Match[str], after: re.Match[str], position: int) -> bool:
    """Whether the line ends there.

    :param position: where the last joined word continues, or -1.
    """
    first = after[0][0]
    if first.isdecimal():
        return not before[0][-1].isdecimal() and _LIST_ITEM.match(text, after.start()) is not None
    if after[0].lower() in _CONJUNCTIONS or not (first.isupper() or first.islower()):
        return True
    if not before[0][-1].isalpha():
        return False
    window = max(0, before.start() - _LONGEST_HEADING)
    line = max(text.rfind("\n", window, before.start()) + 1, text.rfind("\r", window, before.start()) + 1, window)
    is_one_word = line > position and _WORD.search(text, line, before.start()) is None
    return (first.isupper() and (is_one_word or not before[0][0].isupper())) or (is_one_word and before[0].islower())


def _is_real(before: str, after: str) -> bool:
    """Whether the hyphen belongs to the word or number."""
    if not (before[-1].isalpha() and after[0].isalpha()):
        return True
    return after[0].isupper() or (len(before) > 1 and before.isupper())


ODD_BLANKS = "\v\x1c-\x1f\x85\u2800"
"""White space that is not typed, as the inside of a character class of a regular expression."""

_ELSEWHERE = {"\x85": "\n", "\u2800": " "}

_ODD = re.compile(f"[{ODD_BLANKS}]")
_INSIDE = re.compile(f"(?<=[^\\W_])[{ODD_BLANKS}](?=[^\\W_])")
_STRETCH = re.compile(f"(?<![^\\s\u2800])[^\\s\u2800]+(?:[{ODD_BLANKS}][^\\s\u2800]+)+")
_SPACED_OUT = re.compile(f"(?<![^\\W_])[^\\W_]([{ODD_BLANKS}])[^\\W_](?:\\1[^\\W_]){{2,}}(?![^\\W_])")
_DIGIT_SIGN = re.compile(r"(?<=\w)[-/.](?=\w)")


def odd_blanks(text: str) -> Iterator[Edit]:
    """Leave out odd blanks inside words; read others as blanks or line ends."""
    inside = _inside_words(text) if len(_INSIDE.findall(text)) == len(_ODD.findall(text)) else {}
    for match in _ODD.finditer(text):
        read = inside.get(match.start(), _ELSEWHERE.get(match[0], match[0]))
        if read != match[0]:
            yield Edit(*match.span(), read)


def _inside_words(text: str) -> dict[int, str]:
    """Place of an odd blank between letters or digits -> what it is read as."""
    read: dict[int, str] = {}
    for stretch in _STRETCH.finditer(text):
        written = stretch[0]
        spaced_out = {i for match in _SPACED_OUT.finditer(written) for i in range(*match.span())}
        is_joined = _DIGIT_SIGN.search(written) is not None
        for match in _INSIDE.finditer(written):
            at = match.start()
            before, after = written[at - 1], written[at + 1]
            if before.islower() and after.isupper():
                continue
            if at in spaced_out or (before.isalpha() and after.islower()):
                read[stretch.start() + at] = ""
            elif before.isdecimal() and after.isdecimal():
                read[stretch.start() + at] = "" if is_joined else " "
    return read
