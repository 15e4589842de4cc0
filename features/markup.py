r"""Markup and escapes in a text: HTML, escapes of JSON, quoted-printable (RFC 2045), percent-encoding (RFC 3986).

    list(tags("<p>Dr. An<b>selm</b>"))              Edit(0, 3, "\n"), Edit(9, 12, ""), Edit(16, 20, "")
    list(references("617&ndash;555 &amp; co"))      Edit(3, 10, "–"), Edit(14, 19, "&")
    list(escapes(r"Jos\u00e9\nMRN 3\/4"))          Edit(3, 9, "é"), Edit(9, 11, "\n"), Edit(16, 18, "/")
    list(QUOTED_PRINTABLE.edits("Jos=C3=A9"))       Edit(3, 9, "é")
    list(QUOTED_PRINTABLE.edits("Birch=\nwood"))    Edit(5, 7, ""): the line goes on
    list(PERCENT.edits("Ann%20Lee"))                Edit(3, 6, " ")
    list(QUOTED_PRINTABLE.edits("x=20, GCS=15"))    nothing: these are numbers
    list(PERCENT.edits("50%20, Neut%40"))           nothing

A tag is left out; one that ends a line or a cell is read as a line end or a blank (between digits as a blank), and a
character reference as its character. Only what cannot hide PHI is left out: standard HTML tags without attributes, or
with layout attributes only. A link with an address, a comment, a script or a picture with a caption is read as text,
and `BP <90` or `<ann@example.org>` is not a tag. A tag that must be closed counts only in a text with its start tag and
its end tag.

An escape of a letter or a sign counts wherever it is; `\n`, `\r` and `\t` not before a small letter, as in `C:\notes`,
nor after a single letter.

Notes are full of `=` and `%` beside numbers, so each encoded byte needs evidence in the text:

- bytes that are characters beyond ASCII in UTF-8 (`=C3=A9`), or several bytes with a letter among their digits
  (`%41%6E`);
- a separator between letters (`Ann%20Lee`; after `=` only before a capital: `Ann=20Lee`, `dose=20mg`), after `%` also
  one between letters or digits that is written with a letter (`03%2F12`), or several in a stretch without blanks
  (`617%20555%200123`);
- `=` at the end of a line within a word or number;
- quoted-printable as a whole: each `=` begins a byte or ends a line, and one is of the first kind, or ends a long line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from phistack.features.rewriting import Edit

# Not after single letters, as in `A\n\n`.
_ESCAPE = re.compile(r'\\u(0[0-9A-Fa-f]{3}|20[0-9A-Fa-f]{2})|\\([/"])|(?<!\b[^\W\d_])(?:\\[nrt])+(?![a-z])')
_BLANKS = {"n": "\n", "r": "\r", "t": "\t"}
_LINES = (
    "address article aside blockquote body br caption center dd div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 head header hr html legend li main nav ol p pre section table tbody tfoot thead title tr ul"
)
_CELLS = "td th option"
_INLINE = (
    "a abbr b bdi bdo big cite code colgroup col data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
_NEED_NO_END = frozenset("br col dd dt hr li option p td th tr wbr".split())
_LAYOUT = (
    "align bgcolor border cellpadding cellspacing class clear color colspan dir face height lang noshade nowrap "
    "rowspan size style valign width"
)
_READ_AS: dict[str | None, str] = {
    **dict.fromkeys(_LINES.split(), "\n"),
    **dict.fromkeys(_CELLS.split(), " "),
    **dict.fromkeys(_INLINE.split(), ""),
    None: "",
}
_VALUE = r"""(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[\w#%.-]{1,40})"""
_ATTRIBUTE = rf"\s+(?:{'|'.join(_LAYOUT.split())})(?:\s*=\s*{_VALUE})?"
_NAME = "|".join(sorted(filter(None, _READ_AS), key=len, reverse=True))
_TAG = re.compile(rf"<(?:/?(?P<tag>{_NAME})(?:{_ATTRIBUTE}){{0,12}}\s*/?|!--\s{{0,9}}--)>", re.IGNORECASE)
_BEGIN = re.compile(rf"<(?P<end>/?)(?P<tag>{_NAME})[\s/>]", re.IGNORECASE)
# `&amp;nbsp;` was escaped twice.
_REFERENCE = re.compile(r"&(?:amp;){0,3}(?P<of>(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});)", re.IGNORECASE)
_AN_ADDRESS = re.compile(r"[\w-]+\.\w")
_NUMBER_AT_END = re.compile(r"\d[\d-]{2}\Z")
_LONG_LINE = 60
# A line may end between the bytes of a character.
_SOFT_BREAK = r"=[ \t]{0,9}\r?\n"
_QUOTED = re.compile(rf"=[0-9A-F]{{2}}(?:(?:{_SOFT_BREAK})?=[0-9A-F]{{2}})*|{_SOFT_BREAK}")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*")
_BYTE = re.compile(r"[=%]([0-9A-Fa-f]{2})")
_Matches = Sequence[re.Match[str]]


def tags(text: str, *, certain: bool = False) -> Iterator[Edit]:
    """The tags of a text.

    :param certain: whether the text is known to be HTML, so tags need no partner.
    """
    found = list(_TAG.finditer(text))
    paired = frozenset[str]() if certain or not found else _paired(text)
    for match in found:
        name = match["tag"] and match["tag"].lower()
        if certain or name is None or name in _NEED_NO_END or name in paired:
            yield Edit(*match.span(), " " if _is_in_number(match) and _READ_AS[name] else _READ_AS[name])


def _is_in_number(match: re.Match[str]) -> bool:
    start, end = match.span()
    return match.string[max(0, start - 1) : start].isdecimal() and match.string[end : end + 1].isdecimal()


def _paired(text: str) -> frozenset[str]:
    """The names that have a start tag and an end tag."""
    names: dict[str, set[str]] = {"": set(), "/": set()}
    for match in _BEGIN.finditer(text):
        names[match["end"]].add(match["tag"].lower())
    return frozenset(names[""] & names["/"])


def references(text: str) -> Iterator[Edit]:
    """The character references that mean one character."""
    for match in _REFERENCE.finditer(text):
        character = html.unescape("&" + match["of"])
        if len(character) <= 1:
            yield Edit(*match.span(), character)


def escapes(text: str) -> Iterator[Edit]:
    """The escapes of JSON that mean one character of alphabetic scripts, a sign or a line end."""
    for match in _ESCAPE.finditer(text):
        if match[1] or match[2]:
            yield Edit(*match.span(), chr(int(match[1], 16)) if match[1] else match[2])
        else:
            yield from (Edit(at, at + 2, _BLANKS[text[at + 1]]) for at in range(*match.span(), 2))


@dataclass(frozen=True, slots=True)
class Encoding:
    """A way of writing bytes.

    :param sign: before the two digits of each byte.
    :param pattern: adjacent bytes, or a soft line break.
    :param goes_on: whether a letter after a separator is evidence of the encoding.
    """

    sign: str
    pattern: re.Pattern[str]
    goes_on: Callable[[str], bool]

    def edits(self, text: str, *, certain: bool = False) -> Iterator[Edit]:
        """Decode the bytes in a text.

        :param certain: whether the text is known to have this encoding, so no evidence is needed.
        """
        found = list(self.pattern.finditer(text))
        certain = certain or self._is_whole(text, found)
        several = frozenset[int]() if certain else _of_several(text, found)
        for match in found:
            if match[0].endswith("\n"):
                if certain or _is_inside(text, *match.span()):
                    yield Edit(*match.span(), "")
            elif certain or self._is_encoded(match, several):
                yield from _characters(match)

    def _is_whole(self, text: str, found: _Matches) -> bool:
        """Whether the whole text is quoted-printable."""
        if self.sign != "=" or sum(match[0].count("=") for match in found) < text.count("="):
            return False
        return any(
            match.start() - text.rfind("\n", 0, match.start()) > _LONG_LINE
            if match[0].endswith("\n")
            else _is_beyond_ascii(match)
            for match in found
        )

    def _is_encoded(self, match: re.Match[str], several: frozenset[int]) -> bool:
        data, text = _bytes(match), match.string
        if not data.isascii():
            return _is_beyond_ascii(match)
        has_letter = any(digit.isalpha() for digit in match[0])
        if len(data) > 1 and has_letter:
            return True
        if not _separates(data):
            return False
        before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
        if b"@" in data:
            return before.isalnum() and _AN_ADDRESS.match(text, match.end()) is not None
        if match.start() in several:
            return after.isalnum()
        if has_letter and self.sign == "%":
            return before.isalnum() and after.isalnum()
        return before.isalpha() and after.isalpha() and self.goes_on(after)


QUOTED_PRINTABLE = Encoding("=", _QUOTED, str.isupper)
PERCENT = Encoding("%", _PERCENT, str.isalpha)


def _bytes(match: re.Match[str]) -> bytes:
    return bytes.fromhex("".join(_BYTE.findall(match[0])))


def _is_beyond_ascii(match: re.Match[str]) -> bool:
    """Whether bytes are UTF-8 with a character beyond ASCII."""
    try:
        return not _bytes(match).decode().isascii()
    except UnicodeDecodeError:
        return False


def _separates(data: bytes) -> bool:
    """Whether ASCII bytes are blanks, line ends and punctuation."""
    return all(c in "\t\r\n" or (c.isprintable() and not c.isalnum()) for c in data.decode())


def _of_several(text: str, found: _Matches) -> frozenset[int]:
    """Places of the separators that have another one in the same stretch without blanks."""
    separators = [m for m in found if not m[0].endswith("\n") and _bytes(m).isascii() and _separates(_bytes(m))]
    near = ((a, b) for a, b in pairwise(separators) if text[a.end() : b.start()].split() == [text[a.end() : b.start()]])
    return frozenset(match.start() for pair in near for match in pair)


def _is_inside(text: str, start: int, end: int) -> bool:
    """Whether a stretch is inside a word or a number."""
    before, after = text[max(0, start - 3) : start], text[end : end + 1]
    return (before[-1:].isalpha() and after.islower()) or (after.isdecimal() and bool(_NUMBER_AT_END.search(before)))


def _characters(match: re.Match[str]) -> Iterator[Edit]:
    """One edit for each character; in quoted-printable, bytes that are not UTF-8 are Windows-1252."""
    data, charset = _bytes(match), "utf-8"
    try:
        data.decode()
    except UnicodeDecodeError:
        if match[0][0] == "%":
            return
        charset = "cp1252"
    starts = [*(match.start() + byte.start() for byte in _BYTE.finditer(match[0])), match.end()]
    first = 0
    for character in data.decode(charset, "replace"):
        after = first + (len(character.encode()) if charset == "utf-8" else 1)
        yield Edit(starts[first], starts[after], character)
        first = after
